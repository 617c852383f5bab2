//! Wishes about how pods stand among others, and what all clusters share for it.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use serde_json::{from_value, json};

use super::MadeUp;
use super::app::App;
use super::containers::SANDBOX;

/// Priority classes and their values.
const PRIORITIES: [(&str, i32); 2] = [("agree-high", 1000), ("agree-higher", 2000)];

impl App {
    pub fn has_a_priority(&mut self, cluster: &mut MadeUp) {
        self.spec["priorityClassName"] = json!(cluster.one_of(&PRIORITIES).0);
    }

    pub fn has_a_scheduler_of_its_own(&mut self, _: &mut MadeUp) {
        self.spec["schedulerName"] = json!("somebody-else");
        self.count = self.count.min(2);
    }
}

/// The priority that a pod will have.
pub fn priority(pod: &Pod) -> i32 {
    let class = pod.spec.as_ref().and_then(|spec| spec.priority_class_name.as_deref());
    let known = PRIORITIES.iter().find(|(name, _)| Some(*name) == class);
    known.map_or(0, |(_, priority)| *priority)
}

/// What the pods of all clusters refer to. Nobody is pushed out for a pod whose turn comes too early.
pub fn shared_classes() -> (Vec<PriorityClass>, RuntimeClass) {
    let priorities = PRIORITIES.iter().map(|(name, value)| {
        let metadata = json!({"name": name});
        from_value(json!({"metadata": metadata, "value": value, "preemptionPolicy": "Never"})).unwrap()
    });
    let overhead = json!({"podFixed": {"cpu": "250m", "memory": "64Mi"}});
    let sandbox = json!({"metadata": {"name": SANDBOX}, "handler": "sandbox", "overhead": overhead});
    (priorities.collect(), from_value(sandbox).unwrap())
}
