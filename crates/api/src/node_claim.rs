use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ApiQuantity, JoinMethod, LimitedDuration, ObjectRef, Taint};

/// One machine: written before the infrastructure is asked for anything, removed when the machine is gone.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "windlass.dev",
    version = "v1alpha1",
    kind = "NodeClaim",
    plural = "nodeclaims",
    singular = "nodeclaim",
    shortname = "wnc",
    category = "windlass",
    status = "NodeClaimStatus",
    doc = "One machine: written before the infrastructure is asked for anything, removed when the machine is gone.",
    printcolumn(name = "Pool", type_ = "string", json_path = ".spec.poolRef.name"),
    printcolumn(name = "Type", type_ = "string", json_path = ".status.instanceType"),
    printcolumn(name = "Zone", type_ = "string", json_path = ".status.zone"),
    printcolumn(name = "Capacity", type_ = "string", json_path = ".status.capacityType"),
    printcolumn(name = "Price/h", type_ = "string", json_path = ".status.price"),
    printcolumn(name = "Node", type_ = "string", json_path = ".status.nodeName"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(
        name = "State",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].reason"#
    ),
    printcolumn(name = "Why", type_ = "string", json_path = ".spec.reason.message", priority = 1),
    printcolumn(name = "ProviderID", type_ = "string", json_path = ".status.providerID", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[kube(validation = Rule::new("self.spec == oldSelf.spec").message("a claim's spec never changes: delete the claim to get another machine"))]
#[serde(rename_all = "camelCase")]
pub struct NodeClaimSpec {
    /// The NodePool that the machine counts against.
    pub pool_ref: ObjectRef,
    /// The NodeProvider that the machine comes from.
    pub provider_ref: ObjectRef,
    /// Why the claim exists.
    pub reason: ClaimReason,
    /// What to launch, in order of preference: when one cannot be had, the next is tried. Empty only for a machine
    /// that exists already.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub offerings: Vec<ClaimOffering>,
    /// The existing machine that this claim takes over, in place of launching one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopt: Option<Adoption>,
    /// Labels for the node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations for the node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Taints for the node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
    /// Taints that the node carries at first and that something else removes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub startup_taints: Vec<Taint>,
    /// How long a drain of the node may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub termination_grace_period: Option<LimitedDuration>,
    /// How the machine becomes a node, as its pool said when the claim was made. What it is told is read in the pool at its
    /// launch.
    #[serde(default, skip_serializing_if = "JoinMethod::is_image")]
    pub join: JoinMethod,
}

/// Why a claim exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimReason {
    /// What the machine is for.
    pub purpose: ClaimPurpose,
    /// The same in words.
    #[serde(default)]
    pub message: String,
    /// The pods that it was planned for, as `namespace/name`. While they wait, its room is kept for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2000), inner(length(max = 317)))]
    pub pods: Vec<String>,
}

/// What a machine is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ClaimPurpose {
    /// Pods that fit nowhere else.
    PendingPods,
    /// The pool's minimum.
    MinNodes,
    /// A node that is going away.
    Replacement,
    /// Room that the pool or a `CapacityBuffer` wants kept ready.
    Headroom,
    /// A machine found without a claim.
    Adoption,
    /// Cluster Autoscaler asked for it.
    ClusterAutoscaler,
}

/// One way to get the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimOffering {
    /// The name of the instance type.
    pub instance_type: String,
    /// The zone.
    pub zone: String,
    /// `on-demand`, `spot` or `reserved`.
    pub capacity_type: String,
    /// The price in dollars per hour at the time of planning.
    pub price: String,
    /// What such a machine has.
    pub capacity: BTreeMap<String, ApiQuantity>,
    /// What such a machine has for pods.
    pub allocatable: BTreeMap<String, ApiQuantity>,
}

/// The existing machine that a claim takes over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Adoption {
    /// The machine.
    #[serde(rename = "providerID")]
    pub provider_id: String,
    /// The UID of the claim for which it was launched, as the machine's tag says.
    #[serde(rename = "claimUID")]
    pub claim_uid: String,
}

/// What is known of a claim's machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeClaimStatus {
    /// How often this was written. Every write names the one that it follows, so that one which arrives late, from a leader
    /// that is none any more, cannot undo what was written since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// The machine, in the provider's and the kubelet's notation.
    #[serde(default, rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// The node that the machine became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
    /// What the machine's node will be called, where the provider says so. A node of this name that does not say which
    /// machine it runs on is the claim's, if it was made after the launch had begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_node_name: Option<String>,
    /// The instance type that was launched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_type: Option<String>,
    /// The zone it was launched in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The capacity type it was launched as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_type: Option<String>,
    /// Its price in dollars per hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<String>,
    /// What the machine has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capacity: BTreeMap<String, ApiQuantity>,
    /// What the machine has for pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub allocatable: BTreeMap<String, ApiQuantity>,
    /// When the provider will end the machine, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<Time>,
    /// In which way the machine is not what the provider would launch today, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<String>,
    /// The launch that is under way or was the last. Written before the provider is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<LaunchAttempt>,
    /// `Launched`, `Registered`, `Initialized`, `Ready`; on the way out `Disrupted`, `Drained`, `VolumesDetached`,
    /// `Terminated`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// A launch that is under way or was the last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LaunchAttempt {
    /// Which of the claim's offerings is asked for, counted from 0.
    pub offering: u32,
    /// When the provider was first asked for a machine for this claim.
    pub started_at: Option<Time>,
    /// Whether there is, or may be, a bootstrap token for the machine. Written before the token is made and taken away once
    /// it is deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bootstrap_token: bool,
}
