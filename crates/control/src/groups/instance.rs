//! What Cluster Autoscaler is told of a claim.

use kube::ResourceExt;
use windlass_api::{NodeClaim, conditions};
use windlass_providers::ErrorKind;

use super::id::instance_id;
use super::{Instance, InstanceError, InstanceState};

/// A claim as an instance.
pub(super) fn instance(claim: &NodeClaim) -> Instance {
    let provider_id = claim.status.as_ref().and_then(|status| status.provider_id.as_deref());
    let id = instance_id(provider_id, &claim.uid().unwrap_or_default());
    if claim.metadata.deletion_timestamp.is_some() {
        return Instance { id, state: InstanceState::Deleting, error: None };
    }
    let is_node = says(claim, conditions::REGISTERED).is_some_and(|(truth, ..)| truth == "True");
    let state = if is_node { InstanceState::Running } else { InstanceState::Creating };
    Instance { id, state, error: error(claim) }
}

/// Why a claim will not become a node. A launch that failed in a way that may pass is tried again, and nothing is said of
/// it before that is given up: Cluster Autoscaler would leave the group alone for minutes because of one lost answer.
fn error(claim: &NodeClaim) -> Option<InstanceError> {
    let hopeless = [ErrorKind::Unauthorized, ErrorKind::NotOurs].map(ErrorKind::as_str);
    let launch = says(claim, conditions::LAUNCHED)
        .filter(|(truth, reason, _)| *truth == "False" || (*truth == "Unknown" && hopeless.contains(reason)));
    let joining = || says(claim, conditions::REGISTERED).filter(|(truth, ..)| *truth == "False");
    let (_, reason, message) = launch.or_else(joining)?;
    let lacking = [ErrorKind::InsufficientCapacity, ErrorKind::Quota].map(ErrorKind::as_str);
    Some(InstanceError {
        code: reason.to_owned(),
        message: message.to_owned(),
        out_of_resources: lacking.contains(&reason),
    })
}

/// Whether it is certain that there is no machine for a claim and that none will come: nobody has asked for one yet, or the
/// provider has said that there is none to be had.
pub(super) fn has_no_machine(claim: &NodeClaim) -> bool {
    let Some(status) = &claim.status else { return true };
    let refused = [ErrorKind::InsufficientCapacity, ErrorKind::Quota, ErrorKind::InvalidConfiguration]
        .map(ErrorKind::as_str);
    let was_refused = || {
        says(claim, conditions::LAUNCHED)
            .is_some_and(|(truth, reason, _)| truth == "False" && refused.contains(&reason))
    };
    status.provider_id.is_none() && claim.spec.adopt.is_none() && (status.launch.is_none() || was_refused())
}

/// Whether a claim was given up.
pub(super) fn is_given_up(claim: &NodeClaim) -> bool {
    [conditions::LAUNCHED, conditions::REGISTERED]
        .into_iter()
        .any(|kind| says(claim, kind).is_some_and(|(truth, ..)| truth == "False"))
}

/// Status, reason and message of one of a claim's conditions.
fn says<'c>(claim: &'c NodeClaim, kind: &str) -> Option<(&'c str, &'c str, &'c str)> {
    let found = conditions::find(&claim.status.as_ref()?.conditions, kind)?;
    Some((&found.status, &found.reason, &found.message))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windlass_api::NodeClaim;

    use super::{has_no_machine, instance, is_given_up};
    use crate::groups::InstanceState;

    fn claim(status: Value) -> NodeClaim {
        serde_json::from_value(json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "NodeClaim", "metadata": {"name": "c", "uid": "u"},
            "spec": {"poolRef": {"name": "p"}, "providerRef": {"name": "s"}, "reason": {"purpose": "ClusterAutoscaler"}},
            "status": status,
        }))
        .unwrap()
    }

    fn with(conditions: &[(&str, &str, &str)]) -> Value {
        let all = conditions.iter().map(|(kind, status, reason)| {
            json!({"type": kind, "status": status, "reason": reason, "message": "so it is",
                   "lastTransitionTime": "1970-01-01T00:00:00Z"})
        });
        json!({"conditions": all.collect::<Vec<_>>(), "launch": {"offering": 0}})
    }

    fn told(status: Value) -> (InstanceState, Option<(String, bool)>) {
        let told = instance(&claim(status));
        (told.state, told.error.map(|error| (error.code, error.out_of_resources)))
    }

    #[test]
    fn a_claim_is_creating_until_it_is_a_node() {
        assert_eq!(told(json!(null)), (InstanceState::Creating, None));
        assert_eq!(told(with(&[("Launched", "True", "Launched")])), (InstanceState::Creating, None));
        let node = with(&[("Launched", "True", "Launched"), ("Registered", "True", "Registered")]);
        assert_eq!(told(node), (InstanceState::Running, None));
    }

    #[test]
    fn a_launch_that_failed_says_whether_others_may_serve() {
        for (reason, out_of_resources) in [
            ("InsufficientCapacity", true),
            ("Quota", true),
            ("InvalidConfiguration", false),
            ("LaunchTimeout", false),
        ] {
            let error = Some((reason.to_owned(), out_of_resources));
            assert_eq!(told(with(&[("Launched", "False", reason)])), (InstanceState::Creating, error));
        }
        let late = with(&[("Launched", "True", "Launched"), ("Registered", "False", "RegistrationTimeout")]);
        assert_eq!(told(late), (InstanceState::Creating, Some(("RegistrationTimeout".to_owned(), false))));
    }

    #[test]
    fn a_launch_that_is_tried_again_is_no_failure_unless_somebody_has_to_do_something() {
        for reason in ["Launching", "Transient", "Throttled", "InsufficientCapacity"] {
            assert_eq!(told(with(&[("Launched", "Unknown", reason)])).1, None, "{reason}");
        }
        let error = Some(("Unauthorized".to_owned(), false));
        assert_eq!(told(with(&[("Launched", "Unknown", "Unauthorized")])).1, error);
    }

    #[test]
    fn a_claim_that_is_being_deleted_says_so_and_nothing_else() {
        let mut leaving = claim(with(&[("Launched", "False", "Quota")]));
        leaving.metadata.deletion_timestamp = serde_json::from_value(json!("1970-01-01T00:00:00Z")).unwrap();
        let told = instance(&leaving);
        assert_eq!((told.state, told.error), (InstanceState::Deleting, None));
    }

    #[test]
    fn only_a_machine_that_was_never_asked_for_or_refused_is_certainly_not_there() {
        assert!(has_no_machine(&claim(json!(null))) && has_no_machine(&claim(json!({}))));
        for reason in ["InsufficientCapacity", "Quota", "InvalidConfiguration"] {
            assert!(has_no_machine(&claim(with(&[("Launched", "False", reason)]))), "{reason}");
            assert!(!has_no_machine(&claim(with(&[("Launched", "Unknown", reason)]))), "{reason}");
        }
        assert!(!has_no_machine(&claim(with(&[]))), "the answer may have been lost");
        assert!(!has_no_machine(&claim(with(&[("Launched", "False", "LaunchTimeout")]))));
        assert!(!has_no_machine(&claim(json!({"providerID": "sim://1"}))));
        assert!(is_given_up(&claim(with(&[("Launched", "False", "Quota")]))));
        assert!(!is_given_up(&claim(with(&[("Launched", "Unknown", "Quota")]))));
    }
}
