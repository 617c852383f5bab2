use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::{Claim, Node, Pod, PodId, PodShape, Pool};
use crate::Text;

/// All that is known at one moment. Cloning is cheap: the maps are shared until one side changes.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The pools by name.
    pub pools: Arc<BTreeMap<Text, Arc<Pool>>>,
    /// The claims by name.
    pub claims: Arc<BTreeMap<Text, Arc<Claim>>>,
    /// The nodes by name.
    pub nodes: Arc<BTreeMap<Text, Arc<Node>>>,
    /// The pods that have not ended.
    pub pods: Arc<BTreeMap<PodId, Arc<Pod>>>,
    /// The daemonsets.
    pub daemon_sets: Arc<BTreeMap<PodId, Arc<DaemonSet>>>,
    /// When a pod that keeps its node last came to or left each node, as far as it was seen.
    pub last_pod_change: Arc<BTreeMap<Text, Timestamp>>,
    /// How to plan.
    pub settings: Settings,
}

/// A daemonset: a pod that every node it fits will carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonSet {
    /// Namespace and name.
    pub id: PodId,
    /// The pod.
    pub shape: Arc<PodShape>,
}

/// How to plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a node that was once ready and is not any more still counts as capacity about to come back.
    pub not_ready_grace: Duration,
    /// How many ways to get its machine a claim may carry.
    pub alternatives: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { not_ready_grace: Duration::from_secs(60), alternatives: 8 }
    }
}
