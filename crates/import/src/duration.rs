use std::time::Duration;

use windlass_api::LimitedDuration;

/// A duration that was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) duration: LimitedDuration,
    /// Whether it was longer than this by less than a second.
    pub(crate) is_rounded: bool,
}

/// The longest that Go, in which the others are written, can say: 292 years.
const LONGEST: Duration = Duration::from_secs(2_562_047 * 3600);

/// Reads a duration as Go writes it, for example `1h30m`, `90s`, `1.5h` or `250ms`. It is rounded up to whole seconds.
pub(crate) fn parse(text: &str) -> Result<Read, String> {
    let refuse = || {
        let shown: String = text.chars().take(100).collect();
        format!("{shown:?} is not a duration: write one such as \"1h30m\" or \"45s\"")
    };
    let exact = if text == "0" { Duration::ZERO } else { sum(text).ok_or_else(refuse)? };
    if exact > LONGEST {
        return Err(format!("{text:?} is too long: write at most {}h", LONGEST.as_secs() / 3600));
    }
    let is_rounded = exact.subsec_nanos() > 0;
    let seconds = exact.as_secs() + u64::from(is_rounded);
    Ok(Read { duration: LimitedDuration::seconds(seconds), is_rounded })
}

fn sum(text: &str) -> Option<Duration> {
    let (mut rest, mut total) = (text, Duration::ZERO);
    if rest.is_empty() || rest.len() > 100 {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| c != '.' && !c.is_ascii_digit())?;
        let (number, after) = rest.split_at(end);
        let (nanos, after) = unit(after)?;
        total = total.checked_add(times(number, nanos)?)?;
        rest = after;
    }
    Some(total)
}

/// The nanoseconds of the unit that a text begins with, and what follows it.
fn unit(text: &str) -> Option<(u128, &str)> {
    const UNITS: [(&str, u128); 8] = [
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("μs", 1_000),
        ("ms", 1_000_000),
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
    ];
    UNITS.iter().find_map(|(name, nanos)| text.strip_prefix(name).map(|after| (*nanos, after)))
}

/// A decimal number of a unit.
fn times(number: &str, nanos: u128) -> Option<Duration> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() + fraction.len() == 0 || fraction.contains('.') {
        return None;
    }
    let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u128>().ok() };
    // Further digits are less than a nanosecond of the largest unit.
    let fraction = fraction.get(..fraction.len().min(15))?;
    let scale = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let part = digits(fraction)?.checked_mul(nanos)?.div_euclid(scale);
    let all = digits(whole)?.checked_mul(nanos)?.checked_add(part)?;
    let seconds = u64::try_from(all / 1_000_000_000).ok()?;
    Some(Duration::new(seconds, u32::try_from(all % 1_000_000_000).ok()?))
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn read(text: &str) -> Result<(String, bool), String> {
        parse(text).map(|read| (read.duration.to_string(), read.is_rounded))
    }

    #[test]
    fn durations_are_read_as_go_writes_them() {
        for (text, expected) in [
            ("720h", "720h"),
            ("2m0s", "2m"),
            ("1h0m30s", "1h30s"),
            ("1.5h", "1h30m"),
            ("0", "0s"),
            ("0s", "0s"),
            (".5m", "30s"),
            ("90m", "1h30m"),
        ] {
            assert_eq!(read(text), Ok((expected.to_owned(), false)), "{text}");
        }
    }

    #[test]
    fn parts_of_a_second_are_rounded_up() {
        for (text, expected) in [("250ms", "1s"), ("1m0.5s", "1m1s"), ("1ns", "1s"), ("3µs", "1s")] {
            assert_eq!(read(text), Ok((expected.to_owned(), true)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_an_example_of_one() {
        for text in ["", "5", "-5s", "1d", "h", "1..5h", "Never", ".s", "1h 30m", "µ", "1h30"] {
            assert!(read(text).unwrap_err().contains("1h30m"), "{text}");
        }
        for text in ["2562048h", "99999999999999s"] {
            assert!(read(text).unwrap_err().contains("at most 2562047h"), "{text}");
        }
        assert!(read(&"9".repeat(90)).is_err() && read(&format!("{}h", "9".repeat(60))).is_err());
    }
}
