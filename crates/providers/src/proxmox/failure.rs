//! What it means that a call failed: Proxmox VE says it in words, and mostly with the same status.

use crate::ProviderError;

/// A call or a task that did not do what was asked, as far as one knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub kind: FailureKind,
    pub error: ProviderError,
}

/// What can be done about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// The id is taken: take another.
    Exists,
    /// Somebody else has it locked: ask again.
    Busy,
    /// There is no such machine or volume.
    Missing,
    /// The host does not answer the one that was asked: nothing is known of what is on it.
    Unreachable,
    /// A task goes on.
    UnderWay,
    /// There was no answer: the call may have its effect all the same.
    Lost,
    /// Anything else that was answered.
    Refused,
}

impl Failure {
    /// The failure behind an answer. `doing` completes the sentence "... while ...".
    pub fn of_answer(status: u16, words: &str, doing: &str, secret: &str) -> Self {
        let words = words.trim();
        let message = format!("Proxmox VE failed while {doing}: {words} (status {status})");
        match status {
            401 => Self::new(
                FailureKind::Refused,
                ProviderError::Unauthorized {
                    message: format!(
                        "{message}; check tokenID and secret in Secret {secret}, and that the token has not expired"
                    ),
                },
            ),
            403 => Self::new(
                FailureKind::Refused,
                ProviderError::Unauthorized { message: lacking(words, doing, secret) },
            ),
            // These are of the host that was asked, about the one that it passed the call on to.
            595..=599 | 502..=504 => {
                Self::new(FailureKind::Unreachable, ProviderError::Transient { message })
            }
            429 => Self::new(FailureKind::Busy, ProviderError::Throttled { message, retry_after: None }),
            _ => Self::of_words(words, message, status == 400 || status == 501),
        }
    }

    /// The failure behind the end of a task.
    pub fn of_task(exit_status: &str, doing: &str) -> Self {
        Self::of_words(exit_status, format!("the task for {doing} failed: {exit_status}"), false)
    }

    /// There was no answer.
    pub fn lost(message: String) -> Self {
        Self::new(FailureKind::Lost, ProviderError::Transient { message })
    }

    /// Nothing could be asked.
    pub fn unsent(error: ProviderError) -> Self {
        Self::new(FailureKind::Refused, error)
    }

    /// It is not the moment for it.
    pub fn busy(message: String) -> Self {
        Self::new(FailureKind::Busy, ProviderError::Transient { message })
    }

    /// What was asked for is being done.
    pub fn under_way(message: String) -> Self {
        Self::new(FailureKind::UnderWay, ProviderError::Transient { message })
    }

    /// Whether asking again cannot help as long as everything else is as it is.
    pub fn is_final(&self) -> bool {
        matches!(
            self.error,
            ProviderError::InsufficientCapacity { .. }
                | ProviderError::Quota { .. }
                | ProviderError::InvalidConfiguration { .. }
        )
    }

    fn new(kind: FailureKind, error: ProviderError) -> Self {
        Self { kind, error }
    }

    fn of_words(words: &str, message: String, is_about_parameters: bool) -> Self {
        let lower = words.to_ascii_lowercase();
        let says = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
        let (kind, error) = if says(&["already exists"]) {
            (FailureKind::Exists, ProviderError::Transient { message })
        } else if says(&[
            "got timeout",
            "lock request timeout",
            "can't lock file",
            "vm is locked",
            "no quorum",
        ]) {
            (FailureKind::Busy, ProviderError::Transient { message })
        } else if says(&[
            "no space left",
            "not enough space",
            "out of space",
            "cannot allocate memory",
            "not enough free",
        ]) {
            (FailureKind::Refused, ProviderError::InsufficientCapacity { message })
        } else if says(&["does not exist", "no such vm", "unable to find configuration file"]) {
            let error = if says(&["storage '", "bridge '", "pool '"]) {
                ProviderError::InvalidConfiguration { message }
            } else {
                ProviderError::Transient { message }
            };
            (FailureKind::Missing, error)
        } else if says(&["hostname lookup", "no route to host", "connection refused", "connection timed out"])
        {
            (FailureKind::Unreachable, ProviderError::Transient { message })
        } else if is_about_parameters
            || says(&[
                "non-shared storage",
                "vm uses local storage",
                "does not support",
                "permission denied - invalid",
            ])
        {
            (FailureKind::Refused, ProviderError::InvalidConfiguration { message })
        } else {
            (FailureKind::Refused, ProviderError::Transient { message })
        };
        Self::new(kind, error)
    }
}

impl From<Failure> for ProviderError {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}

/// Which privilege is missing, out of words such as `Permission check failed (/vms/100, VM.Clone)`.
fn lacking(words: &str, doing: &str, secret: &str) -> String {
    let inner = words.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(inner, _)| inner);
    match inner.and_then(|inner| inner.split_once(',')) {
        Some((path, privileges)) => format!(
            "the token in Secret {secret} lacks the privilege {} on {}, which is needed for {doing}; a token with privilege separation needs permissions of its own",
            privileges.trim().replace('|', " or "),
            path.trim()
        ),
        None => format!("the token in Secret {secret} is not allowed {doing}: {words}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Failure, FailureKind};
    use crate::ErrorKind;

    #[test]
    fn words_and_status_have_their_meaning() {
        for (status, words, kind, error) in [
            (401, "authentication failure", FailureKind::Refused, ErrorKind::Unauthorized),
            (
                403,
                "Permission check failed (/vms/100, VM.Clone)",
                FailureKind::Refused,
                ErrorKind::Unauthorized,
            ),
            (
                500,
                "unable to create VM 108 - VM 108 already exists on node 'a'",
                FailureKind::Exists,
                ErrorKind::Transient,
            ),
            (
                500,
                "unable to create VM 108: config file already exists",
                FailureKind::Exists,
                ErrorKind::Transient,
            ),
            (
                500,
                "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout",
                FailureKind::Busy,
                ErrorKind::Transient,
            ),
            (
                500,
                "cfs-lock 'storage-fast' error: got lock request timeout",
                FailureKind::Busy,
                ErrorKind::Transient,
            ),
            (500, "VM is locked (clone)", FailureKind::Busy, ErrorKind::Transient),
            (
                500,
                "Configuration file 'nodes/a/qemu-server/100.conf' does not exist",
                FailureKind::Missing,
                ErrorKind::Transient,
            ),
            (500, "storage 'fast' does not exist", FailureKind::Missing, ErrorKind::InvalidConfiguration),
            (595, "No route to host", FailureKind::Unreachable, ErrorKind::Transient),
            (400, "Parameter verification failed.", FailureKind::Refused, ErrorKind::InvalidConfiguration),
            (
                500,
                "lvcreate failed: not enough free space",
                FailureKind::Refused,
                ErrorKind::InsufficientCapacity,
            ),
            (500, "anything", FailureKind::Refused, ErrorKind::Transient),
        ] {
            let failure = Failure::of_answer(status, words, "cloning", "s");
            assert_eq!((failure.kind, failure.error.kind()), (kind, error), "{words}");
        }
    }

    #[test]
    fn the_privilege_that_is_missing_is_named() {
        let failure =
            Failure::of_answer(403, "Permission check failed (/vms/100, VM.Clone)\n", "cloning", "s");
        let words = failure.error.to_string();
        assert!(words.contains("privilege VM.Clone on /vms/100") && words.contains("Secret s"), "{words}");
    }
}
