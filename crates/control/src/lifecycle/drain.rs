use std::fmt;
use std::time::Duration;

use futures::stream::{self, StreamExt};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams, PostParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use windlass_core::model::PodOwner;

use crate::adapt;
use crate::kubernetes::{is_conflict, is_not_found, status_code};
use crate::planted::{Mistake, is_planted};

/// How many pods are evicted at the same time.
const EVICTIONS_AT_ONCE: usize = 10;

/// How far a drain has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrainProgress {
    /// The pods still there, not counting those that belong to the node.
    pub remaining: usize,
    /// The pods that could not be asked to leave.
    pub blocked: Vec<Blocked>,
}

/// A pod that could not be asked to leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Namespace and name.
    pub pod: String,
    /// What stands in the way.
    pub why: String,
}

impl fmt::Display for DrainProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.remaining == 1 { "pod is" } else { "pods are" };
        write!(f, "{} {plural} left", self.remaining)?;
        for blocked in self.blocked.iter().take(3) {
            write!(f, "; {} cannot be evicted: {}", blocked.pod, blocked.why)?;
        }
        if self.blocked.len() > 3 {
            write!(f, "; and {} more", self.blocked.len() - 3)?;
        }
        Ok(())
    }
}

/// One round of a drain: reads what is on the node now, asks what can be asked to leave, and says what is left.
pub(super) struct Drain<'a> {
    pub(super) client: &'a Client,
    pub(super) node: &'a str,
    /// Whether a kubelet is there to end the pods.
    pub(super) node_is_ready: bool,
    pub(super) deadline: Option<Timestamp>,
    pub(super) stuck_pod_grace: Duration,
    pub(super) now: Timestamp,
}

/// What to do about a pod on a node that is being drained.
#[derive(Debug, PartialEq, Eq)]
enum Treatment {
    /// It comes and goes with the node, or it has ended: nothing.
    Leave,
    /// It is on its way: wait.
    Wait,
    /// Ask it to leave.
    Evict,
    /// Delete it with this grace: the drain has taken too long.
    Delete(u32),
}

