//! What it means that a call to the server failed.

use std::error::Error;

use tonic::{Code, Status};

use crate::ProviderError;

/// A call that did not do what was asked, as far as one knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub kind: FailureKind,
    pub error: ProviderError,
}

/// What a failed call says about its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// The server does not do such things.
    Unimplemented,
    /// The server will not do it: certainly no effect.
    Refused,
    /// The server ran into an error, and is done with the call.
    Answered,
    /// There was no answer, or one from somebody in between: the call may yet have its effect.
    Lost,
}

impl Failure {
    /// The failure behind a status. `doing` completes the sentence "... while ...".
    pub fn of(status: &Status, server: &str, doing: &str) -> Self {
        // What the server itself sent has no source.
        let chain = chain(status);
        let from_server = status.source().is_none();
        let kind = match status.code() {
            _ if !from_server => FailureKind::Lost,
            Code::Unimplemented => FailureKind::Unimplemented,
            Code::ResourceExhausted | Code::OutOfRange | Code::FailedPrecondition | Code::InvalidArgument => {
                FailureKind::Refused
            }
            Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Aborted => FailureKind::Lost,
            _ => FailureKind::Answered,
        };
        let message = format!("{server} failed while {doing}: {chain}");
        let error = match status.code() {
            _ if !from_server && is_about_trust(&chain) => ProviderError::Unauthorized { message },
            Code::Unauthenticated | Code::PermissionDenied => ProviderError::Unauthorized { message },
            Code::ResourceExhausted => ProviderError::Throttled { message, retry_after: None },
            Code::Unimplemented | Code::InvalidArgument => ProviderError::InvalidConfiguration { message },
            _ => ProviderError::Transient { message },
        };
        Self { kind, error }
    }

    /// The same, with what to look at if it is about trust.
    pub fn with_credentials(mut self, secret: Option<&str>) -> Self {
        if let (ProviderError::Unauthorized { message }, Some(secret)) = (&mut self.error, secret) {
            *message = format!("{message}; the certificates are in Secret {secret}");
        }
        self
    }

    /// The failure of a call that could not even be made.
    pub fn unsent(error: ProviderError) -> Self {
        Self { kind: FailureKind::Lost, error }
    }

    /// The words of the failure, for an error of another kind.
    pub fn words(self) -> String {
        match self.error {
            ProviderError::InsufficientCapacity { message }
            | ProviderError::Quota { message }
            | ProviderError::Throttled { message, .. }
            | ProviderError::Unauthorized { message }
            | ProviderError::InvalidConfiguration { message }
            | ProviderError::Transient { message } => message,
            other => other.to_string(),
        }
    }
}

impl From<Failure> for ProviderError {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}

/// What happened, down to its cause.
fn chain(status: &Status) -> String {
    let mut parts = vec![match status.message() {
        "" => status.code().description().to_owned(),
        words => words.to_owned(),
    }];
    let mut source = status.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !parts.iter().any(|part| part.contains(&words)) {
            parts.push(words);
        }
        source = cause.source();
    }
    parts.join(": ")
}

/// Whether a connection failed because one side does not accept the other's certificate. The layers in between hand on no
/// more than the words.
fn is_about_trust(chain: &str) -> bool {
    ["certificate", "fatal alert", "HandshakeFailure"].iter().any(|sign| chain.contains(sign))
}

#[cfg(test)]
mod tests {
    use tonic::{Code, Status};

    use super::{Failure, FailureKind};
    use crate::ErrorKind;

    #[test]
    fn each_status_has_its_meaning() {
        for (code, kind, error) in [
            (Code::Unimplemented, FailureKind::Unimplemented, ErrorKind::InvalidConfiguration),
            (Code::ResourceExhausted, FailureKind::Refused, ErrorKind::Throttled),
            (Code::FailedPrecondition, FailureKind::Refused, ErrorKind::Transient),
            (Code::OutOfRange, FailureKind::Refused, ErrorKind::Transient),
            (Code::InvalidArgument, FailureKind::Refused, ErrorKind::InvalidConfiguration),
            (Code::Unauthenticated, FailureKind::Answered, ErrorKind::Unauthorized),
            (Code::PermissionDenied, FailureKind::Answered, ErrorKind::Unauthorized),
            (Code::NotFound, FailureKind::Answered, ErrorKind::Transient),
            (Code::Unknown, FailureKind::Answered, ErrorKind::Transient),
            (Code::Internal, FailureKind::Answered, ErrorKind::Transient),
            (Code::Unavailable, FailureKind::Lost, ErrorKind::Transient),
            (Code::DeadlineExceeded, FailureKind::Lost, ErrorKind::Transient),
            (Code::Cancelled, FailureKind::Lost, ErrorKind::Transient),
            (Code::Aborted, FailureKind::Lost, ErrorKind::Transient),
        ] {
            let failure = Failure::of(&Status::new(code, "no"), "rack:1", "listing");
            assert_eq!((failure.kind, failure.error.kind()), (kind, error), "{code:?}");
            assert_eq!(failure.words(), "rack:1 failed while listing: no");
        }
    }

    #[test]
    fn what_broke_on_the_way_may_still_have_its_effect_whatever_its_code() {
        let broken = std::io::Error::other("received fatal alert: CertificateRequired");
        let status = Status::from_error(Box::new(broken));
        let failure = Failure::of(&status, "rack:1", "listing");
        assert_eq!((failure.kind, failure.error.kind()), (FailureKind::Lost, ErrorKind::Unauthorized));
    }
}
