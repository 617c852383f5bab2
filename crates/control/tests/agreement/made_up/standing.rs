//! Wishes about how pods stand among others, and what all clusters share for it.

use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use serde_json::{from_value, json};

use super::MadeUp;
use super::app::App;
use super::containers::SANDBOX;

/// Priority classes, lower first.
const PRIORITIES: [&str; 2] = ["agree-high", "agree-higher"];

impl App {
    pub fn has_a_priority(&mut self, cluster: &mut MadeUp) {
        self.spec["priorityClassName"] = json!(cluster.one_of(&PRIORITIES));
    }

    pub fn has_a_scheduler_of_its_own(&mut self, _: &mut MadeUp) {
        self.spec["schedulerName"] = json!("somebody-else");
        self.count = self.count.min(2);
    }
}

/// What the pods of all clusters refer to. Nobody is pushed out for a pod whose turn comes too early.
pub fn class_wide() -> (Vec<PriorityClass>, RuntimeClass) {
    let priorities = PRIORITIES.iter().zip([1000, 2000]).map(|(name, value)| {
        let metadata = json!({"name": name});
        from_value(json!({"metadata": metadata, "value": value, "preemptionPolicy": "Never"})).unwrap()
    });
    let overhead = json!({"podFixed": {"cpu": "250m", "memory": "64Mi"}});
    let sandbox = json!({"metadata": {"name": SANDBOX}, "handler": "sandbox", "overhead": overhead});
    (priorities.collect(), from_value(sandbox).unwrap())
}
