use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Micro-dollars per hour: fixed point, so that sums and comparisons are exact on every machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Price(i64);

/// Why a text is not a price.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not a price: write dollars per hour with at most six decimals, such as \"0.192\"")]
pub struct PriceError(String);

const MICROS: i64 = 1_000_000;

impl Price {
    /// No cost.
    pub const ZERO: Self = Self(0);

    /// So many millionths of a dollar per hour.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// The price in millionths of a dollar per hour.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// The price in dollars per hour, for ratios and for showing; never for sums.
    #[allow(clippy::cast_precision_loss, reason = "prices are far below 2^52 micro-dollars")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / MICROS as f64
    }
}

impl FromStr for Price {
    type Err = PriceError;

    fn from_str(text: &str) -> Result<Self, PriceError> {
        let refuse = || PriceError(text.to_owned());
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || fraction.len() > 6 || !digits(whole) || !digits(fraction) {
            return Err(refuse());
        }
        let dollars: i64 = whole.parse().map_err(|_| refuse())?;
        let micros: i64 = format!("{fraction:0<6}").parse().map_err(|_| refuse())?;
        dollars.checked_mul(MICROS).and_then(|value| value.checked_add(micros)).map(Self).ok_or_else(refuse)
    }
}

impl fmt::Display for Price {
    /// At least two decimals, and no more than needed: `0.10`, `0.192`, `12.00`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (dollars, micros) = (self.0.unsigned_abs() / 1_000_000, self.0.unsigned_abs() % 1_000_000);
        let decimals = format!("{micros:06}");
        let kept = decimals.trim_end_matches('0').len().max(2);
        write!(f, "{sign}{dollars}.{}", &decimals[..kept])
    }
}

impl Add for Price {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Price {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Price {
    fn sum<I: Iterator<Item = Self>>(prices: I) -> Self {
        prices.fold(Self::ZERO, Add::add)
    }
}

impl Serialize for Price {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Price {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::Price;

    #[test]
    fn a_price_is_exact_to_the_micro_dollar() {
        let price: Price = "0.027147".parse().unwrap();
        assert_eq!(price.micros(), 27_147);
        assert_eq!((0..1_000_000).map(|_| price).sum::<Price>().to_string(), "27147.00");
    }

    #[test]
    fn a_price_shows_at_least_cents() {
        for (text, shown) in [("1", "1.00"), ("0.1", "0.10"), ("0.192", "0.192"), ("3.000001", "3.000001")] {
            assert_eq!(text.parse::<Price>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn what_is_not_a_price_is_refused() {
        for text in ["", ".", ".5", "-1", "1.0000001", "a", "1,5", "99999999999999999999"] {
            assert!(text.parse::<Price>().is_err(), "{text}");
        }
    }
}
