use std::fmt;

use jiff::Timestamp;
use serde::Serialize;

use crate::model::{PodId, Resources};
use crate::stock::Lack;
use crate::{Price, Text};

/// Why the plan is what it is: every pod that stays pending and every node that stays or goes has a reason here that a
/// person can read. Events, the command line and the dashboard all show this one report.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The pods that stay pending, one entry for each shape.
    pub unplaced: Vec<Unplaced>,
    /// Our nodes and why they stay or go.
    pub nodes: Vec<NodeReport>,
    /// Pools with fewer nodes than they keep, for want of something.
    pub short_pools: Vec<PoolExclusion>,
    /// What became of the room that is to be kept ready.
    pub reserves: Vec<Reserved>,
    /// What the machines that are launched for pods cost per hour, prices weighed as the pools say.
    pub cost: Price,
    /// No other machines that hold the same pods cost less.
    pub lower_bound: Price,
}

/// Room that is to be kept ready for pods that nobody has made yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reserved {
    /// Whose wish it is.
    pub id: PodId,
    /// For how many pods it is to be kept.
    pub wanted: usize,
    /// For how many there is.
    pub ready: usize,
    /// For how many there will be.
    pub coming: usize,
}

impl Reserved {
    /// For how many pods there is none.
    pub fn missing(&self) -> usize {
        self.wanted.saturating_sub(self.ready).saturating_sub(self.coming)
    }
}

/// Pods of one shape that stay pending.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unplaced {
    /// The pods.
    pub pods: Vec<PodId>,
    /// Why no pool serves them, where that has nothing to do with the pools.
    pub everywhere: Option<Exclusion>,
    /// For each pool why it does not serve them, in the order the pools are tried.
    pub pools: Vec<PoolExclusion>,
}

/// Why a pool does not serve some pods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PoolExclusion {
    /// The pool.
    pub pool: Text,
    /// What stands in the way.
    pub exclusion: Exclusion,
}

/// What stands between pods and a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "constraint", rename_all = "camelCase")]
pub enum Exclusion {
    /// The pool cannot be used just now.
    Unusable {
        /// Why.
        why: Text,
    },
    /// The pods do not tolerate a taint of the pool.
    Taint {
        /// The taint.
        taint: String,
    },
    /// No machine of the pool has a label that the pods ask for.
    Label {
        /// The label.
        key: Text,
        /// What the pods ask of it.
        wanted: String,
    },
    /// No machine that matches is large enough.
    Resource {
        /// The resource that is lacking.
        resource: Text,
        /// What the pod and the daemonsets beside it ask for.
        wanted: String,
        /// The most that a matching machine has.
        largest: String,
        /// How many instance types match otherwise.
        matching: usize,
        /// How many instance types the pool has.
        total: usize,
    },
    /// The pool's limit is reached.
    Limit {
        /// The resource that is limited, or `nodes`.
        resource: Text,
        /// The limit.
        limit: String,
    },
    /// What would fit cannot be had at present.
    Unavailable {
        /// How many offerings would fit.
        offerings: usize,
    },
    /// What would fit is cut from a store, such as a host, that has too little left. Of several the one that comes nearest.
    Store {
        /// The store.
        store: Text,
        /// The resource that is lacking.
        resource: Text,
        /// What the store has left of it.
        left: String,
        /// What is set aside for machines that are planned or on their way, where that is anything.
        promised: Option<String>,
        /// What a machine takes that would fit.
        takes: String,
        /// How many other stores have too little left as well.
        others: usize,
    },
    /// The pool's provider offers no machine that the pool's own requirements allow.
    NoInstanceTypes,
    /// The pool wants more different ways to get a machine than there are for these pods.
    MinValues {
        /// The label of which it wants different values.
        key: Text,
        /// How many it wants.
        least: u32,
        /// How many there are.
        found: usize,
    },
    /// The pods that are where they are leave no place for these.
    Topology {
        /// What the pods demand.
        demand: String,
    },
    /// A volume is not to be had.
    Volume {
        /// Why.
        why: String,
    },
    /// A machine was got for the pods and did not help them.
    Held {
        /// When the next one is tried.
        until: Timestamp,
    },
    /// The pool has a fixed number of nodes.
    Fixed {
        /// How many.
        replicas: u32,
    },
    /// Cluster Autoscaler decides how many nodes the pool has.
    Driver,
    /// The pods have not waited for as long as the pool wants.
    Window {
        /// Until when they have to.
        until: Timestamp,
    },
    /// The pods' priority is too low for machines to be got for them.
    Priority {
        /// Their priority.
        priority: i32,
        /// The lowest for which machines are got.
        least: i32,
    },
}

