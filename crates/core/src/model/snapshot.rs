use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{
    AttachLimits, Claim, Labels, Node, Pod, PodId, PodShape, Pool, Resources, Selector, StorageClass, Volume,
    VolumeClaim,
};
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
    /// The labels of the namespaces.
    pub namespaces: Arc<BTreeMap<Text, Labels>>,
    /// The claims on volumes.
    pub volume_claims: Arc<BTreeMap<PodId, VolumeClaim>>,
    /// The volumes.
    pub volumes: Arc<BTreeMap<Text, Volume>>,
    /// The storage classes.
    pub storage_classes: Arc<BTreeMap<Text, StorageClass>>,
    /// How many volumes can be attached to each node.
    pub attach_limits: Arc<BTreeMap<Text, AttachLimits>>,
    /// The budgets of pods that may be evicted.
    pub pod_budgets: Arc<BTreeMap<PodId, PodBudget>>,
    /// When a pod that keeps its node last came to or left each node, as far as it was seen.
    pub last_pod_change: Arc<BTreeMap<Text, Timestamp>>,
    /// Pods for which machines were got that did not help them, and until when they get no further ones.
    pub held: Arc<BTreeMap<PodId, Timestamp>>,
    /// Pods that nobody made and for which there is to be room nevertheless: who makes such a pod finds it ready.
    pub reserves: Arc<Vec<Arc<Pod>>>,
    /// What has happened within the last minute.
    pub recent: Arc<Recent>,
    /// How to plan.
    pub settings: Settings,
}

/// What has happened within the last minute, for each pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recent {
    /// When claims were made.
    pub launches: BTreeMap<Text, Vec<Timestamp>>,
    /// When claims were deleted.
    pub removals: BTreeMap<Text, Vec<Timestamp>>,
    /// When the last machine was gone that was given back to save money.
    pub consolidated: Option<Timestamp>,
}

impl Recent {
    /// The time for which launches and departures are counted.
    pub const SPAN: SignedDuration = SignedDuration::from_mins(1);
}

/// A daemonset: a pod that every node it fits will carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonSet {
    /// Namespace and name.
    pub id: PodId,
    /// The pod.
    pub shape: Arc<PodShape>,
}

/// How many of some pods may be evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodBudget {
    /// Which pods of its namespace.
    pub selector: Selector,
    /// How many more of them may go just now.
    pub allowed: u32,
}

/// How to plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a node that was once ready and is not any more still counts as capacity about to come back, and how
    /// long one that has just become ready keeps room for daemonsets that have not come yet.
    pub not_ready_grace: Duration,
    /// How long a pod may wait without a word from the scheduler before it is taken for one that has no place. What the
    /// scheduler says of a pod is lost if the API server does not take it just then, and it repeats it only minutes later.
    pub scheduler_silence: Duration,
    /// Pods of lower priority than this get no machines; they run where there is room.
    pub min_priority: i32,
    /// Whether what pods would rather have is respected as long as no pod stays pending for it.
    pub respects_preferences: bool,
    /// How many steps the search for a cheaper plan may take after the first answer.
    pub search_steps: u32,
    /// How many ways to get its machine a claim may carry.
    pub alternatives: usize,
    /// How much such another way may cost, in percent of the price of the first.
    pub max_price_ratio_percent: u32,
    /// How much of a pool's nodes may be sick, in percent, for its sick nodes to be given up. When more is, the fault is more
    /// likely in the network or the control plane than in the nodes.
    pub max_sick_percent: u32,
    /// How long new machines take until they can take pods, during which those that they replace run on.
    pub start_up: Duration,
    /// The time within which replacing machines has to pay, or else that for which they have been there if it is shorter.
    pub pays_within: Duration,
    /// How long what was decided about a node may wait for its pods to be allowed to leave before it is taken back.
    pub decision_patience: Duration,
    /// Why everything is to be left as it is, in words, if it is.
    pub paused: Option<Text>,
    /// Ceilings on the sum of all pools' machines.
    pub limits: Resources,
    /// The ceiling on the number of all pools' machines.
    pub max_nodes: Option<u32>,
    /// How many machines may be launched within a minute, over all pools.
    pub launches_per_minute: Option<u32>,
    /// How many nodes may go within a minute, over all pools.
    pub removals_per_minute: Option<u32>,
    /// How long a pod stays where it is before it is moved for the sake of money.
    pub moves_apart: Duration,
    /// How long before the end of its machine a node is drained at the latest, also if nothing is ready to take its place.
    pub last_call: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            not_ready_grace: Duration::from_mins(1),
            scheduler_silence: Duration::from_secs(30),
            min_priority: i32::MIN,
            respects_preferences: true,
            search_steps: 2_000,
            alternatives: 8,
            max_price_ratio_percent: 200,
            max_sick_percent: 20,
            start_up: Duration::from_mins(3),
            pays_within: Duration::from_mins(60),
            decision_patience: Duration::from_mins(15),
            last_call: Duration::from_mins(1),
            paused: None,
            limits: Resources::new(),
            max_nodes: None,
            launches_per_minute: None,
            removals_per_minute: None,
            moves_apart: Duration::from_mins(5),
        }
    }
}
