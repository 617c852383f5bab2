use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::Text;
use crate::model::{Claim, ClaimPhase, Driver, InstanceType, Node, Pod, PodId, Readiness, Snapshot};

/// A snapshot with what belongs together found: claims and their nodes, nodes and their pods.
pub(super) struct View<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) now: Timestamp,
    pods: BTreeMap<&'a str, Vec<&'a Pod>>,
    nodes: BTreeMap<&'a str, &'a Node>,
    claims: BTreeMap<&'a str, &'a Claim>,
    types: BTreeMap<(&'a str, &'a str), &'a InstanceType>,
}

impl<'a> View<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, now: Timestamp) -> Self {
        let mut pods: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
        for pod in snapshot.pods.values() {
            if let Some(node) = pod.node() {
                pods.entry(node).or_default().push(pod);
            }
        }
        let mut types = BTreeMap::new();
        for pool in snapshot.pools.values() {
            types.extend(pool.instance_types.iter().map(|each| ((&*pool.name, &*each.name), each)));
        }
        let (nodes, claims) = pair(snapshot);
        Self { snapshot, now, pods, nodes, claims, types }
    }

    /// The pods on a node, ended ones aside.
    pub(super) fn pods_on(&self, node: &str) -> &[&'a Pod] {
        self.pods.get(node).map_or(&[], Vec::as_slice)
    }

    /// Whether a pod is on a node.
    pub(super) fn is_bound(&self, pod: &PodId) -> bool {
        self.snapshot.pods.get(pod).is_some_and(|pod| pod.node().is_some())
    }

    pub(super) fn node_of(&self, claim: &str) -> Option<&'a Node> {
        self.nodes.get(claim).copied()
    }

    pub(super) fn claim_of(&self, node: &str) -> Option<&'a Claim> {
        self.claims.get(node).copied()
    }

    pub(super) fn instance_type(&self, pool: &str, name: &str) -> Option<&'a InstanceType> {
        self.types.get(&(pool, name)).copied()
    }

    /// The claims of a pool.
    pub(super) fn claims_in(&self, pool: &Text) -> impl Iterator<Item = &'a Claim> {
        self.snapshot.claims.values().map(AsRef::as_ref).filter(move |claim| claim.pool == *pool)
    }

    /// Whether it is up to plans what becomes of a claim.
    pub(super) fn decides_about(&self, claim: &Claim) -> bool {
        self.snapshot.pools.get(&claim.pool).is_none_or(|pool| pool.driver == Driver::Windlass)
    }

    /// The pods on a node that keep it, those that come and go with it aside.
    pub(super) fn keeping(&self, node: &str) -> impl Iterator<Item = &'a Pod> {
        self.pods_on(node).iter().copied().filter(|pod| !pod.shape.belongs_to_node())
    }

    /// Whether a claim's node is there, ready and to stay.
    pub(super) fn stands(&self, claim: &Claim) -> bool {
        stays(claim) && self.is_up(claim)
    }

    /// Whether a claim's node is there and ready.
    pub(super) fn is_up(&self, claim: &Claim) -> bool {
        claim.phase == ClaimPhase::Initialized
            && self.node_of(&claim.name).is_some_and(|node| node.is_ready() && !node.deleting)
    }

    /// Whether a claim's node could first take pods only a moment ago, so that daemonsets may still be on their way to
    /// it. Later on those that are not there will not come.
    pub(super) fn is_fresh(&self, claim: &Claim) -> bool {
        claim.initialized_at.is_some_and(|at| self.now < self.with_grace(at))
    }

    /// Until when a node that is not ready counts as capacity that is about to come back.
    pub(super) fn back_by(&self, node: &Node) -> Option<Timestamp> {
        let Readiness::NotReady { since } = node.readiness else {
            return None;
        };
        let until = self.with_grace(since);
        (self.now < until).then_some(until)
    }

    fn with_grace(&self, since: Timestamp) -> Timestamp {
        let grace =
            SignedDuration::try_from(self.snapshot.settings.not_ready_grace).unwrap_or(SignedDuration::MAX);
        since.checked_add(grace).unwrap_or(Timestamp::MAX)
    }
}

/// Whether a claim is not on its way out.
pub(super) fn stays(claim: &Claim) -> bool {
    !claim.deleting && !claim.given_up && claim.disrupted.is_none()
}

/// Each claim's node and each node's claim. A node that we marked says itself whose it is; one that we have not come
/// around to marking is known by its machine.
fn pair(snapshot: &Snapshot) -> (BTreeMap<&str, &Node>, BTreeMap<&str, &Claim>) {
    let nodes = || snapshot.nodes.values().map(AsRef::as_ref);
    let by_claim: BTreeMap<&str, &Node> =
        nodes().filter_map(|node: &Node| Some((&**node.claim_uid.as_ref()?, node))).collect();
    let by_machine: BTreeMap<&str, &Node> =
        nodes().filter_map(|node: &Node| Some((&**node.provider_id.as_ref()?, node))).collect();
    let mut node_of = BTreeMap::new();
    let mut claim_of = BTreeMap::new();
    for claim in snapshot.claims.values() {
        let machine = claim.launched.as_ref().and_then(|launched| by_machine.get(&*launched.provider_id));
        let named = || claim.node.as_ref().and_then(|name| snapshot.nodes.get(name)).map(AsRef::as_ref);
        let Some(node) = by_claim.get(&*claim.uid).or(machine).copied().or_else(named) else {
            continue;
        };
        node_of.insert(&*claim.name, node);
        claim_of.entry(&*node.name).or_insert(&**claim);
    }
    (node_of, claim_of)
}
