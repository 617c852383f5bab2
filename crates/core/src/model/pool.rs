use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::{Consolidation, DisruptionBudget, InstanceType, Labels, Requirements, Resources, Taint};
use crate::{Price, Text};

/// A pool: what kind of nodes may be launched and how many.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pool {
    /// Its name.
    pub name: Text,
    /// Where its machines come from.
    pub provider: Text,
    /// Who decides how many nodes it has.
    pub driver: Driver,
    /// Pools with a higher weight are tried first.
    pub weight: i32,
    /// Demands on the machines.
    pub requirements: Requirements,
    /// Labels of its nodes.
    pub labels: Labels,
    /// Annotations of its nodes.
    pub annotations: Labels,
    /// Taints of its nodes.
    pub taints: Vec<Taint>,
    /// Taints that something else removes from its nodes.
    pub startup_taints: Vec<Taint>,
    /// What its nodes look like apart from the machine, in short: nodes that were made when it was otherwise have drifted.
    pub template: Option<Text>,
    /// How long its nodes live; none means for ever.
    pub expire_after: Option<Duration>,
    /// How long before their end nodes are replaced.
    pub rotate_before: Duration,
    /// How long a drain of its nodes may take.
    pub termination_grace_period: Option<Duration>,
    /// How many different values of a label the ways to get a machine must have at least.
    pub min_values: BTreeMap<Text, u32>,
    /// How much faster than others the pool's machines are, in percent: a price is worth so much more. The first whose
    /// requirements a machine meets counts.
    pub performance: Vec<Performance>,
    /// Ceilings on the sum of its machines' capacities.
    pub limits: Resources,
    /// The ceiling on the number of its machines.
    pub max_nodes: Option<u32>,
    /// The number of nodes that it keeps.
    pub min_nodes: u32,
    /// The number of nodes that it has whatever pods ask for, where that is fixed; then it is its minimum as well.
    pub replicas: Option<u32>,
    /// The number of nodes on which nothing runs that it keeps ready.
    pub spare_nodes: u32,
    /// How much of what its nodes have is to be asked for by pods.
    pub utilization: Vec<Utilization>,
    /// How long pods wait before machines of this pool are got for them.
    pub scale_up_window: Duration,
    /// How long after its last launch no node is given back for the sake of money.
    pub scale_down_window: Duration,
    /// How many machines may be launched within a minute.
    pub launches_per_minute: Option<u32>,
    /// How many nodes may go within a minute.
    pub removals_per_minute: Option<u32>,
    /// When nodes on which pods run are given back.
    pub consolidation: Consolidation,
    /// What has to be saved per hour for each pod that moves.
    pub min_savings_per_move: Price,
    /// How long nothing may have changed on a node before it is given back; none means never.
    pub consolidate_after: Option<Duration>,
    /// How many of its nodes may be on their way out at the same time. The strictest that applies counts.
    pub budgets: Vec<DisruptionBudget>,
    /// Why nothing may be launched from it just now, in words.
    pub unusable: Option<Text>,
    /// Whether its nodes are to be left as they are.
    pub paused: bool,
    /// When the provider was asked what it offers, where it has stores: it knew of no machine that was launched later.
    pub offered_at: Option<Timestamp>,
    /// The machines on offer.
    pub instance_types: Arc<Vec<InstanceType>>,
}

/// Who decides how many nodes a pool has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// Plans do.
    #[default]
    Windlass,
    /// Cluster Autoscaler does: plans put pods on the pool's nodes, and neither get nor give back any.
    ClusterAutoscaler,
}

/// How fast some machines are compared with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Performance {
    /// Which machines.
    pub requirements: Requirements,
    /// 100 is as fast as others; a machine of 125 is worth a quarter more of its price.
    pub percent: u32,
}

/// How much of a resource of a pool's nodes is to be asked for by pods, in percent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Utilization {
    /// Which resource.
    pub resource: Text,
    /// While less is asked for, nodes are given back whose pods fit on others.
    pub floor: Option<u32>,
    /// While more is asked for, nodes are added.
    pub ceiling: Option<u32>,
}
