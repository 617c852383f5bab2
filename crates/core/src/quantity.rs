use std::str::FromStr;

/// An amount as Kubernetes writes it (`500m`, `1.5Gi`, `2e3`), exact to the thousandth. Finer amounts are rounded
/// up, as Kubernetes does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity {
    milli: i128,
}

/// Why a text is not a quantity.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not a quantity: write a number with an optional unit, such as \"500m\", \"2\" or \"16Gi\"")]
pub struct QuantityError(String);

impl Quantity {
    /// The amount in thousandths, clamped to what an `i64` holds.
    pub fn milli(self) -> i64 {
        clamp(self.milli)
    }

    /// The amount in whole units, rounded up, clamped to what an `i64` holds.
    pub fn units(self) -> i64 {
        clamp(self.milli.div_euclid(1000) + i128::from(self.milli.rem_euclid(1000) > 0))
    }
}

fn clamp(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse(text).map(|milli| Self { milli }).ok_or_else(|| QuantityError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<i128> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let number_end = unsigned.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(unsigned.len());
    let (number, unit) = unsigned.split_at(number_end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() + fraction.len() == 0 || fraction.contains('.') || number.len() > 30 {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = Scale::parse(unit)?;
    // The value in thousandths is digits / 10^fraction * 1000 * 2^binary * 10^decimal.
    let ten_power = 3 + scale.decimal - i32::try_from(fraction.len()).ok()?;
    let mut numerator = digits.checked_mul(1_i128 << scale.binary)?;
    let mut denominator = 1_i128;
    if ten_power >= 0 {
        numerator = numerator.checked_mul(10_i128.checked_pow(ten_power.unsigned_abs())?)?;
    } else {
        denominator = 10_i128.checked_pow(ten_power.unsigned_abs())?;
    }
    let magnitude = numerator / denominator + i128::from(numerator % denominator > 0);
    Some(if negative { -magnitude } else { magnitude })
}

struct Scale {
    binary: u32,
    decimal: i32,
}

impl Scale {
    fn parse(unit: &str) -> Option<Self> {
        let decimal = |decimal| Some(Self { binary: 0, decimal });
        let binary = |binary| Some(Self { binary, decimal: 0 });
        match unit {
            "" => decimal(0),
            "n" => decimal(-9),
            "u" => decimal(-6),
            "m" => decimal(-3),
            "k" => decimal(3),
            "M" => decimal(6),
            "G" => decimal(9),
            "T" => decimal(12),
            "P" => decimal(15),
            "E" => decimal(18),
            "Ki" => binary(10),
            "Mi" => binary(20),
            "Gi" => binary(30),
            "Ti" => binary(40),
            "Pi" => binary(50),
            "Ei" => binary(60),
            exponent => {
                let power: i32 = exponent.strip_prefix(['e', 'E'])?.parse().ok()?;
                (power.abs() <= 18).then_some(Self { binary: 0, decimal: power })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Quantity;

    fn milli(text: &str) -> i64 {
        text.parse::<Quantity>().unwrap().milli()
    }

    #[test]
    fn every_unit_of_kubernetes_is_understood() {
        for (text, expected) in [
            ("1", 1_000),
            ("500m", 500),
            ("1.5", 1_500),
            (".5", 500),
            ("1k", 1_000_000),
            ("1Ki", 1_024_000),
            ("1.5Gi", 1_610_612_736_000),
            ("2e3", 2_000_000),
            ("2E-3", 2),
            ("12E", i64::MAX),
            ("+3", 3_000),
            ("-3", -3_000),
        ] {
            assert_eq!(milli(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_finer_than_a_thousandth_is_rounded_up() {
        assert_eq!(milli("1n"), 1);
        assert_eq!(milli("1001u"), 2);
        assert_eq!("1500m".parse::<Quantity>().unwrap().units(), 2);
        assert_eq!("-1500m".parse::<Quantity>().unwrap().units(), -1);
    }

    #[test]
    fn what_is_not_a_quantity_is_refused_and_never_panics() {
        for text in [
            "",
            "-",
            ".",
            "Gi",
            "1.2.3",
            "1ki",
            "1 Gi",
            "e3",
            "1e99",
            "½",
            "9999999999999999999999999999999Ei",
        ] {
            assert!(text.parse::<Quantity>().is_err(), "{text}");
        }
    }
}
