use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use jiff::Timestamp;

use super::admission::Admission;
use super::amounts::{Amounts, Demand};
use super::arriving;
use super::decision::Target;
use super::keys::Domains;
use super::rules::At;
use super::scene::Setting;
use super::tally::Tally;
use super::view::{View, stays};
use crate::model::{Claim, ClaimPhase, Effect, Node, Taint};

/// What keeps pods off a cordoned node that do not tolerate it.
static CORDONED: LazyLock<Taint> =
    LazyLock::new(|| Taint::new("node.kubernetes.io/unschedulable", "", Effect::NoSchedule));

/// Somewhere pods can go, and how much is free there.
pub(super) struct Place {
    pub(super) target: Target,
    pub(super) admission: Admission,
    pub(super) free: Amounts,
    /// The pods there that are on their way out: their priority and what they take.
    pub(super) leaving: Vec<(i32, Demand)>,
    /// Whether it takes pods now rather than later.
    pub(super) ready: bool,
    /// Whether pods that keep it are there already.
    pub(super) busy: bool,
    /// When its claim was made, where it has one.
    pub(super) since: Option<Timestamp>,
    /// Until when it is taken on trust, where it was ready and is not.
    pub(super) back_by: Option<Timestamp>,
    /// Where it is.
    pub(super) domains: Domains,
    /// In which tallies it counts.
    pub(super) sees: Box<[bool]>,
}

impl Place {
    /// The node as rules see it.
    pub(super) fn at(&self) -> At<'_> {
        At { domains: &self.domains, ready: self.ready }
    }

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

/// All places that are there or on their way. What is on the nodes is counted, also on those that take no pods.
pub(super) fn existing(setting: &mut Setting<'_, '_>, tallies: &mut [Tally]) -> Vec<Place> {
    let view = setting.view;
    let mut places = Vec::new();
    let arrives = |claim: &Claim| stays(claim) && claim.phase != ClaimPhase::Initialized;
    let mut arriving = BTreeSet::new();
    for claim in view.snapshot.claims.values().filter(|claim| arrives(claim)) {
        let Some(place) = arriving::place(setting, claim) else { continue };
        match view.node_of(&claim.name) {
            Some(node) => {
                // What a node that has just joined says of itself is not all yet.
                arriving.insert(&node.name);
                setting.count_node(tallies, node, &place.domains, &place.sees);
            }
            None => count_new_node(tallies, &place.domains, &place.sees),
        }
        places.push(place);
    }
    for node in view.snapshot.nodes.values().filter(|node| !arriving.contains(&node.name)) {
        let domains = setting.keys.locate(&node.labels);
        let taints = lasting_taints(view, node);
        let sees = setting.kin.sees(&node.labels, &taints);
        setting.count_node(tallies, node, &domains, &sees);
        places.extend(node_place(setting, node, &taints, domains, sees));
    }
    places
}

/// The taints of a node that will still be there when it is back, where it is out of sight for a moment only. A cordon
/// works like a taint.
fn lasting_taints<'a>(view: &View<'a>, node: &'a Node) -> Vec<&'a Taint> {
    let passing = |taint: &&Taint| view.back_by(node).is_some() && arriving::comes_of_not_being_ready(taint);
    let mut taints: Vec<&Taint> = node.taints.iter().filter(|taint| !passing(taint)).collect();
    taints.extend(node.unschedulable.then_some(&*CORDONED));
    taints
}

/// Counts a node on which nothing is yet.
pub(super) fn count_new_node(tallies: &mut [Tally], domains: &Domains, sees: &[bool]) {
    for (tally, _) in tallies.iter_mut().zip(sees).filter(|(_, sees)| **sees) {
        tally.add_node(domains);
    }
}

/// Takes a node on which nothing is out of the count.
pub(super) fn uncount_new_node(tallies: &mut [Tally], domains: &Domains, sees: &[bool]) {
    for (tally, _) in tallies.iter_mut().zip(sees).filter(|(_, sees)| **sees) {
        tally.take_node(domains);
    }
}

/// The place on a node that is ready or was until a moment ago. Nodes of claims that are not initialized are no
/// business of this one.
fn node_place(
    setting: &Setting<'_, '_>,
    node: &Node,
    taints: &[&Taint],
    domains: Domains,
    sees: Box<[bool]>,
) -> Option<Place> {
    let Setting { view, constraints, daemons, .. } = setting;
    let back_by = view.back_by(node);
    let claim = view.claim_of(&node.name);
    let takes_pods = !node.deleting
        && (node.is_ready() || back_by.is_some())
        && claim.is_none_or(|claim| stays(claim) && claim.phase == ClaimPhase::Initialized);
    if !takes_pods {
        return None;
    }
    let mut free = setting.free_on(node);
    if claim.is_some_and(|claim| view.is_fresh(claim)) {
        free = daemons.leave(&free, &node.labels, taints, view.pods_on(&node.name));
    }
    Some(Place {
        target: Target::Node(node.name.clone()),
        admission: constraints.met_by(&[&node.labels], taints),
        free,
        leaving: setting.leaving(node),
        ready: node.is_ready(),
        busy: view.pods_on(&node.name).iter().any(|pod| !pod.shape.belongs_to_node()),
        since: claim.map(|claim| claim.created_at),
        back_by,
        domains,
        sees,
    })
}
