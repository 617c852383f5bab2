//! Kubelets, and the controllers that look after nodes: machines become nodes, nodes become ready and unready, and those
//! whose machine is gone are deleted where somebody does that.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_api::labels::HOSTNAME;
use windlass_core::model::Resources;

use super::{Cluster, Missing, Turn};
use crate::cloud::Unit;

/// How long after its last sign of life a node counts as not ready.
const SILENCE: Duration = Duration::from_secs(40);
/// How long after its machine a node is deleted by a cloud's controller.
const CLEARED: Duration = Duration::from_secs(20);
const NOT_READY: &str = "node.kubernetes.io/not-ready";

impl Cluster {
    pub(super) fn run_kubelets(&mut self, turn: &mut Turn<'_>) {
        self.register(turn);
        let nodes: Vec<_> = self.nodes.values().cloned().collect();
        for node in nodes {
            let Some(unit) = node.provider_id.as_deref().and_then(|id| turn.cloud.unit(id)) else { continue };
            let (alive, gone) = (unit.is_alive(turn.now), unit.is_gone(turn.now));
            let (settles_in, silent) = (unit.settles_in, gone || unit.kubelet_dead);
            if alive && !node.ready && turn.has_come(node.since + settles_in) {
                set_ready(turn, &node.name, true);
            } else if silent && node.ready {
                self.fall_silent(turn, &node.name);
            } else if !alive && node.ready {
                // Its kubelet says so itself.
                self.make_unready(turn, &node.name);
            }
            if gone && self.cloud_controller && !node.deleting && !node.ready {
                let since = self.missing_since(Missing::Machine(node.name.clone()), turn);
                if turn.has_come(since + CLEARED) {
                    let _ = turn.server.delete("Node", None, &node.name, None, turn.today);
                }
            }
        }
    }

    /// A node of which nothing is heard is not ready after a while.
    fn fall_silent(&mut self, turn: &mut Turn<'_>, node: &str) {
        let silent = Missing::Kubelet(node.to_owned());
        let since = self.missing_since(silent.clone(), turn);
        if turn.has_come(since + SILENCE) {
            self.missing.remove(&silent);
            self.make_unready(turn, node);
        }
    }

    /// A node is not ready any more, and so are the pods on it.
    fn make_unready(&self, turn: &mut Turn<'_>, node: &str) {
        set_ready(turn, node, false);
        let on_it = |pod: &&super::PodFact| pod.node.as_deref() == Some(node) && pod.ready;
        for pod in self.pods.values().filter(on_it) {
            let _ = turn.server.edit_status("Pod", Some(super::NAMESPACE), &pod.name, turn.today, |value| {
                let conditions = value.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
                for condition in conditions.into_iter().flatten().filter(|one| one["type"] == "Ready") {
                    condition["status"] = json!("False");
                }
            });
        }
    }

    /// Machines that have booted become nodes.
    fn register(&mut self, turn: &mut Turn<'_>) {
        let mut booted = Vec::new();
        let mut next = None;
        for unit in turn.cloud.units_mut() {
            let Some(joins_at) = unit.joins_at.filter(|_| !unit.joined && unit.is_alive(turn.now)) else {
                continue;
            };
            if joins_at <= turn.now {
                unit.joined = true;
                booted.push(new_node(unit));
            } else {
                next = Some(next.map_or(joins_at, |next: tokio::time::Instant| next.min(joins_at)));
            }
        }
        if let Some(then) = next {
            turn.again_at(then);
        }
        for node in booted {
            let _ = turn.server.create(node, turn.today);
        }
    }
}

/// The node at its registration: not ready yet, as nodes are until their kubelet has looked around.
fn new_node(unit: &Unit) -> Value {
    let mut labels = unit.machine.labels.clone();
    labels.extend(&unit.labels);
    labels.set(HOSTNAME, unit.node.as_str());
    let labels: serde_json::Map<String, Value> =
        labels.iter().map(|(key, value)| (key.to_string(), json!(&**value))).collect();
    let amounts = |resources: &Resources| -> serde_json::Map<String, Value> {
        let shown = resources.iter().map(|(name, amount)| (name, Resources::show(name, amount)));
        shown.map(|(name, amount)| (name.to_string(), json!(amount))).collect()
    };
    let mut taints: Vec<Value> = unit
        .taints
        .iter()
        .map(|taint| json!({"key": &*taint.key, "value": &*taint.value, "effect": format!("{:?}", taint.effect)}))
        .collect();
    taints.push(json!({"key": NOT_READY, "effect": "NoSchedule"}));
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": unit.node, "labels": labels},
        "spec": {"providerID": &*unit.machine.provider_id, "taints": taints},
        "status": {
            "capacity": amounts(&unit.machine.capacity),
            "allocatable": amounts(&unit.machine.allocatable),
            "conditions": [{"type": "Ready", "status": "False", "reason": "KubeletNotReady"}],
        },
    })
}

/// Makes a node ready or not.
fn set_ready(turn: &mut Turn<'_>, node: &str, ready: bool) {
    let (today, status) = (turn.today, if ready { "True" } else { "Unknown" });
    let _ = turn.server.edit_status("Node", None, node, today, |value| {
        value["status"]["conditions"] =
            json!([{"type": "Ready", "status": status, "reason": "Kubelet", "lastTransitionTime": today.to_string()}]);
    });
    let _ = turn.server.edit("Node", None, node, today, |value| {
        let spec = value["spec"].as_object_mut();
        let Some(spec) = spec else { return };
        let taints = spec.entry("taints").or_insert_with(|| json!([]));
        if let Some(list) = taints.as_array_mut() {
            list.retain(|taint| taint["key"] != NOT_READY);
            if !ready {
                list.push(json!({"key": NOT_READY, "effect": "NoSchedule"}));
                list.push(json!({"key": NOT_READY, "effect": "NoExecute"}));
            }
            if list.is_empty() {
                spec.remove("taints");
            }
        }
    });
}
