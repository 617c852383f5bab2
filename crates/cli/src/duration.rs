use std::time::Duration;

use windlass_api::LimitedDuration;

/// A duration on the command line, written as in the custom resources; fractions of a second as `250ms`.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    if let Some(milliseconds) = text.strip_suffix("ms").and_then(|number| number.parse().ok()) {
        return Ok(Duration::from_millis(milliseconds));
    }
    let duration: LimitedDuration =
        text.parse().map_err(|error: windlass_api::DurationError| error.to_string())?;
    duration.limit().ok_or_else(|| "this cannot be Never: write a duration such as \"30s\"".to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::parse;

    #[test]
    fn durations_are_written_as_in_the_custom_resources_or_in_milliseconds() {
        assert_eq!(parse("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("250ms"), Ok(Duration::from_millis(250)));
        assert!(parse("Never").unwrap_err().contains("30s"));
        assert!(parse("soon").is_err());
    }
}
