use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

use super::{
    AffinityTerm, HostPort, Labels, Requirements, Resources, SpreadConstraint, Toleration, Weighted,
};
use crate::Text;

/// Namespace and name of a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodId {
    /// Its namespace.
    pub namespace: Text,
    /// Its name.
    pub name: Text,
}

impl PodId {
    /// The id of a pod.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for PodId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl Serialize for PodId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The node on which a pod that has none yet is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nomination {
    /// The node.
    pub node: Text,
    /// Whether Windlass said so and may change its mind. Otherwise the scheduler did, which is making room there.
    pub ours: bool,
}

/// A pod that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Namespace and name.
    pub id: PodId,
    /// Its UID.
    pub uid: Text,
    /// What it asks for, shared by identical pods.
    pub shape: Arc<PodShape>,
    /// Its labels, by which other pods may want to be with it or away from it.
    pub labels: Arc<Labels>,
    /// The names of the volume claims that it uses, in its namespace.
    pub volume_claims: Arc<[Text]>,
    /// Where it is expected, as its status says.
    pub nominated: Option<Nomination>,
    /// Where it stands.
    pub state: PodState,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Until when its node is not to be disturbed, where it says so.
    pub stays_until: Option<Timestamp>,
    /// Whether it may be evicted although nobody would make it anew.
    pub may_go: bool,
    /// When it came to its node, where that is known.
    pub bound_at: Option<Timestamp>,
}

/// Where a pod stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodState {
    /// It waits and the scheduler has not said anything of it.
    Waiting {
        /// Since when.
        since: Timestamp,
    },
    /// It is held back by a scheduling gate: it needs no place yet.
    Gated,
    /// The scheduler found no node for it.
    Unschedulable {
        /// Since when.
        since: Timestamp,
    },
    /// It is on this node.
    Bound(Text),
}

/// All that scheduling looks at. Pods with equal shapes are interchangeable.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodShape {
    /// What it asks for, one pod slot included.
    pub requests: Resources,
    /// Labels that its node must have.
    pub node_selector: Labels,
    /// Required node affinity: one of these must hold. Empty means no demand.
    pub node_affinity: Vec<Requirements>,
    /// Preferred node affinity.
    pub node_preferences: Vec<Weighted<Requirements>>,
    /// How it is to be spread.
    pub spread: Vec<SpreadConstraint>,
    /// The pods that it must be with.
    pub pod_affinity: Vec<AffinityTerm>,
    /// The pods that it must be away from.
    pub pod_anti_affinity: Vec<AffinityTerm>,
    /// The pods that it would rather be with.
    pub pod_preferences: Vec<Weighted<AffinityTerm>>,
    /// The pods that it would rather be away from.
    pub pod_aversions: Vec<Weighted<AffinityTerm>>,
    /// The ports that it takes of its node.
    pub host_ports: Vec<HostPort>,
    /// The taints that it puts up with.
    pub tolerations: Vec<Toleration>,
    /// Its priority.
    pub priority: i32,
    /// Whether it may push out pods of lower priority.
    pub preempts: bool,
    /// Whether another scheduler than kube-scheduler's default places it.
    pub foreign_scheduler: bool,
    /// Who looks after it.
    pub owner: PodOwner,
}

/// Who looks after a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PodOwner {
    /// A controller that makes it anew elsewhere.
    #[default]
    Controller,
    /// A daemonset: it comes with the node and goes with it.
    DaemonSet,
    /// The node itself: a mirror of a static pod.
    Node,
    /// Nobody: once gone it stays gone.
    Nobody,
}

impl PodShape {
    /// Whether pods of this shape come and go with the node, so that they neither keep it nor need another.
    pub fn belongs_to_node(&self) -> bool {
        matches!(self.owner, PodOwner::DaemonSet | PodOwner::Node)
    }
}

impl Pod {
    /// The node the pod is on.
    pub fn node(&self) -> Option<&Text> {
        match &self.state {
            PodState::Bound(node) => Some(node),
            PodState::Waiting { .. } | PodState::Gated | PodState::Unschedulable { .. } => None,
        }
    }
}
