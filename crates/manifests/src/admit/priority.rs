use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PodSpec;
use k8s_openapi::api::scheduling::v1::PriorityClass;

/// The priorities that names stand for.
#[derive(Debug, Default)]
pub(crate) struct Priorities {
    classes: BTreeMap<String, PriorityClass>,
}

impl Priorities {
    pub(crate) fn add(&mut self, class: PriorityClass) {
        self.classes.insert(class.metadata.name.clone().unwrap_or_default(), class);
    }

    /// Gives a pod the priority of its class, or of the default class. A class that nobody knows counts for 0.
    pub(crate) fn settle(&self, spec: &mut PodSpec) {
        if spec.priority.is_some() {
            return;
        }
        let class = match spec.priority_class_name.as_deref().filter(|name| !name.is_empty()) {
            Some("system-cluster-critical") => {
                spec.priority = Some(2_000_000_000);
                return;
            }
            Some("system-node-critical") => {
                spec.priority = Some(2_000_001_000);
                return;
            }
            Some(name) => self.classes.get(name),
            None => self.classes.values().find(|class| class.global_default == Some(true)),
        };
        if let Some(class) = class {
            spec.priority = class.value;
            if spec.preemption_policy.is_none() {
                spec.preemption_policy.clone_from(&class.preemption_policy);
            }
        }
    }
}
