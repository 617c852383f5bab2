//! The node that a simulated machine becomes, as its kubelet would register it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    Node, NodeAddress, NodeCondition, NodeSpec, NodeStatus, NodeSystemInfo, Taint as ApiTaint,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use windlass_api::labels::{ARCH, HOSTNAME, OS};
use windlass_core::model::{Resources, Taint};

use super::record::{PROVIDER_LABEL, Stored};

/// The annotation by which KWOK knows the nodes whose kubelet it plays.
pub(super) const KWOK: &str = "kwok.x-k8s.io/node";

/// The node at its registration: not ready yet, as nodes are until their kubelet has looked around. KWOK makes it
/// ready.
pub(super) fn new_node(stored: &Stored, provider: &str, now: Timestamp) -> Node {
    let record = &stored.record;
    let mut labels = record.node_labels.clone();
    labels.extend(&record.labels);
    labels.set(HOSTNAME, stored.name.as_str());
    labels.set(PROVIDER_LABEL, provider);
    let fact = |key: &str| labels.get(key).map(ToString::to_string).unwrap_or_default();
    let simulated = || "simulated".to_owned();
    let node_info = NodeSystemInfo {
        architecture: fact(ARCH),
        operating_system: fact(OS),
        kubelet_version: simulated(),
        kube_proxy_version: simulated(),
        kernel_version: simulated(),
        os_image: simulated(),
        container_runtime_version: "simulated://".to_owned(),
        ..NodeSystemInfo::default()
    };
    let status = NodeStatus {
        capacity: Some(quantities(&record.capacity)),
        allocatable: Some(quantities(&record.allocatable)),
        addresses: Some(vec![NodeAddress { type_: "Hostname".to_owned(), address: stored.name.clone() }]),
        conditions: Some(vec![condition(("False", "KubeletNotReady", "the machine has just booted"), now)]),
        node_info: Some(node_info),
        ..NodeStatus::default()
    };
    Node {
        metadata: ObjectMeta {
            name: Some(stored.name.clone()),
            labels: Some(labels.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()),
            annotations: Some(BTreeMap::from([(KWOK.to_owned(), "fake".to_owned())])),
            ..ObjectMeta::default()
        },
        spec: Some(NodeSpec {
            provider_id: Some(stored.provider_id(provider).to_string()),
            taints: Some(record.taints.iter().map(taint).collect()),
            ..NodeSpec::default()
        }),
        status: Some(status),
    }
}

/// The condition `Ready` with this status, reason and message.
pub(super) fn condition((status, reason, message): (&str, &str, &str), now: Timestamp) -> NodeCondition {
    NodeCondition {
        type_: "Ready".to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        last_heartbeat_time: Some(Time(now)),
        last_transition_time: Some(Time(now)),
    }
}

/// Whether somebody still plays the node's kubelet, or left it ready.
pub(super) fn is_lively(node: &Node) -> bool {
    let played = node.metadata.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(KWOK));
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    played || conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn quantities(resources: &Resources) -> BTreeMap<String, Quantity> {
    resources
        .iter()
        .map(|(name, amount)| (name.to_string(), Quantity(Resources::show(name, amount))))
        .collect()
}

fn taint(taint: &Taint) -> ApiTaint {
    ApiTaint {
        key: taint.key.to_string(),
        value: (!taint.value.is_empty()).then(|| taint.value.to_string()),
        effect: format!("{:?}", taint.effect),
        time_added: None,
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::record::Stored;
    use super::super::record::tests::record;
    use super::{is_lively, new_node};

    #[test]
    fn a_node_registers_with_what_its_machine_has_and_was_asked_for() {
        let stored = Stored {
            name: "web-1-x".to_owned(),
            uid: "record".to_owned(),
            deleting: false,
            registered_at: None,
            record: record(),
        };
        let node = new_node(&stored, "lab", Timestamp::UNIX_EPOCH);
        assert!(is_lively(&node));
        let labels = node.metadata.labels.unwrap();
        assert_eq!(
            (labels["kubernetes.io/arch"].as_str(), labels["windlass.dev/pool"].as_str()),
            ("arm64", "web")
        );
        assert_eq!(labels["kubernetes.io/hostname"], "web-1-x");
        let (spec, status) = (node.spec.unwrap(), node.status.unwrap());
        assert_eq!(spec.provider_id.unwrap(), "simulated://lab/web-1-x");
        assert_eq!(spec.taints.unwrap()[0].key, "windlass.dev/unregistered");
        assert_eq!(status.allocatable.unwrap()["cpu"].0, "1900m");
        assert_eq!(status.conditions.unwrap()[0].status, "False");
        assert_eq!(status.node_info.unwrap().architecture, "arm64");
    }
}