impl Exclusion {
    /// What a store has too little of, beside so many other stores that have too little too.
    pub fn of_store(lack: &Lack, others: usize) -> Self {
        let show = |amount: i64| Resources::show(&lack.resource, amount);
        Self::Store {
            store: lack.store.clone(),
            resource: lack.resource.clone(),
            left: show(lack.left),
            promised: (lack.promised > 0).then(|| show(lack.promised)),
            takes: show(lack.takes),
            others,
        }
    }
}

impl fmt::Display for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable { why } => f.write_str(why),
            Self::Taint { taint } => write!(f, "taint {taint} is not tolerated"),
            Self::Label { key, wanted } => write!(f, "no machine has label {key} {wanted}"),
            Self::Resource { resource, wanted, largest, matching, total } => write!(
                f,
                "{matching} of {total} types match; none has {wanted} of {resource} free, largest {largest}"
            ),
            Self::Limit { resource, limit } => write!(f, "the limit of {limit} {resource} is reached"),
            Self::Unavailable { offerings } => {
                write!(f, "{offerings} offerings would fit, and none of them can be had at present")
            }
            Self::Store { store, resource, left, promised, takes, others } => {
                write!(f, "{store} has {left} of {resource} left")?;
                if let Some(promised) = promised {
                    write!(f, " beside {promised} for machines that are on their way")?;
                }
                write!(f, ", and a machine that would fit takes {takes}")?;
                match others {
                    0 => Ok(()),
                    others => write!(f, "; it is the nearest of {} that have too little left", others + 1),
                }
            }
            Self::NoInstanceTypes => {
                f.write_str("the provider offers no machine that the pool's requirements allow")
            }
            Self::MinValues { key, least, found } => {
                write!(
                    f,
                    "the pool wants machines with {least} values of {key} to choose from, and {found} would fit"
                )
            }
            Self::Topology { demand } => f.write_str(demand),
            Self::Volume { why } => f.write_str(why),
            Self::Held { until } => write!(
                f,
                "the node that was launched for this pod does not take it; the next is tried at {until:.0}. Does \
                 something taint new nodes, or have they less room than their pool's provider says?"
            ),
            Self::Fixed { replicas } => {
                write!(f, "the pool has {replicas} nodes whatever pods ask for")
            }
            Self::Driver => {
                f.write_str("it could serve them, and Cluster Autoscaler decides whether it grows")
            }
            Self::Window { until } => {
                write!(f, "the pool waits until {until:.0} for whether the pods still need a machine then")
            }
            Self::Priority { priority, least } => {
                write!(f, "priority {priority} is below {least}, the lowest for which machines are got")
            }
        }
    }
}

impl Unplaced {
    /// The reasons in one line, for events.
    pub fn summary(&self) -> String {
        if let Some(everywhere) = &self.everywhere {
            return everywhere.to_string();
        }
        if self.pools.is_empty() {
            return "no pool: create a NodePool that fits this pod".to_owned();
        }
        let reasons = self.pools.iter().map(|reason| format!("pool {}: {}", reason.pool, reason.exclusion));
        reasons.collect::<Vec<_>>().join("; ")
    }
}

/// Why one of our nodes stays or goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeReport {
    /// The claim.
    pub claim: Text,
    /// The node, once there is one.
    pub node: Option<Text>,
    /// Whether the plan removes it.
    pub goes: bool,
    /// Why.
    pub why: String,
}
