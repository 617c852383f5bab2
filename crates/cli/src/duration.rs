use std::time::Duration;

use windlass_api::LimitedDuration;

/// A duration on the command line, written as in the custom resources; fractions of a second as `250ms`.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    if let Some(milliseconds) = text.strip_suffix("ms").and_then(|number| number.parse().ok()) {
        return Ok(Duration::from_millis(milliseconds));
    }
    let duration: Result<LimitedDuration, _> = text.parse();
    let advice = "write a duration such as \"45s\", \"1h30m\" or \"250ms\"";
    duration.ok().and_then(LimitedDuration::limit).ok_or_else(|| advice.to_owned())
}

/// A duration that must not be zero, since what it separates would never end.
pub(crate) fn parse_interval(text: &str) -> Result<Duration, String> {
    let duration = parse(text)?;
    if duration.is_zero() { Err("this cannot be zero".to_owned()) } else { Ok(duration) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{parse, parse_interval};

    #[test]
    fn durations_are_written_as_in_the_custom_resources_or_in_milliseconds() {
        assert_eq!(parse("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("250ms"), Ok(Duration::from_millis(250)));
        for wrong in ["Never", "soon", "", "ms", "1.5s", "-1s"] {
            assert!(parse(wrong).unwrap_err().contains("45s"), "{wrong}");
        }
    }

    #[test]
    fn intervals_are_not_zero() {
        assert_eq!(parse_interval("1ms"), Ok(Duration::from_millis(1)));
        assert_eq!(parse("0s"), Ok(Duration::ZERO));
        assert!(parse_interval("0s").is_err() && parse_interval("0ms").is_err());
    }
}
