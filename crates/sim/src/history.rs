//! A history: what befalls the world, as an explicit list. It says everything that makes one run differ from another, so
//! that a run can be repeated from its file, and made smaller by leaving things out.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

/// One run, from its beginnings to the last thing that happens before the world heals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct History {
    /// Decides all that is left to chance: latencies, identifiers, the order of things that happen at once.
    pub seed: u64,
    /// What the world is like.
    pub setting: Setting,
    /// What happens, in order.
    pub events: Vec<Event>,
}

impl History {
    /// How far ahead of the truth clocks may be.
    pub(crate) fn clocks_ahead(&self) -> SignedDuration {
        let jumps = self.events.iter().filter_map(|event| match event.what {
            What::Jump { seconds, .. } => Some(i64::from(seconds.max(0))),
            _ => None,
        });
        SignedDuration::from_secs(jumps.sum())
    }
}

/// What the world is like throughout a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Setting {
    /// Whether somebody deletes the nodes of machines that are gone, as a cloud's own controller does.
    pub cloud_controller: bool,
    /// Whether lists come in any order.
    pub shuffled_lists: bool,
    /// Whether the scheduler prefers full nodes to empty ones.
    pub fills_nodes: bool,
    /// The pools, named `pool-0` and so on.
    pub pools: Vec<Pool>,
}

/// A pool as it is at the beginning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pool {
    /// The limit on nodes.
    pub max_nodes: Option<u32>,
    /// The limit on cores.
    pub max_cores: Option<u32>,
    /// The nodes that it keeps at least.
    pub min_nodes: u32,
    /// Whether pods are moved to save money, beside giving empty nodes back.
    pub consolidates: bool,
    /// After how many seconds a node is replaced, if ever.
    pub lifetime: Option<u32>,
    /// After how many seconds without readiness a node is replaced.
    pub repair_after: u32,
}

/// Something that happens at a certain time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Milliseconds since the beginning.
    pub at: u32,
    /// What.
    pub what: What,
}