impl Drain<'_> {
    pub(super) async fn round(&self) -> Result<DrainProgress, kube::Error> {
        let all: Api<Pod> = Api::all(self.client.clone());
        let on_node = ListParams::default().fields(&format!("spec.nodeName={}", self.node));
        let pods = all.list(&on_node).await?.items;
        let turn = self.turn(&pods);
        let rounds = pods.into_iter().map(|pod| async move { self.treat(&pod, turn).await });
        let outcomes: Vec<_> = stream::iter(rounds).buffer_unordered(EVICTIONS_AT_ONCE).collect().await;
        let mut progress = DrainProgress::default();
        for outcome in outcomes {
            match outcome {
                Outcome::Nothing => {}
                Outcome::Leaving => progress.remaining += 1,
                Outcome::Blocked(blocked) => {
                    progress.remaining += 1;
                    progress.blocked.push(blocked);
                }
            }
        }
        progress.blocked.sort_by(|a, b| a.pod.cmp(&b.pod));
        Ok(progress)
    }

    /// The priority of the pods whose turn it is to leave. Those of higher priority serve them as long as they are there.
    fn turn(&self, pods: &[Pod]) -> i32 {
        let leaving = pods.iter().filter(|pod| self.treatment(pod) != Treatment::Leave);
        leaving.map(priority).min().unwrap_or(i32::MAX)
    }

    async fn treat(&self, pod: &Pod, turn: i32) -> Outcome {
        let name = pod.name_any();
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &pod.namespace().unwrap_or_default());
        // Only this very pod: one made anew under the same name may be on another node.
        let this_one = Preconditions { uid: pod.uid(), resource_version: None };
        let options = DeleteParams { preconditions: Some(this_one), ..DeleteParams::default() };
        let outcome = match self.treatment(pod) {
            Treatment::Leave => return Outcome::Nothing,
            Treatment::Wait => return Outcome::Leaving,
            Treatment::Evict if priority(pod) > turn => return Outcome::Leaving,
            Treatment::Evict => {
                // Not by `Api::evict`: that of kube 5.0 sends the options under a name that the API server does not
                // know, so that the precondition would be lost.
                let eviction = json!({
                    "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name},
                    "deleteOptions": options,
                });
                let parameters = PostParams::default();
                let answer = api.create_subresource("eviction", &name, &parameters, &eviction).await;
                answer.map(|_: serde_json::Value| ())
            }
            Treatment::Delete(grace) => {
                let options = DeleteParams { grace_period_seconds: Some(grace), ..options };
                api.delete(&name, &options).await.map(drop)
            }
        };
        match outcome {
            Ok(()) => Outcome::Leaving,
            Err(error) if is_not_found(&error) => Outcome::Nothing,
            // It may be another pod of the same name, or something else about it was being written: the next round tells.
            Err(error) if is_conflict(&error) => Outcome::Leaving,
            Err(error) => Outcome::Blocked(Blocked {
                pod: format!("{}/{name}", pod.namespace().unwrap_or_default()),
                why: reason(&error),
            }),
        }
    }

    fn treatment(&self, pod: &Pod) -> Treatment {
        let Some(model) = adapt::pod(pod) else { return Treatment::Leave };
        if matches!(model.shape.owner, PodOwner::DaemonSet | PodOwner::Node) {
            return Treatment::Leave;
        }
        if let Some(ends) = &pod.metadata.deletion_timestamp {
            let overdue = self.now.duration_since(ends.0);
            let patience = SignedDuration::try_from(self.stuck_pod_grace).unwrap_or(SignedDuration::MAX);
            let nobody_ends_it = !self.node_is_ready && overdue > SignedDuration::ZERO;
            let given_up = self.deadline.is_some_and(|deadline| deadline <= self.now) && overdue > patience;
            return if nobody_ends_it || given_up { Treatment::Leave } else { Treatment::Wait };
        }
        let grace = pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds).unwrap_or(30);
        match self.deadline {
            // Late enough that the pod's own grace period only just fits before the deadline.
            Some(deadline) if deadline.duration_since(self.now) <= SignedDuration::from_secs(grace) => {
                let left = deadline.duration_since(self.now).as_secs().max(0);
                Treatment::Delete(u32::try_from(left).unwrap_or(u32::MAX))
            }
            _ if is_planted(Mistake::DeletesPods) => Treatment::Delete(30),
            _ => Treatment::Evict,
        }
    }
}

fn priority(pod: &Pod) -> i32 {
    pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or(0)
}

enum Outcome {
    Nothing,
    Leaving,
    Blocked(Blocked),
}

