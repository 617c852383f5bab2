//! The messages of Kubernetes, with the field numbers of its `generated.proto` files. They have been the same since the
//! encoding exists, and Kubernetes promises not to reuse them.

use std::collections::BTreeMap;

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    #[prost(message, optional, tag = "1")]
    pub(super) metadata: Option<ObjectMeta>,
    #[prost(message, optional, tag = "2")]
    pub(super) spec: Option<NodeSpec>,
    #[prost(message, optional, tag = "3")]
    pub(super) status: Option<NodeStatus>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Pod {
    #[prost(message, optional, tag = "1")]
    pub(super) metadata: Option<ObjectMeta>,
    #[prost(message, optional, tag = "2")]
    pub(super) spec: Option<PodSpec>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ObjectMeta {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "3")]
    pub(super) namespace: String,
    #[prost(string, tag = "5")]
    pub(super) uid: String,
    #[prost(string, tag = "6")]
    pub(super) resource_version: String,
    #[prost(message, optional, tag = "8")]
    pub(super) creation_timestamp: Option<Time>,
    #[prost(message, optional, tag = "9")]
    pub(super) deletion_timestamp: Option<Time>,
    #[prost(btree_map = "string, string", tag = "11")]
    pub(super) labels: BTreeMap<String, String>,
    #[prost(btree_map = "string, string", tag = "12")]
    pub(super) annotations: BTreeMap<String, String>,
}

/// A moment. Kubernetes writes one that is not set as an empty message.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Time {
    #[prost(int64, optional, tag = "1")]
    pub(super) seconds: Option<i64>,
    #[prost(int32, optional, tag = "2")]
    pub(super) nanos: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Quantity {
    #[prost(string, tag = "1")]
    pub(super) text: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct NodeSpec {
    #[prost(string, tag = "1")]
    pub(super) pod_cidr: String,
    #[prost(string, tag = "3")]
    pub(super) provider_id: String,
    #[prost(bool, tag = "4")]
    pub(super) unschedulable: bool,
    #[prost(message, repeated, tag = "5")]
    pub(super) taints: Vec<Taint>,
    #[prost(string, repeated, tag = "7")]
    pub(super) pod_cidrs: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Taint {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
    #[prost(string, tag = "3")]
    pub(super) effect: String,
    #[prost(message, optional, tag = "4")]
    pub(super) time_added: Option<Time>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct NodeStatus {
    #[prost(btree_map = "string, message", tag = "1")]
    pub(super) capacity: BTreeMap<String, Quantity>,
    #[prost(btree_map = "string, message", tag = "2")]
    pub(super) allocatable: BTreeMap<String, Quantity>,
    #[prost(message, repeated, tag = "4")]
    pub(super) conditions: Vec<NodeCondition>,
    #[prost(message, repeated, tag = "5")]
    pub(super) addresses: Vec<NodeAddress>,
    #[prost(message, optional, tag = "7")]
    pub(super) node_info: Option<NodeSystemInfo>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct NodeCondition {
    #[prost(string, tag = "1")]
    pub(super) kind: String,
    #[prost(string, tag = "2")]
    pub(super) status: String,
    #[prost(message, optional, tag = "3")]
    pub(super) last_heartbeat_time: Option<Time>,
    #[prost(message, optional, tag = "4")]
    pub(super) last_transition_time: Option<Time>,
    #[prost(string, tag = "5")]
    pub(super) reason: String,
    #[prost(string, tag = "6")]
    pub(super) message: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct NodeAddress {
    #[prost(string, tag = "1")]
    pub(super) kind: String,
    #[prost(string, tag = "2")]
    pub(super) address: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct NodeSystemInfo {
    #[prost(string, tag = "1")]
    pub(super) machine_id: String,
    #[prost(string, tag = "2")]
    pub(super) system_uuid: String,
    #[prost(string, tag = "3")]
    pub(super) boot_id: String,
    #[prost(string, tag = "4")]
    pub(super) kernel_version: String,
    #[prost(string, tag = "5")]
    pub(super) os_image: String,
    #[prost(string, tag = "6")]
    pub(super) container_runtime_version: String,
    #[prost(string, tag = "7")]
    pub(super) kubelet_version: String,
    #[prost(string, tag = "8")]
    pub(super) kube_proxy_version: String,
    #[prost(string, tag = "9")]
    pub(super) operating_system: String,
    #[prost(string, tag = "10")]
    pub(super) architecture: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PodSpec {
    #[prost(message, repeated, tag = "2")]
    pub(super) containers: Vec<Container>,
    #[prost(btree_map = "string, string", tag = "7")]
    pub(super) node_selector: BTreeMap<String, String>,
    #[prost(message, repeated, tag = "20")]
    pub(super) init_containers: Vec<Container>,
    #[prost(btree_map = "string, message", tag = "32")]
    pub(super) overhead: BTreeMap<String, Quantity>,
    #[prost(message, optional, tag = "40")]
    pub(super) resources: Option<ResourceRequirements>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Container {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, optional, tag = "8")]
    pub(super) resources: Option<ResourceRequirements>,
    #[prost(string, tag = "24")]
    pub(super) restart_policy: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ResourceRequirements {
    #[prost(btree_map = "string, message", tag = "1")]
    pub(super) limits: BTreeMap<String, Quantity>,
    #[prost(btree_map = "string, message", tag = "2")]
    pub(super) requests: BTreeMap<String, Quantity>,
}
