use std::cmp::Ordering;

use jiff::Timestamp;

use super::admission::{Admission, Constraints};
use super::amounts::{Amounts, Dimensions};
use super::arriving;
use super::daemons::Daemons;
use super::decision::Target;
use super::view::{View, stays};
use crate::model::{ClaimPhase, Node, Taint};

/// Somewhere pods can go, and how much is free there.
pub(super) struct Place {
    pub(super) target: Target,
    pub(super) admission: Admission,
    pub(super) free: Amounts,
    /// Whether it takes pods now rather than later.
    pub(super) ready: bool,
    /// Whether pods that keep it are there already.
    pub(super) busy: bool,
    /// When its claim was made, where it has one.
    pub(super) since: Option<Timestamp>,
    /// Until when it is taken on trust, where it was ready and is not.
    pub(super) back_by: Option<Timestamp>,
}

impl Place {
    /// Nodes that are ready come first, and among them those that stay anyway, so that the empty ones can go. What came
    /// later comes later, so that a machine on its way does not change what was decided before it; then large comes
    /// before small.
    pub(super) fn precedence(&self, other: &Self) -> Ordering {
        let key = |place: &Self| (!place.ready, place.ready && !place.busy, place.since);
        let size = other.free.cmp(&self.free);
        let rest = (&self.admission, &self.target).cmp(&(&other.admission, &other.target));
        key(self).cmp(&key(other)).then(size).then(rest)
    }
}

/// All places that are there or on their way.
pub(super) fn existing(
    view: &View<'_>,
    constraints: &Constraints<'_>,
    dimensions: &Dimensions,
    daemons: &Daemons<'_>,
) -> Vec<Place> {
    let nodes = view
        .snapshot
        .nodes
        .values()
        .filter_map(|node| node_place(view, constraints, dimensions, daemons, node));
    let claims =
        view.snapshot.claims.values().filter(|claim| stays(claim) && claim.phase != ClaimPhase::Initialized);
    let claims = claims.filter_map(|claim| arriving::place(view, constraints, dimensions, daemons, claim));
    nodes.chain(claims).collect()
}

/// Whether a node that is well would be given pods.
pub(super) fn is_open(node: &Node) -> bool {
    !node.unschedulable && !node.deleting
}

/// The place on a node that is ready or was until a moment ago. Nodes of claims that are not initialized are no
/// business of this one.
fn node_place(
    view: &View<'_>,
    constraints: &Constraints<'_>,
    dimensions: &Dimensions,
    daemons: &Daemons<'_>,
    node: &Node,
) -> Option<Place> {
    let back_by = view.back_by(node);
    let claim = view.claim_of(&node.name);
    let takes_pods = is_open(node)
        && (node.is_ready() || back_by.is_some())
        && claim.is_none_or(|claim| stays(claim) && claim.phase == ClaimPhase::Initialized);
    if !takes_pods {
        return None;
    }
    let passing = |taint: &&Taint| back_by.is_some() && arriving::comes_of_not_being_ready(taint);
    let taints: Vec<&Taint> = node.taints.iter().filter(|taint| !passing(taint)).collect();
    let mut free = less_pods(view, dimensions, dimensions.supply(&node.allocatable), node);
    if claim.is_some_and(|claim| view.is_fresh(claim)) {
        free = daemons.leave(&free, &node.labels, &taints, view.pods_on(&node.name));
    }
    Some(Place {
        target: Target::Node(node.name.clone()),
        admission: constraints.met_by(&[&node.labels], &taints),
        free,
        ready: node.is_ready(),
        busy: view.pods_on(&node.name).iter().any(|pod| !pod.shape.belongs_to_node()),
        since: claim.map(|claim| claim.created_at),
        back_by,
    })
}

/// What of an amount the pods on a node leave.
pub(super) fn less_pods(view: &View<'_>, dimensions: &Dimensions, mut free: Amounts, node: &Node) -> Amounts {
    for pod in view.pods_on(&node.name) {
        free.take(&dimensions.demand(&pod.shape.requests), 1);
    }
    free
}
