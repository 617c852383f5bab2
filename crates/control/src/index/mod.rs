//! All that is known of the cluster, kept up by watches and by what Windlass itself writes.
//!
//! The methods are synchronous: a watch event goes in, and what comes out is who should look again ([`Changed`]).

mod claims;
mod expected;
mod nodes;
mod pods;
mod pools;
mod registrant;
mod shared;
mod shelf;
mod volumes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::ops::BitOrAssign;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;
use windlass_core::Text;
use windlass_core::model::{
    AttachLimits, DaemonSet, Labels, Node, Pod, PodBudget, PodId, PodShape, Pool, Settings, Snapshot,
    StorageClass, Volume, VolumeClaim,
};

use windlass_core::plan::Reserved;

use crate::avoidance::{Avoidance, OfferingOf};

pub use claims::ClaimMirror;
pub use pools::{Catalogue, ProviderEntry};
pub use registrant::Registrant;
pub use shelf::Shelf;

use crate::adapt::PoolDefinition;
use expected::Expected;
use nodes::NodeFacts;
use shared::Shared;

/// Who should look again after a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// The planner.
    pub plan: bool,
    /// The lifecycle of these claims.
    pub claims: BTreeSet<Text>,
    /// Whoever keeps providers, their offers and their status.
    pub providers: bool,
}

impl Changed {
    /// Nobody.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// The planner.
    pub fn plan() -> Self {
        Self { plan: true, ..Self::default() }
    }
}

impl BitOrAssign for Changed {
    fn bitor_assign(&mut self, other: Self) {
        self.plan |= other.plan;
        self.providers |= other.providers;
        self.claims.extend(other.claims);
    }
}

/// The kinds that must have been listed once before anything is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are the kinds")]
pub enum Kind {
    Pod,
    Node,
    DaemonSet,
    Namespace,
    PodDisruptionBudget,
    PersistentVolumeClaim,
    PersistentVolume,
    StorageClass,
    CSINode,
    NodeProvider,
    NodePool,
    NodeClaim,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Pod,
        Self::Node,
        Self::DaemonSet,
        Self::Namespace,
        Self::PodDisruptionBudget,
        Self::PersistentVolumeClaim,
        Self::PersistentVolume,
        Self::StorageClass,
        Self::CSINode,
        Self::NodeProvider,
        Self::NodePool,
        Self::NodeClaim,
    ];
}

/// All that is known of the cluster.
#[derive(Debug, Default)]
pub struct Index {
    pods: Arc<BTreeMap<PodId, Arc<Pod>>>,
    nodes: Arc<BTreeMap<Text, Arc<Node>>>,
    pools: Arc<BTreeMap<Text, Arc<Pool>>>,
    last_pod_change: Arc<BTreeMap<Text, Timestamp>>,
    /// The claims.
    pub claims: ClaimMirror,
    /// The daemonsets.
    pub daemon_sets: Shelf<PodId, Arc<DaemonSet>>,
    /// The labels of the namespaces.
    pub namespaces: Shelf<Text, Labels>,
    /// The budgets of pods that may be evicted.
    pub pod_budgets: Shelf<PodId, PodBudget>,
    /// The claims on volumes.
    pub volume_claims: Shelf<PodId, VolumeClaim>,
    /// The volumes.
    pub volumes: Shelf<Text, Volume>,
    /// The storage classes.
    pub storage_classes: Shelf<Text, StorageClass>,
    /// How many volumes can be attached to each node.
    pub attach_limits: Shelf<Text, AttachLimits>,
    /// Why everything is to be left as it is, as the namespaces say that it is written on.
    pauses: BTreeMap<Text, Text>,
    /// Pods that `CapacityBuffer`s want room kept for.
    buffered: Vec<Arc<Pod>>,
    /// What the last plan made of wishes for room.
    reserved: Vec<Reserved>,
    definitions: BTreeMap<Text, PoolDefinition>,
    /// How often pools or what they are made of have changed.
    pool_changes: u64,
    providers: BTreeMap<Text, ProviderEntry>,
    avoided_offerings: Avoidance<OfferingOf>,
    /// Pods that the nodes launched for them did not help.
    held_pods: Avoidance<PodId>,
    expected: Expected,
    nomination_changed: Option<Timestamp>,
    shapes: Shared<PodShape>,
    labels: Shared<Labels>,
    texts: Shared<str>,
    nodes_by_provider_id: BTreeMap<Text, BTreeSet<Text>>,
    /// What else is known of each node.
    node_facts: BTreeMap<Text, NodeFacts>,
    listed: BTreeSet<Kind>,
    failing: BTreeMap<Kind, FailingWatch>,
}

