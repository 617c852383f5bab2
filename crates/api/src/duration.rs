use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A duration as Karpenter writes it, `30s`, `1h30m`, or `Never`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedDuration {
    /// So long.
    After(Duration),
    /// For ever.
    Never,
}

/// Why a text is not a duration.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "{0:?} is not a duration: write whole hours, minutes and seconds such as \"1h30m\" or \"45s\", or \"Never\""
)]
pub struct DurationError(String);

impl LimitedDuration {
    /// The duration, or `None` for never.
    pub fn limit(self) -> Option<Duration> {
        match self {
            Self::After(duration) => Some(duration),
            Self::Never => None,
        }
    }

    /// So many seconds.
    pub const fn seconds(seconds: u64) -> Self {
        Self::After(Duration::from_secs(seconds))
    }
}

impl FromStr for LimitedDuration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        if text == "Never" {
            return Ok(Self::Never);
        }
        let refuse = || DurationError(text.to_owned());
        if text.is_empty() {
            return Err(refuse());
        }
        let mut total = 0_u64;
        let mut digits = String::new();
        for character in text.chars() {
            let unit = match character {
                '0'..='9' => {
                    digits.push(character);
                    continue;
                }
                'h' => 3600,
                'm' => 60,
                's' => 1,
                _ => return Err(refuse()),
            };
            let count: u64 = digits.parse().map_err(|_| refuse())?;
            digits.clear();
            total = count.checked_mul(unit).and_then(|part| total.checked_add(part)).ok_or_else(refuse)?;
        }
        if digits.is_empty() { Ok(Self::seconds(total)) } else { Err(refuse()) }
    }
}

impl fmt::Display for LimitedDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(duration) = self.limit() else { return f.write_str("Never") };
        let seconds = duration.as_secs();
        let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        if hours > 0 {
            write!(f, "{hours}h")?;
        }
        if minutes > 0 {
            write!(f, "{minutes}m")?;
        }
        if rest > 0 || seconds == 0 {
            write!(f, "{rest}s")?;
        }
        Ok(())
    }
}

impl Serialize for LimitedDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LimitedDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for LimitedDuration {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "maxLength": 32,
            "pattern": "^(([0-9]{1,8}(s|m|h))+|Never)$",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::LimitedDuration;

    #[test]
    fn hours_minutes_and_seconds_add_up() {
        let duration: LimitedDuration = "1h30m5s".parse().unwrap();
        assert_eq!(duration.limit(), Some(Duration::from_secs(5405)));
    }

    #[test]
    fn never_has_no_limit() {
        assert_eq!("Never".parse::<LimitedDuration>().unwrap().limit(), None);
    }

    #[test]
    fn a_duration_is_written_as_it_is_read() {
        for text in ["0s", "45s", "2m", "720h", "1h1m1s", "Never"] {
            assert_eq!(text.parse::<LimitedDuration>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_not_a_duration_is_refused_with_an_example_of_one() {
        for text in ["", "5", "-5s", "1d", "1.5h", "h", "never", "99999999999999999999h"] {
            let error = text.parse::<LimitedDuration>().unwrap_err();
            assert!(error.to_string().contains("1h30m"), "{text}: {error}");
        }
    }
}