fn reason(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if status_code(error) == Some(429) => {
            let causes =
                status.details.iter().flat_map(|details| &details.causes).map(|cause| cause.message.as_str());
            let detail: Vec<&str> = causes.filter(|message| !message.is_empty()).collect();
            if detail.is_empty() { status.message.clone() } else { detail.join("; ") }
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use http::{Request, Response};
    use jiff::{Timestamp, ToSpan};
    use k8s_openapi::api::core::v1::Pod;
    use kube::Client;
    use kube::client::Body;
    use serde_json::{Value, json};

    use super::{Drain, Treatment};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn pod(metadata: &Value, grace: i64) -> Pod {
        let spec = json!({"containers": [], "nodeName": "n", "terminationGracePeriodSeconds": grace});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
    }

    fn treatment(pod: &Pod, node_is_ready: bool, deadline: Option<Timestamp>, now: Timestamp) -> Treatment {
        let never =
            tower::service_fn(|_: Request<Body>| async { Ok::<_, Infallible>(Response::new(Body::empty())) });
        let client = Client::new(never, "default");
        let stuck_pod_grace = Duration::from_secs(60);
        Drain { client: &client, node: "n", node_is_ready, deadline, stuck_pod_grace, now }.treatment(pod)
    }

    #[tokio::test]
    async fn pods_that_belong_to_the_node_are_left_alone() {
        let owner = json!([{"kind": "DaemonSet", "name": "d", "uid": "u", "apiVersion": "apps/v1", "controller": true}]);
        let daemon = pod(&json!({"name": "p", "ownerReferences": owner}), 30);
        assert_eq!(treatment(&daemon, true, None, NOW), Treatment::Leave);
        let mirror = pod(&json!({"name": "p", "annotations": {"kubernetes.io/config.mirror": "x"}}), 30);
        assert_eq!(treatment(&mirror, true, None, NOW), Treatment::Leave);
    }

    #[tokio::test]
    async fn a_pod_is_evicted_until_only_its_own_grace_period_is_left() {
        let (pod, deadline) = (pod(&json!({"name": "p"}), 30), NOW + 100.seconds());
        assert_eq!(treatment(&pod, true, None, NOW), Treatment::Evict);
        assert_eq!(treatment(&pod, true, Some(deadline), NOW + 69.seconds()), Treatment::Evict);
        assert_eq!(treatment(&pod, true, Some(deadline), NOW + 80.seconds()), Treatment::Delete(20));
        assert_eq!(treatment(&pod, true, Some(deadline), NOW + 200.seconds()), Treatment::Delete(0));
        let almost = NOW + 69.seconds() + 999.milliseconds();
        assert_eq!(treatment(&pod, true, Some(deadline), almost), Treatment::Evict);
    }

    #[tokio::test]
    async fn a_terminating_pod_is_waited_for_unless_its_kubelet_is_dead() {
        let leaving = pod(&json!({"name": "p", "deletionTimestamp": "1970-01-01T00:00:30Z"}), 30);
        assert_eq!(treatment(&leaving, true, None, NOW + 1.hour()), Treatment::Wait);
        assert_eq!(treatment(&leaving, false, None, NOW + 29.seconds()), Treatment::Wait);
        assert_eq!(treatment(&leaving, false, None, NOW + 31.seconds()), Treatment::Leave);
    }

    #[tokio::test]
    async fn after_the_time_limit_a_pod_that_does_not_end_is_given_up() {
        let stuck = pod(&json!({"name": "p", "deletionTimestamp": "1970-01-01T00:00:30Z"}), 30);
        let deadline = Some(NOW + 20.seconds());
        assert_eq!(treatment(&stuck, true, deadline, NOW + 90.seconds()), Treatment::Wait);
        assert_eq!(treatment(&stuck, true, deadline, NOW + 91.seconds()), Treatment::Leave);
        let later = Some(NOW + 1.hour());
        assert_eq!(treatment(&stuck, true, later, NOW + 91.seconds()), Treatment::Wait, "there is time");
    }

    #[tokio::test]
    async fn a_pod_that_asks_for_no_grace_is_evicted_until_the_time_limit() {
        let (abrupt, deadline) = (pod(&json!({"name": "p"}), 0), Some(NOW + 100.seconds()));
        assert_eq!(treatment(&abrupt, true, deadline, NOW + 99.seconds()), Treatment::Evict);
        assert_eq!(treatment(&abrupt, true, deadline, NOW + 100.seconds()), Treatment::Delete(0));
    }

    #[tokio::test]
    async fn a_pod_that_wants_longer_than_the_drain_may_take_is_deleted_at_once() {
        let slow = pod(&json!({"name": "p"}), 3600);
        assert_eq!(treatment(&slow, true, Some(NOW + 10.minutes()), NOW), Treatment::Delete(600));
    }

    #[tokio::test]
    async fn a_dead_kubelet_does_not_keep_pods_from_being_asked() {
        let running = pod(&json!({"name": "p"}), 30);
        assert_eq!(treatment(&running, false, None, NOW), Treatment::Evict);
    }
}