/// What can happen. Pods, nodes and so on are named by number: the n-th of those that there are then, round and round,
/// so that an event still means something when others are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum What {
    /// A user deploys an app, or an app of the same name anew.
    Deploy {
        /// Its name is `app-` and this number.
        app: u32,
        /// How many pods.
        replicas: u32,
        /// Millicores for each of them.
        cpu: u32,
        /// Mebibytes for each of them.
        memory: u32,
        /// The pool that they ask for, if any.
        pool: Option<u32>,
        /// How many of them are to be there at least, by a disruption budget.
        budget: Option<u32>,
    },
    /// A user changes how many pods an app has.
    Scale {
        /// Which app.
        app: u32,
        /// How many pods.
        replicas: u32,
    },
    /// A user removes an app.
    Remove {
        /// Which app.
        app: u32,
    },
    /// A user deletes a pod.
    DeletePod(u32),
    /// A user deletes a node of ours.
    DeleteNode(u32),
    /// A user deletes a claim.
    DeleteClaim(u32),
    /// A user asks for another machine in the place of this one.
    AskToReplace(u32),
    /// A user changes how many nodes a pool may have, or lifts that limit.
    Limit {
        /// Which pool.
        pool: u32,
        /// How many nodes.
        nodes: Option<u32>,
    },
    /// A user changes how many nodes a pool keeps.
    Keep {
        /// Which pool.
        pool: u32,
        /// How many nodes.
        nodes: u32,
    },
    /// A user changes the template of a pool, so that its nodes are no longer what they should be.
    Relabel {
        /// Which pool.
        pool: u32,
    },
    /// A user pauses a pool or lets it go on.
    Pause {
        /// Which pool.
        pool: u32,
        /// Whether it is paused from now on.
        paused: bool,
    },

    /// A replica dies at an effect of its own.
    Crash {
        /// Which replica.
        replica: u32,
        /// At which of its effects, counted from now.
        effect: u32,
        /// On which side of it.
        side: Side,
        /// For how many seconds it is down.
        down: u32,
    },
    /// A replica is told to end, and started anew.
    Restart {
        /// Which replica.
        replica: u32,
    },
    /// A replica's wall clock is set.
    Jump {
        /// Which replica.
        replica: u32,
        /// By how many seconds.
        seconds: i32,
    },

    /// Requests to the API server fail.
    Fail {
        /// Whose.
        replica: u32,
        /// How.
        how: Failure,
        /// How many.
        requests: u32,
    },
    /// The API server, or the way to it, is gone.
    Outage {
        /// For this replica; none means for all.
        replica: Option<u32>,
        /// For how many seconds.
        seconds: u32,
    },
    /// What a replica's watches tell is held up.
    Lag {
        /// Which replica.
        replica: u32,
        /// Of this kind; none means all kinds.
        kind: Option<WatchedKind>,
        /// For how many seconds.
        seconds: u32,
    },
    /// Watches break off.
    Cut {
        /// Whose.
        replica: u32,
        /// Of this kind; none means all kinds.
        kind: Option<WatchedKind>,
    },
    /// The API server forgets what has been.
    Compact,

    /// Calls to the provider fail.
    Provider {
        /// Which calls.
        call: Call,
        /// How.
        how: CallFault,
        /// How many.
        calls: u32,
    },
    /// The provider's lists show what was, not what is.
    ListLag {
        /// For how many seconds.
        seconds: u32,
    },
    /// A kind of machine cannot be had.
    SoldOut {
        /// Which offering.
        offering: u32,
        /// For how many seconds.
        seconds: u32,
    },
    /// Somebody takes the tag off a machine.
    LoseTag(u32),
    /// A machine is gone, and nobody had asked for it.
    Vanish(u32),
    /// The provider says that it will end a machine.
    Notice {
        /// Which machine.
        machine: u32,
        /// In how many seconds.
        seconds: u32,
    },
    /// The next machines never become nodes.
    NeverJoin {
        /// How many.
        machines: u32,
    },
    /// A node is not ready for a while.
    Flap {
        /// Which node.
        node: u32,
        /// For how many seconds.
        seconds: u32,
    },
    /// A node's kubelet dies for good.
    KubeletDies(u32),
}

/// A side of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Side {
    /// It never happens.
    Before,
    /// It has happened, and nobody hears of it.
    After,
}

/// How a request to the API server fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Failure {
    /// It is refused with this status, and has no effect.
    Refused(u16),
    /// It has its effect, and the answer is a time-out.
    AnswerLost,
    /// The answer is a time-out, and what was to be made is made a while later all the same.
    Late,
    /// The same for a change or an end.
    LateChange,
    /// It is answered much later than usual.
    Slow,
    /// The connection breaks before it is sent.
    Unsent,
}

/// A kind of object that the controller watches and that matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are those of the kinds")]
pub enum WatchedKind {
    Pod,
    Node,
    NodeClaim,
    NodePool,
    PodDisruptionBudget,
}

impl WatchedKind {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Pod, Self::Node, Self::NodeClaim, Self::NodePool, Self::PodDisruptionBudget];

    /// The kind as Kubernetes spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::Node => "Node",
            Self::NodeClaim => "NodeClaim",
            Self::NodePool => "NodePool",
            Self::PodDisruptionBudget => "PodDisruptionBudget",
        }
    }
}

/// A call to the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names are those of the calls")]
pub enum Call {
    Offers,
    Launch,
    Terminate,
    Get,
    List,
}

/// How a call to the provider fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CallFault {
    /// It fails and has no effect.
    Refused,
    /// There is no capacity.
    NoCapacity,
    /// Too many calls.
    Throttled,
    /// It has its effect, and the answer is lost.
    AnswerLost,
    /// It fails, and has its effect a while later all the same.
    Late,
    /// The answer takes longer than anyone waits.
    Slow,
    /// It says that there is nothing: no such machine, no machines at all.
    Denied,
}
