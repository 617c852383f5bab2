//! What an answer of the API server means to whoever asked for a machine.

use std::time::Duration;

use kube::Error;

use crate::ProviderError;

/// The provider's error for a call to the API server that failed while doing this.
pub(crate) fn provider_error(doing: &str, error: &Error) -> ProviderError {
    let Error::Api(status) = error else {
        return ProviderError::transient(format!("{doing}: {error}"));
    };
    let message = format!("{doing}: {}", status.message);
    match status.code {
        401 | 403 => ProviderError::Unauthorized { message },
        400 | 422 => ProviderError::InvalidConfiguration { message },
        429 => {
            let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
            let retry_after = (seconds > 0).then(|| Duration::from_secs(seconds.into()));
            ProviderError::Throttled { message, retry_after }
        }
        _ => ProviderError::Transient { message },
    }
}

/// Whether the object is there already.
pub(crate) fn already_exists(error: &Error) -> bool {
    matches!(error, Error::Api(status) if status.is_already_exists())
}

/// Whether the object has changed since it was read.
pub(crate) fn conflict(error: &Error) -> bool {
    matches!(error, Error::Api(status) if status.is_conflict())
}

/// Whether there is no such object.
pub(crate) fn not_found(error: &Error) -> bool {
    matches!(error, Error::Api(status) if status.is_not_found())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kube::Error;
    use kube::core::Status;
    use kube::core::response::StatusDetails;
    use serde_json::json;

    use super::provider_error;
    use crate::{ErrorKind, ProviderError};

    #[test]
    fn each_status_has_its_meaning() {
        for (code, kind) in [
            (401, ErrorKind::Unauthorized),
            (403, ErrorKind::Unauthorized),
            (409, ErrorKind::Transient),
            (422, ErrorKind::InvalidConfiguration),
            (429, ErrorKind::Throttled),
            (500, ErrorKind::Transient),
        ] {
            let error = Error::Api(Status::failure("no", "Because").with_code(code).boxed());
            assert_eq!(provider_error("listing machines", &error).kind(), kind, "{code}");
        }
    }

    #[test]
    fn how_long_to_wait_is_passed_on() {
        let details: StatusDetails = serde_json::from_value(json!({"retryAfterSeconds": 7})).unwrap();
        let error = Error::Api(Status::failure("busy", "Busy").with_code(429).with_details(details).boxed());
        let expected = ProviderError::Throttled {
            message: "launching: busy".to_owned(),
            retry_after: Some(Duration::from_secs(7)),
        };
        assert_eq!(provider_error("launching", &error), expected);
    }
}
