//! What it means that a call to a BMC failed.

use reqwest::StatusCode;
use serde_json::Value;

use crate::ProviderError;

/// How much of what a BMC says is repeated.
const WORDS: usize = 400;

/// A call that did not do what was asked, as far as one knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Failure {
    pub kind: FailureKind,
    /// What happened, beginning with whose BMC it is.
    pub words: String,
    pub status: Option<StatusCode>,
}

/// What a failed call says about its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum FailureKind {
    /// There was no answer, or one that leaves open what happened: the call may yet have its effect.
    Lost,
    /// The BMC will not do it.
    Refused,
    /// The BMC and we do not trust each other.
    Unauthorized,
    /// It cannot be done with this BMC as it is described.
    Unusable,
}

impl Failure {
    pub fn new(kind: FailureKind, words: impl Into<String>) -> Self {
        Self { kind, words: words.into(), status: None }
    }

    /// The failure behind an answer that is none of success.
    pub fn of(status: StatusCode, body: &Value) -> Self {
        let kind = match status.as_u16() {
            401 | 403 => FailureKind::Unauthorized,
            501 => FailureKind::Refused,
            408 | 425 | 429 | 500.. => FailureKind::Lost,
            _ => FailureKind::Refused,
        };
        let words = match said(body) {
            Some(words) => format!("{status}: {words}"),
            None => status.to_string(),
        };
        Self { kind, words, status: Some(status) }
    }

    /// The same, with what was being done.
    pub fn while_doing(mut self, doing: &str) -> Self {
        self.words = format!("{doing}: {}", self.words);
        self
    }
}

/// What a BMC says in the body of an answer.
pub(super) fn said(body: &Value) -> Option<String> {
    let error = body.get("error").unwrap_or(body);
    let message = |value: &Value| value.get("Message").and_then(Value::as_str).map(str::to_owned);
    let extended = error.get("@Message.ExtendedInfo").or_else(|| error.get("Messages"));
    let mut parts: Vec<String> = match extended {
        Some(Value::Array(messages)) => messages.iter().filter_map(message).collect(),
        _ => Vec::new(),
    };
    if parts.is_empty() {
        parts.extend(error.get("message").and_then(Value::as_str).map(str::to_owned));
    }
    let words = parts.join(" ");
    (!words.is_empty()).then(|| words.chars().take(WORDS).collect())
}

impl From<Failure> for ProviderError {
    fn from(failure: Failure) -> Self {
        let message = failure.words;
        match failure.kind {
            FailureKind::Lost | FailureKind::Refused => Self::Transient { message },
            FailureKind::Unauthorized => Self::Unauthorized { message },
            FailureKind::Unusable => Self::InvalidConfiguration { message },
        }
    }
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;
    use serde_json::json;

    use super::{Failure, FailureKind};

    #[test]
    fn each_status_has_its_meaning() {
        for (status, kind) in [
            (400, FailureKind::Refused),
            (401, FailureKind::Unauthorized),
            (403, FailureKind::Unauthorized),
            (404, FailureKind::Refused),
            (409, FailureKind::Refused),
            (429, FailureKind::Lost),
            (500, FailureKind::Lost),
            (501, FailureKind::Refused),
            (503, FailureKind::Lost),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(Failure::of(status, &json!(null)).kind, kind, "{status}");
        }
    }

    #[test]
    fn the_words_of_a_bmc_are_passed_on_wherever_it_says_them() {
        let words = |body| Failure::of(StatusCode::BAD_REQUEST, &body).words;
        let extended =
            json!({"error": {"message": "see", "@Message.ExtendedInfo": [{"Message": "too hot"}]}});
        assert_eq!(words(extended), "400 Bad Request: too hot");
        assert_eq!(words(json!({"error": {"message": "no"}})), "400 Bad Request: no");
        assert_eq!(words(json!("nonsense")), "400 Bad Request");
        assert!(words(json!({"error": {"message": "x".repeat(9000)}})).len() < 500);
    }
}
