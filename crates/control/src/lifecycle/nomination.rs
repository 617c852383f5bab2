//! Telling the scheduler where the pods of a plan are to go.
//!
//! Left to itself the scheduler spreads the pods of a tight plan its own way and strands the large ones. It keeps room on
//! a node for pods that are nominated to it, and tries that node first, but it clears a nomination whenever it tries the
//! pod in vain. So the pods are nominated while their new node is still closed, and what was cleared is set again, until
//! all of them hold; then the node is opened. What the scheduler had begun to try before then it may clear afterwards, so
//! for a while after that it is set again too.

use std::time::Duration;

use futures::stream::{self, StreamExt};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod as ApiPod;
use kube::api::Patch;
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tracing::debug;
use windlass_api::NodeClaim;
use windlass_core::model::{Node, Pod, PodId, PodState};

use crate::adapt;
use crate::controller::Bus;
use crate::index::Index;
use crate::kubernetes::{is_outdated, patching};
use windlass_providers::Clock;

/// How many pods are nominated at the same time.
const AT_ONCE: usize = 16;
/// How long nominations must hold before the node is opened, those to other nodes too.
const SETTLED: Duration = Duration::from_millis(200);
/// How long a node is kept closed because nominations do not hold.
pub(super) const KEPT_CLOSED: Duration = Duration::from_secs(20);
/// How long after the node was opened cleared nominations are set again.
const WATCHED: Duration = Duration::from_secs(30);
/// How often pods are nominated to a node at most.
const ROUNDS: u32 = 50;
/// How long a node that is not ready is kept closed for the sake of nominations: what makes it ready may have to be
/// let in first.
const PATIENCE: Duration = Duration::from_secs(60);

/// How far the nominations for a claim's node have come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nominations {
    /// The pods that are still to be nominated.
    pub missing: Vec<PodId>,
    /// How often pods were nominated.
    pub rounds: u32,
    /// When that began.
    pub since: Option<Timestamp>,
    /// When pods were first nominated.
    pub first: Option<Timestamp>,
    /// When a nomination, to whichever node, was last made or cleared.
    pub changed: Option<Timestamp>,
    /// Whether another node, to be opened together with this one, is not settled yet.
    pub held_up: bool,
}

/// What to do before a node is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeforeOpening {
    /// Nominate the pods that are missing.
    Nominate,
    /// Look again after a while.
    Wait(Duration),
    /// Open it.
    Nothing,
}

impl Nominations {
    /// Notes that pods have been nominated.
    pub(crate) fn made(&mut self, now: Timestamp) {
        self.rounds = self.rounds.saturating_add(1);
        self.first.get_or_insert(now);
    }

    /// Whether pods are to be nominated although the node is open since then.
    pub fn are_missed(&self, opened: Timestamp, now: Timestamp) -> bool {
        passed(opened, now) < WATCHED && !self.missing.is_empty() && self.rounds < ROUNDS
    }

    /// What to do before the node is opened.
    pub fn next(&self, node_is_ready: bool, now: Timestamp) -> BeforeOpening {
        let passed = |since: Timestamp| passed(since, now);
        if self.rounds == 0 && self.missing.is_empty() {
            return BeforeOpening::Nothing;
        }
        if !node_is_ready {
            // The scheduler tries in vain and clears the nominations as long as the node is not ready.
            return match PATIENCE.checked_sub(self.since.map_or(Duration::ZERO, passed)) {
                Some(left) if !left.is_zero() => BeforeOpening::Wait(left),
                _ => BeforeOpening::Nothing,
            };
        }
        if self.rounds >= ROUNDS || self.first.map_or(Duration::ZERO, passed) >= KEPT_CLOSED {
            return BeforeOpening::Nothing;
        }
        if !self.missing.is_empty() {
            return BeforeOpening::Nominate;
        }
        if self.held_up {
            return BeforeOpening::Wait(SETTLED);
        }
        match SETTLED.checked_sub(self.changed.map_or(SETTLED, passed)) {
            Some(left) if !left.is_zero() => BeforeOpening::Wait(left),
            _ => BeforeOpening::Nothing,
        }
    }
}

/// How much time has passed. Where the clock was set back nobody knows, and it is taken for long enough: better that a node
/// is opened too early than that it waits for a time that may be hours away.
pub(super) fn passed(since: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(since)).unwrap_or(Duration::MAX)
}

/// The pods that are expected on a claim's node and wait to be nominated to it. A nomination that preemption
/// made stands while its node does.
pub(crate) fn missing(index: &Index, claim: &NodeClaim, node: &Node) -> Vec<PodId> {
    let expected = index.expected_on(&claim.name_any(), &node.name).into_iter();
    expected.filter(|id| index.pod(id).is_some_and(|pod| waits_for(index, pod, &node.name))).collect()
}

/// Whether a pod may be nominated to a node and is not. One that must be spread is not: the scheduler would count the
/// others that are nominated to its node, but not those nominated to the nodes that keep the balance.
pub(crate) fn waits_for(index: &Index, pod: &Pod, node: &str) -> bool {
    let waits = matches!(pod.state, PodState::Waiting { .. } | PodState::Unschedulable { .. });
    let free = pod
        .nominated
        .as_ref()
        .is_none_or(|known| *known.node != *node && (known.ours || index.node(&known.node).is_none()));
    let spread = pod.shape.spread.iter().any(|constraint| constraint.required);
    waits && free && !spread && !pod.deleting && !pod.shape.foreign_scheduler
}

