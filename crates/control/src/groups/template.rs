//! What a new node of a group would look like, for a group that has none to look at.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Node, NodeCondition, NodeSpec, NodeStatus, NodeSystemInfo, Taint as ApiTaint,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use windlass_api::labels as marks;
use windlass_core::model::{Pool, Resources};

use super::entry::Entry;

/// Labels that the kubelet sets beside those that took their place.
const OF_OLD: [(&str, &str); 2] =
    [(marks::ARCH, "beta.kubernetes.io/arch"), (marks::OS, "beta.kubernetes.io/os")];

/// The node that a machine of the group would be once it takes pods. Startup taints are gone by then: with them, Cluster
/// Autoscaler would find that no pod could go there that does not tolerate them.
pub(super) fn template(entry: &Entry, pool: &Pool) -> Node {
    let name = format!("template-{}", entry.label.to_lowercase().replace('_', "-"));
    let mut labels: BTreeMap<String, String> = kubelets_labels(entry);
    labels.insert(marks::HOSTNAME.to_owned(), name.clone());
    let fact = |key: &str| entry.labels.get(key).map(ToString::to_string).unwrap_or_default();
    let node_info = NodeSystemInfo {
        architecture: fact(marks::ARCH),
        operating_system: fact(marks::OS),
        ..NodeSystemInfo::default()
    };
    let annotations = pool.annotations.iter().map(|(key, value)| (key.to_string(), value.to_string()));
    Node {
        metadata: ObjectMeta {
            name: Some(name),
            labels: Some(labels),
            annotations: Some(annotations.collect()),
            ..ObjectMeta::default()
        },
        spec: Some(NodeSpec { taints: Some(pool.taints.iter().map(taint).collect()), ..NodeSpec::default() }),
        status: Some(NodeStatus {
            capacity: Some(quantities(&entry.wanted.capacity)),
            allocatable: Some(quantities(&entry.wanted.allocatable)),
            conditions: Some(conditions()),
            node_info: Some(node_info),
            phase: Some("Running".to_owned()),
            ..NodeStatus::default()
        }),
    }
}

fn kubelets_labels(entry: &Entry) -> BTreeMap<String, String> {
    let all = entry.labels.iter().map(|(key, value)| (key.to_string(), value.to_string()));
    let mut labels: BTreeMap<String, String> = all.collect();
    for (new, old) in OF_OLD {
        if let Some(value) = labels.get(new).cloned() {
            labels.entry(old.to_owned()).or_insert(value);
        }
    }
    labels
}

fn conditions() -> Vec<NodeCondition> {
    let said = [
        ("Ready", "True", "KubeletReady"),
        ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID"),
    ];
    let told = said.map(|(kind, status, reason)| NodeCondition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        ..NodeCondition::default()
    });
    told.into()
}

fn quantities(resources: &Resources) -> BTreeMap<String, Quantity> {
    let all = resources.iter();
    all.map(|(name, amount)| (name.to_string(), Quantity(Resources::show(name, amount)))).collect()
}

fn taint(taint: &windlass_core::model::Taint) -> ApiTaint {
    ApiTaint {
        key: taint.key.to_string(),
        value: (!taint.value.is_empty()).then(|| taint.value.to_string()),
        effect: format!("{:?}", taint.effect),
        time_added: None,
    }
}
