//! What becomes of pods: they run once they are bound, end when they are deleted, and are cleared away when their node is
//! gone.

use std::time::Duration;

use serde_json::json;

use super::{Cluster, Missing, NAMESPACE, Turn};

/// How long a container takes to start and to be ready.
const STARTS: Duration = Duration::from_secs(2);
/// How long a container takes to end when it is told to.
const ENDS: Duration = Duration::from_secs(3);
/// How long after its node a pod is cleared away.
const GARBAGE: Duration = Duration::from_secs(40);
/// How long pods tolerate that their node is not ready.
const TOLERATED: Duration = Duration::from_mins(5);

impl Cluster {
    /// What kubelets do about the pods on their nodes.
    pub(super) fn run_pods(&mut self, turn: &mut Turn<'_>) {
        for pod in self.pods.values() {
            let Some(node) = pod.node.as_ref().and_then(|node| self.nodes.get(node)) else { continue };
            let unit = node.provider_id.as_deref().and_then(|id| turn.cloud.unit(id));
            if !unit.is_none_or(|unit| unit.is_alive(turn.now)) {
                continue;
            }
            if pod.deleting {
                if turn.has_come(pod.since + ENDS) {
                    let _ = turn.server.delete("Pod", Some(NAMESPACE), &pod.name, Some(0), turn.today);
                }
            } else if !pod.ready && turn.has_come(pod.since + STARTS) {
                let now = turn.today.to_string();
                let _ = turn.server.edit_status("Pod", Some(NAMESPACE), &pod.name, turn.today, |value| {
                    let conditions = json!([
                        {"type": "PodScheduled", "status": "True"},
                        {"type": "Ready", "status": "True", "lastTransitionTime": now},
                    ]);
                    let kept =
                        value.pointer("/status/conditions").and_then(|found| found.as_array().cloned());
                    let kept = kept.unwrap_or_default().into_iter();
                    let kept = kept.filter(|one| one["type"] == "DisruptionTarget");
                    let all = conditions.as_array().cloned().unwrap_or_default().into_iter().chain(kept);
                    value["status"]["conditions"] = all.collect();
                    value["status"]["phase"] = json!("Running");
                });
            }
        }
    }

    /// Pods whose node is gone are removed after a while; those whose node has been unready for long are deleted.
    pub(super) fn collect_garbage(&mut self, turn: &mut Turn<'_>) {
        let mut lost = Vec::new();
        for pod in self.pods.values() {
            let Some(name) = &pod.node else { continue };
            match self.nodes.get(name) {
                None => lost.push((pod.name.clone(), name.clone())),
                Some(node) if !node.ready && !pod.deleting && turn.has_come(node.since + TOLERATED) => {
                    let _ = turn.server.delete("Pod", Some(NAMESPACE), &pod.name, None, turn.today);
                }
                Some(_) => {}
            }
        }
        self.missing.retain(|missing, _| match missing {
            Missing::Node(name) => lost.iter().any(|(_, node)| node == name),
            Missing::Machine(_) | Missing::Kubelet(_) => true,
        });
        for (pod, node) in lost {
            let since = self.missing_since(Missing::Node(node), turn);
            if turn.has_come(since + GARBAGE) {
                let _ = turn.server.delete("Pod", Some(NAMESPACE), &pod, Some(0), turn.today);
            }
        }
    }
}