/// A watch that cannot be taken up again.
#[derive(Debug)]
struct FailingWatch {
    since: Instant,
    latest: Instant,
    error: String,
}

/// A watch that works again says so only when something happens. It tries at least this often, so a watch from which no
/// error came for so long works.
const TRIES_AT_LEAST: Duration = Duration::from_secs(90);

impl Index {
    /// What is known now, for planning.
    pub fn snapshot(&self, settings: &Settings) -> Snapshot {
        Snapshot {
            pools: self.pools.clone(),
            claims: self.claims.model(),
            nodes: self.nodes.clone(),
            pods: self.pods.clone(),
            daemon_sets: self.daemon_sets.model(),
            namespaces: self.namespaces.model(),
            volume_claims: self.volume_claims.model(),
            volumes: self.volumes.model(),
            storage_classes: self.storage_classes.model(),
            attach_limits: self.attach_limits.model(),
            pod_budgets: self.pod_budgets.model(),
            last_pod_change: self.last_pod_change.clone(),
            held: Arc::new(self.held_pods.all()),
            reserves: Arc::new(self.reserves()),
            recent: self.claims.recent(),
            settings: settings.clone(),
        }
    }

    /// The pods that nobody has made and for which there is to be room.
    fn reserves(&self) -> Vec<Arc<Pod>> {
        let pools = self.definitions.values().flat_map(|definition| &definition.reserve);
        pools.chain(&self.buffered).cloned().collect()
    }

    /// Takes in the pods that `CapacityBuffer`s want room kept for.
    pub fn saw_buffered(&mut self, pods: Vec<Arc<Pod>>) -> Changed {
        if self.buffered == pods {
            return Changed::nothing();
        }
        self.buffered = pods;
        Changed::plan()
    }

    /// Takes in what a plan made of wishes for room.
    pub fn saw_reserved(&mut self, reserved: Vec<Reserved>) {
        self.reserved = reserved;
    }

    /// What the last plan made of a wish for room.
    pub fn reserved(&self, id: &PodId) -> Option<Reserved> {
        self.reserved.iter().find(|reserved| reserved.id == *id).cloned()
    }

    /// Takes in whether a namespace says that everything is to be left as it is, and why.
    pub fn saw_pause(&mut self, namespace: &str, why: Option<Text>) -> Changed {
        let known = match why.clone() {
            Some(why) => self.pauses.insert(namespace.into(), why),
            None => self.pauses.remove(namespace),
        };
        if known == why { Changed::nothing() } else { Changed::plan() }
    }

    /// Why everything is to be left as it is, in words, if the namespace says so.
    pub fn paused(&self, namespace: &str) -> Option<Text> {
        let why = self.pauses.get(namespace)?;
        Some(format!("everything is paused: {why}").into())
    }

    /// Notes that all objects of a kind have been seen.
    pub fn listed(&mut self, kind: Kind) -> Changed {
        let first = self.listed.insert(kind);
        let claims = if first && self.is_synced() { self.claims.names() } else { BTreeSet::new() };
        Changed { plan: first, claims, providers: first }
    }

