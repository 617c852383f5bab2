use super::OfferSet;

/// What is to be packed: pods grouped into classes, and the machines that can be had for them.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    /// The pods.
    pub classes: Vec<Class>,
    /// The machines.
    pub offers: Vec<Offer>,
    /// The pools that the offers belong to.
    pub pools: Vec<Pool>,
    /// How much every node has of each slot. A slot is a resource that few pods ask for and of which all machines have
    /// the same, such as the one place for a pod of an anti-affinity group, or a host port. There may be hundreds. Where
    /// a slot is taken on some machine, leave its offer out of the sets of the classes that ask for the slot.
    pub slots: Vec<i64>,
    /// What is left of each store that offers draw on, amount by amount.
    pub stores: Vec<Vec<i64>>,
}

/// Pods that are the same to the packer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// How many pods.
    pub count: u32,
    /// What one pod takes of each resource. What is missing at the end is zero, and what is negative counts as zero.
    pub request: Vec<i64>,
    /// What one pod takes of slots, as number of the slot and amount.
    pub slots: Vec<(usize, i64)>,
    /// What the pods are that others may shun, as numbers of any kind.
    pub marks: Vec<usize>,
    /// The marks of the pods with which these do not share a node. No class shuns a mark of its own: what bounds its own
    /// pods is a slot.
    pub shuns: Vec<usize>,
    /// The offers it may use.
    pub offers: OfferSet,
}

/// Machines of one kind that can be launched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// What pods can use of each resource, that is after daemonsets.
    pub capacity: Vec<i64>,
    /// Micro-dollars per hour, weighed as the caller likes.
    pub price: u64,
    /// At most so many nodes can be had.
    pub available: Option<u32>,
    /// The number of its pool. An offer of no known pool has no limits but its own.
    pub pool: usize,
    /// What a node adds to each amount that its pool limits.
    pub counted: Vec<i64>,
    /// The store that it draws on with others, of any pools.
    pub store: Option<usize>,
    /// What a node takes of each amount of the store.
    pub takes: Vec<i64>,
}

/// What bounds the nodes of a pool together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// At most so many nodes.
    pub max_nodes: Option<u32>,
    /// The most that [`Offer::counted`] may add up to, for each amount that is limited.
    pub limits: Vec<Option<i64>>,
}

/// How to pack.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The part of its worth, in thousandths, that capacity left free on a node is credited with. A small batch packed
    /// for its own sake leaves a fragment on every node; 900 makes it take the larger node where that is nearly as cheap
    /// for what it holds, and later batches fill it. 0 for batches that stand alone.
    pub credit_permille: u16,
}
