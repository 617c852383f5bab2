//! Daemonsets, whose pods the controller manager makes.

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use serde_json::{from_value, json};

use super::app::App;
use super::{MadeUp, OURS};

impl MadeUp {
    /// One or two agents in some clusters, on all nodes or on some.
    pub(super) fn add_daemon_sets(&mut self) {
        if self.once_in(2) {
            return;
        }
        for number in 0..self.random.usize(1..=2) {
            let mut agent = App::new(self, &format!("agent{number}"));
            agent.request("cpu", self.one_of(&["50m", "200m", "700m"]));
            agent.request("memory", "64Mi");
            agent.spec["nodeSelector"][OURS] = json!(self.id);
            match self.random.u8(0..5) {
                0 => agent.spec["nodeSelector"]["tier"] = json!("front"),
                1 => agent.tolerates_the_dedicated(self),
                2 if number == 0 => agent.uses_a_port_of_its_host(self),
                3 => agent.has_a_priority(self),
                _ => {}
            }
            self.daemon_sets.push(daemon_set(&agent));
        }
    }
}

fn daemon_set(agent: &App) -> DaemonSet {
    let App { name, namespace, labels, spec, .. } = agent;
    let metadata = json!({"name": name, "namespace": namespace, "labels": labels});
    let template = json!({"metadata": {"labels": labels}, "spec": spec});
    let spec = json!({"selector": {"matchLabels": {"app": name}}, "template": template});
    from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
}

/// Whether a node is one of those that a daemonset is for.
pub fn wants(set: &DaemonSet, node: &Node) -> bool {
    let pod = set.spec.as_ref().unwrap().template.spec.as_ref().unwrap();
    let mut selected = pod.node_selector.iter().flatten();
    let tolerated = |key: &str| pod.tolerations.iter().flatten().any(|each| each.key.as_deref() == Some(key));
    let mut taints = node.spec.as_ref().unwrap().taints.iter().flatten();
    selected.all(|(key, value)| node.labels().get(key) == Some(value))
        && taints.all(|taint| taint.effect == "PreferNoSchedule" || tolerated(&taint.key))
}
