//! What Cluster Autoscaler asks of groups of nodes and has done to them, in plain types.
//!
//! The controller answers it and the gRPC server asks it; neither knows the other.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{Node, Pod};
use windlass_core::Price;

/// What is served: groups of nodes that are alike. Whoever implements it answers questions from memory, since Cluster
/// Autoscaler asks several for each node in every round, and expects calls from many sides at once.
#[async_trait]
pub trait NodeGroups: Send + Sync + 'static {
    /// All groups.
    fn groups(&self) -> Result<Vec<Group>, GroupError>;

    /// The group of a node, if it is in one. An instance that has not become a node is named by its id alone.
    fn group_of(&self, node: &NodeRef) -> Result<Option<Group>, GroupError>;

    /// How many nodes a group should have, those on their way included.
    fn target_size(&self, group: &str) -> Result<u32, GroupError>;

    /// The instances of a group, those included that could not be made.
    fn instances(&self, group: &str) -> Result<Vec<Instance>, GroupError>;

    /// What a new node of a group would look like, in full: what it lacks, pods cannot ask for.
    fn template(&self, group: &str) -> Result<Node, GroupError>;

    /// How the caller should treat a group, if that has been said at all. To say anything has a price: Cluster Autoscaler 1.35
    /// to 1.36.1 then takes nodes that have just joined for broken ones.
    fn options(&self, group: &str) -> Result<Option<GroupOptions>, GroupError>;

    /// What a node costs per hour. One that would be new has a made-up name and the labels of its
    /// group's template.
    fn node_price(&self, node: &NodeRef) -> Result<Price, GroupError>;

    /// What a pod would cost per hour on machines that suit it. The pod has what it asks for and
    /// little else.
    fn pod_price(&self, pod: &Pod) -> Result<Price, GroupError>;

    /// The label of nodes with GPUs.
    fn gpu_label(&self) -> String;

    /// The values that this label may have.
    fn gpu_types(&self) -> Result<Vec<String>, GroupError>;

    /// Adds nodes to a group: all of them or, on an error, none. There is at least one to add. If the answer is lost they come all
    /// the same.
    async fn increase(&self, group: &str, delta: u32) -> Result<(), GroupError>;

    /// Removes nodes from a group, and lowers its target size by as many: all of them or, on an error, none. There is at least
    /// one, and none twice. If the answer is lost and it is asked again, nothing is done twice.
    async fn delete_nodes(&self, group: &str, nodes: &[NodeRef]) -> Result<(), GroupError>;

    /// Gives up nodes that have no machine yet. There is at least one to give up.
    async fn decrease_target(&self, group: &str, by: u32) -> Result<(), GroupError>;
}

/// Nodes that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name, which never changes.
    pub id: String,
    /// The fewest nodes it may have.
    pub min: u32,
    /// The most nodes it may have.
    pub max: u32,
    /// Anything that helps a person.
    pub debug: String,
}

/// What a caller knows of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeRef {
    /// The id of its machine. May be empty if there is a name.
    pub provider_id: String,
    /// Its name. May be empty if there is an id.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
}

/// A machine of a group, or an attempt to get one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The same as its Node's `spec.providerID`.
    pub id: String,
    /// Where it is in its life.
    pub state: InstanceState,
    /// Why it could not be made. Callers look at it only as long as the instance is being made.
    pub error: Option<InstanceError>,
}

/// Where an instance is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceState {
    /// It runs.
    Running,
    /// It is being made.
    Creating,
    /// It is being removed.
    Deleting,
}

/// Why an instance could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceError {
    /// A word for it.
    pub code: String,
    /// A sentence for it.
    pub message: String,
    /// Whether capacity is lacking: the caller then turns to other groups at once.
    pub out_of_resources: bool,
}

/// How a group is treated; what is not set stays as the caller has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupOptions {
    /// Below this use of CPU and memory a node may be removed.
    pub scale_down_utilization_percent: Option<u32>,
    /// Below this use of GPUs a node that has some may be removed.
    pub scale_down_gpu_utilization_percent: Option<u32>,
    /// How long a node must be unneeded before it is removed.
    pub scale_down_unneeded_time: Option<Duration>,
    /// The same for a node that is not ready.
    pub scale_down_unready_time: Option<Duration>,
    /// How long a node may take to join.
    pub max_node_provision_time: Option<Duration>,
    /// Whether pods of a `DaemonSet` count as no use of a node.
    pub ignore_daemon_sets_utilization: Option<bool>,
}

/// Why something was not answered or not done. Each is a sentence for the person who reads the caller's log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// There is no such group or node.
    #[error("{0}")]
    NotFound(String),
    /// The request makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// The request makes sense and cannot be granted: a limit, or a node of another group.
    #[error("{0}")]
    Refused(String),
    /// Another replica answers.
    #[error("{0}")]
    NotLeading(String),
    /// It cannot be answered or done now.
    #[error("{0}")]
    Unavailable(String),
}

impl GroupError {
    /// The kind in one word, for metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "not-found",
            Self::Invalid(_) => "invalid",
            Self::Refused(_) => "refused",
            Self::NotLeading(_) => "not-leading",
            Self::Unavailable(_) => "unavailable",
        }
    }
}
