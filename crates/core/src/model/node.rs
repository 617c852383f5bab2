use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Labels, Resources, Taint};
use crate::Text;

/// A node, ours or not.
#[allow(clippy::struct_excessive_bools, reason = "each is another thing that is so or not")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: Text,
    /// Its UID.
    pub uid: Text,
    /// The machine that it runs on.
    pub provider_id: Option<Text>,
    /// Its labels.
    pub labels: Labels,
    /// Its taints.
    pub taints: Vec<Taint>,
    /// What the machine has.
    pub capacity: Resources,
    /// What of it pods can use.
    pub allocatable: Resources,
    /// Whether its kubelet says it is well.
    pub readiness: Readiness,
    /// What else is said of it, apart from whether it is ready.
    pub conditions: Vec<NodeCondition>,
    /// Whether it is cordoned.
    pub unschedulable: bool,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// The UID of the claim it stands for, where we marked it.
    pub claim_uid: Option<Text>,
    /// The provider of its machine, where we marked it.
    pub provider: Option<Text>,
    /// Whether our finalizer holds it.
    pub held: bool,
    /// Until when it is not to be disturbed, where it says so.
    pub stays_until: Option<Timestamp>,
    /// Whether somebody asked for another in its place.
    pub asked_to_go: bool,
}

/// Whether a node's kubelet says it is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Readiness {
    /// It does.
    Ready,
    /// It does not, or has not been heard of, since then.
    NotReady {
        /// Since when.
        since: Timestamp,
    },
}

/// Something that is said of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeCondition {
    /// What it is about.
    pub kind: Text,
    /// `True`, `False` or `Unknown`.
    pub status: Text,
    /// Since when.
    pub since: Timestamp,
}

impl Node {
    /// Whether the node is ready.
    pub fn is_ready(&self) -> bool {
        self.readiness == Readiness::Ready
    }
}
