//! What Cluster Autoscaler says and is told, in plain types.

use std::collections::BTreeMap;
use std::time::Duration;

/// A node group: one kind of node of one pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name, which stays the same as long as its pool takes such machines or has one.
    pub id: String,
    /// No fewer nodes than this.
    pub min: u32,
    /// No more nodes than this.
    pub max: u32,
    /// The same in words.
    pub debug: String,
}

/// A node as Cluster Autoscaler names it. Of a machine that has not become a node it knows no more than the instance's id,
/// and gives that as name and as provider ID.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are Kubernetes' own")]
pub struct NodeRef {
    pub provider_id: String,
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
}

/// A machine of a group, or one that is on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The `spec.providerID` of its node, or as long as there is no machine a name that no provider gives.
    pub id: String,
    /// How far it has come.
    pub state: InstanceState,
    /// Why it will not become a node, if it will not.
    pub error: Option<InstanceError>,
}

/// How far a machine has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceState {
    /// It is a node.
    Running,
    /// It is on its way.
    Creating,
    /// It is on its way out.
    Deleting,
}

/// Why a machine will not become a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceError {
    /// In one word.
    pub code: String,
    /// In words.
    pub message: String,
    /// Whether there was none to be had, so that another group may serve.
    pub out_of_resources: bool,
}

/// How Cluster Autoscaler is to treat the nodes of a group; what is not set is as its flags say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "described at `ClusterAutoscalerOptions` of the API")]
pub struct GroupOptions {
    pub scale_down_utilization_percent: Option<u32>,
    pub scale_down_gpu_utilization_percent: Option<u32>,
    pub scale_down_unneeded_time: Option<Duration>,
    pub scale_down_unready_time: Option<Duration>,
    pub max_node_provision_time: Option<Duration>,
    pub ignore_daemon_sets_utilization: Option<bool>,
}

/// Why something was not answered or not done; each is a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// There is no such group or node.
    #[error("{0}")]
    NotFound(String),
    /// What was asked for makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// It is not to be done as things are.
    #[error("{0}")]
    Refused(String),
    /// Another replica answers.
    #[error("{0}")]
    NotLeading(String),
    /// It cannot be answered or done for certain just now.
    #[error("{0}")]
    Unavailable(String),
}

impl GroupError {
    /// The kind in one word, for metrics.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "not-found",
            Self::Invalid(_) => "invalid",
            Self::Refused(_) => "refused",
            Self::NotLeading(_) => "not-leading",
            Self::Unavailable(_) => "unavailable",
        }
    }
}
