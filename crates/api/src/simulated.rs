use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ApiQuantity, LimitedDuration};

/// A source of machines that exist only as records in the cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.catalogue) != (has(self.instanceTypes) && size(self.instanceTypes) > 0)")
        .message("give either the name of a built-in catalogue or a list of instanceTypes")
)]
pub struct SimulatedProvider {
    /// The name of a built-in catalogue: `general` (cpu, memory and balanced machines of 2 to 64 cores in three
    /// zones) or `gpu` (the same and machines with 1 to 8 GPUs).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalogue: Option<Catalogue>,

    /// The machines on offer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2000))]
    pub instance_types: Vec<SimulatedInstanceType>,

    /// Hosts of limited size that machines are cut from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 200))]
    pub hosts: Vec<SimulatedHost>,

    /// How long a machine takes from its launch to its registration as a node. Default 5s.
    #[serde(default = "SimulatedProvider::default_boot_delay")]
    pub boot_delay: LimitedDuration,

    /// After how long a machine is ended by the provider, which says so in advance. Without it, never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<LimitedDuration>,

    /// What the machines run. Those launched with another image have drifted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 253))]
    pub image: String,

    /// Ways in which this provider misbehaves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub faults: Vec<Fault>,
}

impl SimulatedProvider {
    /// The boot delay where none is given.
    pub fn default_boot_delay() -> LimitedDuration {
        LimitedDuration::seconds(5)
    }
}

/// The names of the built-in catalogues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Catalogue {
    /// Cpu, memory and balanced machines.
    General,
    /// The same and machines with GPUs.
    Gpu,
}

/// A kind of machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimulatedInstanceType {
    /// Its name, which becomes the label `node.kubernetes.io/instance-type`.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// What the machine has: cpu, memory, pods, `nvidia.com/gpu` and so on. Without `pods`, 110.
    #[schemars(extend("maxProperties" = 50))]
    pub capacity: BTreeMap<String, ApiQuantity>,
    /// What the system keeps for itself, so that allocatable is capacity less overhead.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 50))]
    pub overhead: BTreeMap<String, ApiQuantity>,
    /// More labels for its nodes. `kubernetes.io/arch` is amd64 and `kubernetes.io/os` linux unless said here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 50))]
    pub labels: BTreeMap<String, String>,
    /// Where and how it can be had.
    #[schemars(length(min = 1, max = 50))]
    pub offerings: Vec<SimulatedOffering>,
}

/// Where and how an instance type can be had.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimulatedOffering {
    /// The zone.
    #[schemars(length(min = 1, max = 63))]
    pub zone: String,
    /// `on-demand`, `spot` or `reserved`. Default `on-demand`.
    #[serde(default = "SimulatedOffering::default_capacity_type")]
    pub capacity_type: CapacityType,
    /// The price in dollars per hour, for example "0.192".
    #[schemars(length(max = 20), regex(pattern = r"^[0-9]{1,9}(\.[0-9]{1,6})?$"))]
    pub price: String,
    /// How many machines there are to be had in all. Without it, as many as one likes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub available: Option<i32>,
    /// The name of the host that its machines are cut from. Each takes of it what the machine has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub host: Option<String>,
}

/// A host that machines are cut from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimulatedHost {
    /// Its name, which offerings refer to.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// What all its machines together may have. Of a resource that is not named here they may have any amount.
    #[schemars(extend("maxProperties" = 50))]
    pub capacity: BTreeMap<String, ApiQuantity>,
}

impl SimulatedOffering {
    fn default_capacity_type() -> CapacityType {
        CapacityType::OnDemand
    }
}

/// On what terms a machine is had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CapacityType {
    /// It stays until given back.
    OnDemand,
    /// It may be taken away.
    Spot,
    /// It is paid for already.
    Reserved,
}

impl CapacityType {
    /// The value of the label `windlass.dev/capacity-type`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OnDemand => "on-demand",
            Self::Spot => "spot",
            Self::Reserved => "reserved",
        }
    }
}

/// One way in which a simulated provider misbehaves. Which machines a fault with a percentage strikes follows from
/// the claim's UID alone, so that it is the same machines each time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("(self.effect == 'Error' || self.effect == 'ErrorAfterEffect') == has(self.error)")
        .message("effects Error and ErrorAfterEffect need error, and only they do"),
    validation = Rule::new("(self.effect in ['SlowAnswer', 'NotReady', 'Vanish']) == has(self.after)")
        .message("effects SlowAnswer, NotReady and Vanish need after, and only they do")
)]
pub struct Fault {
    /// What goes wrong.
    pub effect: FaultEffect,
    /// For errors, slow and duplicate answers: which calls are struck. Empty means every call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 5))]
    pub calls: Vec<ProviderCall>,
    /// For Error and ErrorAfterEffect: the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<LaunchErrorKind>,
    /// For SlowAnswer how long the answer takes, for NotReady and Vanish how long after registration it happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<LimitedDuration>,
    /// Only machines of these types. Empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub instance_types: Vec<String>,
    /// Only machines in these zones. Empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub zones: Vec<String>,
    /// How many of the machines or calls are struck, in percent. Default 100.
    #[serde(default = "Fault::default_percent")]
    #[schemars(range(min = 0, max = 100))]
    pub percent: i32,
}

impl Fault {
    fn default_percent() -> i32 {
        100
    }
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FaultEffect {
    /// The call answers with an error and has no effect.
    Error,
    /// The call has its effect and then answers with an error.
    ErrorAfterEffect,
    /// The call has its effect at once, and the answer takes long.
    SlowAnswer,
    /// A launch reaches the infrastructure twice, and lists name each machine twice.
    DuplicateAnswer,
    /// The machine runs and never becomes a node.
    NeverRegister,
    /// The node turns NotReady.
    NotReady,
    /// The machine ceases to exist, and its node turns NotReady.
    Vanish,
}

/// A call to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs, reason = "the names are those of the provider's methods")]
pub enum ProviderCall {
    InstanceTypes,
    Launch,
    Terminate,
    Get,
    List,
}

/// The kinds of errors that a provider can answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs, reason = "described at the provider's error type")]
pub enum LaunchErrorKind {
    InsufficientCapacity,
    Quota,
    Throttled,
    Unauthorized,
    InvalidConfiguration,
    Transient,
}
