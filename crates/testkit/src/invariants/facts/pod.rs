use std::collections::BTreeMap;

use kube::ResourceExt as _;
use kube::core::DynamicObject;
use serde_json::Value;
use windlass_api::labels;

use super::super::event::qualified_name;
use super::{items, text, true_condition};

/// What is known of a pod.
#[derive(Debug)]
pub(in super::super) struct Pod {
    /// Its name after its namespace and a slash.
    pub(in super::super) name: String,
    pub(in super::super) namespace: String,
    pub(in super::super) labels: BTreeMap<String, String>,
    pub(in super::super) node: Option<String>,
    pub(in super::super) deleting: bool,
    /// Why Kubernetes itself disrupts it: the eviction API, preemption, the taint manager and the pod garbage
    /// collector each leave their reason in the condition `DisruptionTarget`.
    pub(in super::super) disrupted_by: Option<String>,
    /// Whether it counts as healthy in a budget, which only protects pods that do.
    pub(in super::super) ready: bool,
    /// Whether a drain leaves it where it is.
    pub(in super::super) stays: bool,
}

impl Pod {
    pub(in super::super) fn read(object: &DynamicObject) -> Self {
        let disruption = true_condition(object, "DisruptionTarget");
        Self {
            name: qualified_name(object),
            namespace: object.namespace().unwrap_or_default(),
            labels: object.labels().clone(),
            node: text(object, "/spec/nodeName"),
            deleting: object.metadata.deletion_timestamp.is_some(),
            disrupted_by: disruption
                .map(|condition| condition["reason"].as_str().unwrap_or_default().to_owned()),
            ready: true_condition(object, "Ready").is_some(),
            stays: stays(object),
        }
    }

    /// Whether it went through the eviction API.
    pub(in super::super) fn is_evicted(&self) -> bool {
        self.disrupted_by.as_deref() == Some("EvictionByEvictionAPI")
    }
}

/// Pods of daemon sets, static pods and pods that tolerate the taint of a leaving node are not drained.
fn stays(object: &DynamicObject) -> bool {
    let of_daemon_set =
        object.owner_references().iter().any(|owner| owner.kind == "DaemonSet" || owner.kind == "Node");
    let tolerates = |toleration: &Value| match toleration.get("key") {
        Some(key) => key == labels::DISRUPTED_TAINT,
        None => toleration["operator"] == "Exists",
    };
    of_daemon_set || items(object, "/spec/tolerations").any(tolerates)
}
