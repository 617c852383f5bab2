use k8s_openapi::api::core::v1::{
    Node, NodeAddress, NodeCondition, NodeSpec, NodeStatus, NodeSystemInfo, Taint,
};

use super::messages;
use super::meta::{api_quantities, api_time, quantities, said, text};

impl From<&Node> for messages::Node {
    fn from(node: &Node) -> Self {
        Self {
            metadata: Some((&node.metadata).into()),
            spec: node.spec.as_ref().map(Into::into),
            status: node.status.as_ref().map(Into::into),
        }
    }
}

impl From<messages::Node> for Node {
    fn from(node: messages::Node) -> Self {
        Self {
            metadata: node.metadata.unwrap_or_default().into(),
            spec: node.spec.map(Into::into),
            status: node.status.map(Into::into),
        }
    }
}

impl From<&NodeSpec> for messages::NodeSpec {
    fn from(spec: &NodeSpec) -> Self {
        Self {
            pod_cidr: text(spec.pod_cidr.as_ref()),
            provider_id: text(spec.provider_id.as_ref()),
            unschedulable: spec.unschedulable.unwrap_or_default(),
            taints: spec.taints.iter().flatten().map(Into::into).collect(),
            pod_cidrs: spec.pod_cidrs.clone().unwrap_or_default(),
        }
    }
}

impl From<messages::NodeSpec> for NodeSpec {
    fn from(spec: messages::NodeSpec) -> Self {
        Self {
            pod_cidr: said(spec.pod_cidr),
            provider_id: said(spec.provider_id),
            unschedulable: spec.unschedulable.then_some(true),
            taints: listed(spec.taints),
            pod_cidrs: listed(spec.pod_cidrs),
            ..Self::default()
        }
    }
}

impl From<&Taint> for messages::Taint {
    fn from(taint: &Taint) -> Self {
        Self {
            key: taint.key.clone(),
            value: text(taint.value.as_ref()),
            effect: taint.effect.clone(),
            time_added: taint.time_added.as_ref().map(Into::into),
        }
    }
}

impl From<messages::Taint> for Taint {
    fn from(taint: messages::Taint) -> Self {
        Self {
            key: taint.key,
            value: said(taint.value),
            effect: taint.effect,
            time_added: api_time(taint.time_added),
        }
    }
}

impl From<&NodeStatus> for messages::NodeStatus {
    fn from(status: &NodeStatus) -> Self {
        Self {
            capacity: quantities(status.capacity.as_ref()),
            allocatable: quantities(status.allocatable.as_ref()),
            conditions: status.conditions.iter().flatten().map(Into::into).collect(),
            addresses: status.addresses.iter().flatten().map(Into::into).collect(),
            node_info: status.node_info.as_ref().map(Into::into),
        }
    }
}

impl From<messages::NodeStatus> for NodeStatus {
    fn from(status: messages::NodeStatus) -> Self {
        Self {
            capacity: api_quantities(status.capacity),
            allocatable: api_quantities(status.allocatable),
            conditions: listed(status.conditions),
            addresses: listed(status.addresses),
            node_info: status.node_info.map(Into::into),
            ..Self::default()
        }
    }
}

impl From<&NodeCondition> for messages::NodeCondition {
    fn from(condition: &NodeCondition) -> Self {
        Self {
            kind: condition.type_.clone(),
            status: condition.status.clone(),
            last_heartbeat_time: condition.last_heartbeat_time.as_ref().map(Into::into),
            last_transition_time: condition.last_transition_time.as_ref().map(Into::into),
            reason: text(condition.reason.as_ref()),
            message: text(condition.message.as_ref()),
        }
    }
}

impl From<messages::NodeCondition> for NodeCondition {
    fn from(condition: messages::NodeCondition) -> Self {
        Self {
            type_: condition.kind,
            status: condition.status,
            last_heartbeat_time: api_time(condition.last_heartbeat_time),
            last_transition_time: api_time(condition.last_transition_time),
            reason: said(condition.reason),
            message: said(condition.message),
        }
    }
}

impl From<&NodeAddress> for messages::NodeAddress {
    fn from(address: &NodeAddress) -> Self {
        Self { kind: address.type_.clone(), address: address.address.clone() }
    }
}

impl From<messages::NodeAddress> for NodeAddress {
    fn from(address: messages::NodeAddress) -> Self {
        Self { type_: address.kind, address: address.address }
    }
}

impl From<&NodeSystemInfo> for messages::NodeSystemInfo {
    fn from(info: &NodeSystemInfo) -> Self {
        Self {
            machine_id: info.machine_id.clone(),
            system_uuid: info.system_uuid.clone(),
            boot_id: info.boot_id.clone(),
            kernel_version: info.kernel_version.clone(),
            os_image: info.os_image.clone(),
            container_runtime_version: info.container_runtime_version.clone(),
            kubelet_version: info.kubelet_version.clone(),
            kube_proxy_version: info.kube_proxy_version.clone(),
            operating_system: info.operating_system.clone(),
            architecture: info.architecture.clone(),
        }
    }
}

impl From<messages::NodeSystemInfo> for NodeSystemInfo {
    fn from(info: messages::NodeSystemInfo) -> Self {
        Self {
            machine_id: info.machine_id,
            system_uuid: info.system_uuid,
            boot_id: info.boot_id,
            kernel_version: info.kernel_version,
            os_image: info.os_image,
            container_runtime_version: info.container_runtime_version,
            kubelet_version: info.kubelet_version,
            kube_proxy_version: info.kube_proxy_version,
            operating_system: info.operating_system,
            architecture: info.architecture,
            ..Self::default()
        }
    }
}

/// A list that has something in it, as the API's types have it.
fn listed<From: Into<To>, To>(list: Vec<From>) -> Option<Vec<To>> {
    (!list.is_empty()).then(|| list.into_iter().map(Into::into).collect())
}