    /// Notes that the watch of a kind was interrupted.
    pub fn watch_failed(&mut self, kind: Kind, error: &dyn Display, now: Instant) {
        let known =
            self.failing.remove(&kind).filter(|watch| now.duration_since(watch.latest) < TRIES_AT_LEAST);
        let since = known.map_or(now, |watch| watch.since);
        self.failing.insert(kind, FailingWatch { since, latest: now, error: error.to_string() });
    }

    /// Notes that the watch of a kind brought something.
    pub fn watch_goes_on(&mut self, kind: Kind) {
        self.failing.remove(&kind);
    }

    /// Which watch has failed for longer than this, if one has: what is known of its kind may be old.
    pub fn failing_watch(&self, patience: Duration, now: Instant) -> Option<String> {
        let still = |watch: &FailingWatch| {
            now.duration_since(watch.latest) < TRIES_AT_LEAST && now.duration_since(watch.since) > patience
        };
        let (kind, watch) = self.failing.iter().find(|(_, watch)| still(watch))?;
        Some(format!("objects of kind {kind:?} cannot be watched: {}", watch.error))
    }

    /// Whether all kinds have been listed: before that, absence means nothing.
    pub fn is_synced(&self) -> bool {
        self.listed.len() == Kind::ALL.len()
    }

    /// Which kinds have not been listed yet, in words, with what stands in the way of each as far as it is known.
    pub fn unlisted(&self) -> Option<String> {
        let missing = Kind::ALL.into_iter().filter(|kind| !self.listed.contains(kind));
        let named = missing.map(|kind| match self.failing.get(&kind) {
            Some(watch) => format!("{kind:?} ({})", watch.error),
            None => format!("{kind:?}"),
        });
        let named: Vec<String> = named.collect();
        let words = || format!("the cluster's objects have not all been listed yet: {}", named.join(", "));
        (!named.is_empty()).then(words)
    }
}

/// The index, shared. No lock is held across an await.
#[derive(Clone, Debug, Default)]
pub struct SharedIndex(Arc<Mutex<Index>>);

impl SharedIndex {
    /// The index.
    pub fn lock(&self) -> MutexGuard<'_, Index> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Index, Kind};

    #[test]
    fn kinds_that_have_not_been_listed_are_named_with_what_stands_in_the_way() {
        let mut index = Index::default();
        for kind in Kind::ALL.into_iter().filter(|kind| !matches!(kind, Kind::StorageClass | Kind::CSINode)) {
            index.listed(kind);
        }
        index.watch_failed(Kind::StorageClass, &"storageclasses is forbidden", Instant::now());
        let words = index.unlisted().unwrap();
        assert!(
            words.ends_with("listed yet: StorageClass (storageclasses is forbidden), CSINode"),
            "{words}"
        );
        assert!(!index.is_synced());
        index.listed(Kind::StorageClass);
        index.listed(Kind::CSINode);
        assert_eq!(index.unlisted(), None);
        assert!(index.is_synced());
    }

    #[test]
    fn a_watch_that_keeps_failing_is_named_until_it_brings_something_or_falls_silent() {
        let (mut index, start) = (Index::default(), Instant::now());
        let (at, patience) = (|seconds| start + Duration::from_secs(seconds), Duration::from_secs(60));
        index.watch_failed(Kind::Node, &"connection refused", at(0));
        index.watch_failed(Kind::Node, &"forbidden", at(61));
        let words = index.failing_watch(patience, at(62)).unwrap();
        assert!(words.contains("Node") && words.contains("forbidden"), "{words}");
        assert_eq!(index.failing_watch(patience, at(200)), None, "no error for minutes: it works");
        index.watch_failed(Kind::Node, &"connection refused", at(300));
        assert_eq!(index.failing_watch(patience, at(301)), None, "that was another interruption");
        index.watch_failed(Kind::Node, &"connection refused", at(370));
        index.watch_goes_on(Kind::Node);
        assert_eq!(index.failing_watch(patience, at(371)), None);
    }
}
