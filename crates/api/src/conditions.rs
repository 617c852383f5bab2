//! Conditions: their names, and setting them without touching the time of the last transition needlessly.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// The machine exists.
pub const LAUNCHED: &str = "Launched";
/// The machine is a node with its labels and taints in place.
pub const REGISTERED: &str = "Registered";
/// The node can take pods.
pub const INITIALIZED: &str = "Initialized";
/// The object as a whole is in order.
pub const READY: &str = "Ready";
/// It was decided that the node goes.
pub const DISRUPTED: &str = "Disrupted";
/// No pod is left on the node.
pub const DRAINED: &str = "Drained";
/// No volume is left on the node.
pub const VOLUMES_DETACHED: &str = "VolumesDetached";
/// The machine is gone.
pub const TERMINATED: &str = "Terminated";
/// The provider answers.
pub const REACHABLE: &str = "Reachable";
/// The provider takes our credentials.
pub const AUTHENTICATED: &str = "Authenticated";

/// The three values of a condition's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are Kubernetes' own")]
pub enum Truth {
    True,
    False,
    Unknown,
}

impl Truth {
    /// The text in a condition's status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for Truth {
    fn from(value: bool) -> Self {
        if value { Self::True } else { Self::False }
    }
}

/// Finds a condition by its type.
pub fn find<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == kind)
}

/// Whether a condition is there and true.
pub fn is_true(conditions: &[Condition], kind: &str) -> bool {
    find(conditions, kind).is_some_and(|condition| condition.status == "True")
}

/// Sets a condition and says whether anything changed. The transition time moves only when the status does, so
/// setting the same condition again changes nothing and causes no write.
pub fn set(
    conditions: &mut Vec<Condition>,
    kind: &str,
    status: Truth,
    reason: &str,
    message: &str,
    observed_generation: Option<i64>,
    now: Timestamp,
) -> bool {
    let existing = conditions.iter_mut().find(|condition| condition.type_ == kind);
    let Some(condition) = existing else {
        conditions.push(Condition {
            type_: kind.to_owned(),
            status: status.as_str().to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            observed_generation,
            last_transition_time: Time(now),
        });
        return true;
    };
    let same = condition.status == status.as_str()
        && condition.reason == reason
        && condition.message == message
        && condition.observed_generation == observed_generation;
    if same {
        return false;
    }
    if condition.status != status.as_str() {
        status.as_str().clone_into(&mut condition.status);
        condition.last_transition_time = Time(now);
    }
    reason.clone_into(&mut condition.reason);
    message.clone_into(&mut condition.message);
    condition.observed_generation = observed_generation;
    true
}

#[cfg(test)]
mod tests {
    use jiff::{Timestamp, ToSpan};

    use super::{READY, Truth, is_true, set};

    #[test]
    fn setting_the_same_condition_again_changes_nothing() {
        let (mut conditions, start) = (Vec::new(), Timestamp::UNIX_EPOCH);
        assert!(set(&mut conditions, READY, Truth::True, "Fine", "all is well", None, start));
        assert!(!set(&mut conditions, READY, Truth::True, "Fine", "all is well", None, start + 1.hour()));
        assert_eq!(conditions[0].last_transition_time.0, start);
    }

    #[test]
    fn a_new_message_alone_does_not_move_the_transition_time() {
        let (mut conditions, start) = (Vec::new(), Timestamp::UNIX_EPOCH);
        set(&mut conditions, READY, Truth::False, "Waiting", "for one", None, start);
        assert!(set(&mut conditions, READY, Truth::False, "Waiting", "for two", None, start + 1.hour()));
        assert_eq!(conditions[0].last_transition_time.0, start);
        set(&mut conditions, READY, Truth::True, "Fine", "", None, start + 2.hours());
        assert_eq!(conditions[0].last_transition_time.0, start + 2.hours());
        assert!(is_true(&conditions, READY));
    }
}