/// Nominates pods to a node. One that has gone or changed in the meantime is no matter.
pub(crate) async fn nominate(client: &Client, bus: &Bus, clock: &dyn Clock, pods: &[PodId], node: &str) {
    let patches = pods.iter().cloned().map(|id| async move {
        let id = &id;
        let Some(uid) = bus.index.lock().pod(id).map(|pod| pod.uid.clone()) else { return };
        let api: Api<ApiPod> = Api::namespaced(client.clone(), &id.namespace);
        let body = json!({"metadata": {"uid": &*uid}, "status": {"nominatedNodeName": node}});
        let parameters = patching();
        match api.patch_status(&id.name, &parameters, &Patch::Merge(body)).await {
            Ok(written) => {
                if let Some(pod) = adapt::pod(&written) {
                    let changed = bus.index.lock().saw_pod(pod, clock.now());
                    bus.announce_to_planner(&changed);
                }
            }
            Err(error) if is_outdated(&error) => {}
            Err(error) => debug!(pod = %id, node, %error, "the pod could not be nominated"),
        }
    });
    stream::iter(patches).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
}

#[cfg(test)]
mod tests {
    use jiff::{Timestamp, ToSpan};
    use serde_json::{from_value, json};
    use windlass_core::model::{Nomination, Pod, PodId};

    use super::{BeforeOpening, Nominations, PATIENCE, ROUNDS, SETTLED, waits_for};
    use crate::adapt;
    use crate::index::Index;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn one_missing() -> Nominations {
        Nominations { missing: vec![PodId::new("default", "p")], since: Some(NOW), ..Nominations::default() }
    }

    #[test]
    fn a_nomination_of_ours_may_be_changed_and_one_of_the_schedulers_stands_while_its_node_does() {
        let mut index = Index::default();
        let node = json!({"metadata": {"name": "there"}, "spec": {}, "status": {}});
        index.saw_node(adapt::seen_node(&from_value(node).unwrap()));
        let pod = |nominated: Option<(&str, bool)>| {
            let object = json!({"metadata": {"name": "p", "namespace": "d"}, "spec": {"containers": []}});
            let nominated = nominated.map(|(node, ours)| Nomination { node: node.into(), ours });
            Pod { nominated, ..adapt::pod(&from_value(object).unwrap()).unwrap() }
        };
        let goes = |nominated| waits_for(&index, &pod(nominated), "new");
        assert!(goes(None) && goes(Some(("there", true))) && goes(Some(("gone", false))));
        assert!(!goes(Some(("there", false))) && !goes(Some(("new", true))));
    }

    #[test]
    fn a_pod_that_must_be_spread_is_not_nominated_and_one_that_would_rather_be_is() {
        let goes = |when: &str| {
            let spread = json!([{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": when}]);
            let spec = json!({"containers": [], "topologySpreadConstraints": spread});
            let object = json!({"metadata": {"name": "p", "namespace": "d"}, "spec": spec});
            waits_for(&Index::default(), &adapt::pod(&from_value(object).unwrap()).unwrap(), "new")
        };
        assert!(!goes("DoNotSchedule") && goes("ScheduleAnyway"));
    }

    #[test]
    fn a_node_for_which_nobody_waits_is_opened_at_once() {
        assert_eq!(Nominations::default().next(false, NOW), BeforeOpening::Nothing);
    }

    #[test]
    fn pods_are_nominated_once_the_node_is_ready_but_it_is_not_kept_closed_for_ever() {
        assert_eq!(one_missing().next(false, NOW), BeforeOpening::Wait(PATIENCE));
        assert_eq!(one_missing().next(false, NOW + 60.seconds()), BeforeOpening::Nothing);
        assert_eq!(one_missing().next(true, NOW), BeforeOpening::Nominate);
    }

    #[test]
    fn the_node_is_opened_when_the_nominations_have_held_for_a_moment() {
        let held = Nominations { missing: Vec::new(), rounds: 1, changed: Some(NOW), ..one_missing() };
        assert_eq!(held.next(true, NOW), BeforeOpening::Wait(SETTLED));
        assert_eq!(held.next(true, NOW + 1.second()), BeforeOpening::Nothing);
        assert_eq!(held.next(true, NOW - 1.hour()), BeforeOpening::Nothing, "the clock was set back");
        let held_up = Nominations { held_up: true, ..held };
        assert_eq!(held_up.next(true, NOW + 1.second()), BeforeOpening::Wait(SETTLED));
    }

    #[test]
    fn what_is_cleared_when_the_node_has_just_been_opened_is_set_again() {
        let cleared = Nominations { rounds: 3, ..one_missing() };
        assert!(cleared.are_missed(NOW, NOW + 1.second()));
        assert!(!cleared.are_missed(NOW, NOW + 30.seconds()), "it is no longer watched");
        assert!(!Nominations { rounds: ROUNDS, ..one_missing() }.are_missed(NOW, NOW));
        assert!(!Nominations::default().are_missed(NOW, NOW), "nobody is missing");
    }

    #[test]
    fn what_is_cleared_again_and_again_does_not_keep_the_node_closed() {
        let tried = Nominations { rounds: 7, first: Some(NOW), ..one_missing() };
        assert_eq!(tried.next(true, NOW + 19.seconds()), BeforeOpening::Nominate);
        assert_eq!(tried.next(true, NOW + 20.seconds()), BeforeOpening::Nothing);
        assert_eq!(Nominations { rounds: ROUNDS, ..one_missing() }.next(true, NOW), BeforeOpening::Nothing);
    }
}
