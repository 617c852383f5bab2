//! The nodes that a pool keeps beside those that its pods need: its minimum, nodes on which nothing runs, and so many that
//! no more than a part of them is asked for.

use std::collections::{BTreeMap, BTreeSet};

use super::assignment::Assignment;
use super::budget::Budget;
use super::class::Cause;
use super::decision::Target;
use super::draft::Draft;
use super::minimum;
use super::scene::Scene;
use super::tally::Tally;
use super::usage::{self, Usage};
use super::view::{View, stays};
use crate::Text;
use crate::model::{Claim, Driver, Pool, Utilization};

/// The most nodes that one plan adds for a pool beside those that pods need.
const AT_ONCE: usize = 10_000;

/// Takes out machines on which nobody is after all, as far as no pool keeps them; whether there were any.
pub(super) fn drop_idle(
    scene: &Scene<'_, '_>,
    assignment: &Assignment,
    drafts: &mut Vec<Draft<'_, '_>>,
) -> bool {
    let before = drafts.len();
    for number in 0..scene.pools.len() {
        let mut idle = idle_wanted(scene, assignment, drafts, number);
        drafts.retain(|draft| {
            let stays = draft.first.pool_number != number || !draft.load.is_empty() || idle > 0;
            idle -= usize::from(stays && draft.first.pool_number == number && draft.load.is_empty());
            stays
        });
    }
    drafts.len() < before
}

/// Machines for the pools that have too few, beside those that are got for pods.
pub(super) fn missing<'p, 'a>(
    scene: &'p Scene<'_, 'a>,
    drafts: &[Draft<'p, 'a>],
    assignment: &Assignment,
    budget: &mut Budget<'a>,
) -> Vec<Draft<'p, 'a>> {
    let mut more = Vec::new();
    let tallies: &[Tally] = &assignment.tallies;
    for number in 0..scene.pools.len() {
        let mut lacks = lacking(scene, assignment, drafts, number).min(AT_ONCE);
        // Candidates of a pool are in the order of their prices.
        for candidate in scene.candidates.iter().filter(|candidate| candidate.pool_number == number) {
            let got = Draft::several(scene, candidate, &[], lacks, tallies, budget);
            lacks -= got.len();
            more.extend(got);
        }
    }
    more
}

/// How many nodes a pool lacks beside these.
pub(super) fn lacking(
    scene: &Scene<'_, '_>,
    assignment: &Assignment,
    drafts: &[Draft<'_, '_>],
    number: usize,
) -> usize {
    let idle = drafts.iter().filter(|draft| draft.first.pool_number == number && draft.load.is_empty());
    idle_wanted(scene, assignment, drafts, number).saturating_sub(idle.count())
}

/// How many machines on which nobody is a pool is to get beside those that pods need.
fn idle_wanted(
    scene: &Scene<'_, '_>,
    assignment: &Assignment,
    drafts: &[Draft<'_, '_>],
    number: usize,
) -> usize {
    let Some(pool) = scene.pools.get(number).filter(|pool| pool.driver == Driver::Windlass) else { return 0 };
    let used = || drafts.iter().filter(|draft| draft.first.pool_number == number && !draft.load.is_empty());
    let for_minimum = minimum::lacking(scene.view, pool, used().count());
    if pool.spare_nodes == 0 && pool.utilization.is_empty() {
        return for_minimum;
    }
    let expected = expected(assignment);
    let idle = scene.view.claims_in(&pool.name).filter(|claim| is_idle(scene.view, claim, &expected)).count();
    let for_spares = (pool.spare_nodes as usize).saturating_sub(idle);
    for_minimum.max(for_spares).max(for_ceilings(scene, assignment, drafts, number))
}

/// How many machines a pool is to get so that no more than a part of what it has is asked for.
fn for_ceilings(
    scene: &Scene<'_, '_>,
    assignment: &Assignment,
    drafts: &[Draft<'_, '_>],
    number: usize,
) -> usize {
    let Some(pool) = scene.pools.get(number).filter(|pool| !pool.utilization.is_empty()) else { return 0 };
    let mut usage = Usage::of(scene.view, pool);
    for draft in drafts.iter().filter(|draft| draft.first.pool_number == number && !draft.load.is_empty()) {
        usage.add(&draft.first.instance_type.allocatable);
    }
    let is_here = |target: &Target| match target {
        Target::Node(node) => scene.view.claim_of(node).is_some_and(|claim| claim.pool == pool.name),
        Target::Claim(claim) => {
            scene.view.snapshot.claims.get(claim).is_some_and(|claim| claim.pool == pool.name)
        }
        Target::Launch(launch) => drafts.get(*launch).is_some_and(|draft| draft.first.pool_number == number),
    };
    for (class, spots, _) in assignment.by_class(&scene.classes) {
        let here = spots.iter().filter(|spot| class.cause != Cause::Reserve && is_here(&spot.target));
        usage.ask(&class.shape.requests, here.map(|spot| spot.count).sum());
    }
    let lacks = |each: &Utilization| {
        let mut candidates = scene.candidates.iter().filter(|candidate| candidate.pool_number == number);
        let node =
            candidates.find(|candidate| candidate.instance_type.allocatable.get(&each.resource) > 0)?;
        Some(usage.lacks(&each.resource, each.ceiling?, &node.instance_type.allocatable))
    };
    pool.utilization.iter().filter_map(lacks).max().unwrap_or(0)
}

/// The places on which pods are expected.
pub(super) fn expected(assignment: &Assignment) -> BTreeSet<&Target> {
    assignment.spots.iter().flatten().map(|spot| &spot.target).collect()
}

/// Whether nothing runs on a claim's node, or will when it is there.
fn is_idle(view: &View<'_>, claim: &Claim, expected: &BTreeSet<&Target>) -> bool {
    let node = view.node_of(&claim.name);
    let awaited = node.is_some_and(|node| expected.contains(&Target::Node(node.name.clone())));
    let in_use = node.is_some_and(|node| view.keeping(&node.name).next().is_some());
    stays(claim) && !awaited && !in_use && !expected.contains(&Target::Claim(claim.name.clone()))
}

/// What pools can do without.
pub(super) struct Spares<'v, 'a> {
    view: &'v View<'a>,
    pools: BTreeMap<&'a Text, Strength>,
}

/// The nodes of a pool that stand.
#[derive(Default)]
struct Strength {
    standing: usize,
    idle: usize,
    usage: Usage,
}

impl<'v, 'a> Spares<'v, 'a> {
    pub(super) fn new(view: &'v View<'a>, expected: &BTreeSet<&Target>) -> Self {
        let mut pools: BTreeMap<&Text, Strength> = BTreeMap::new();
        for claim in view.snapshot.claims.values().filter(|claim| view.stands(claim)) {
            let strength = pools.entry(&claim.pool).or_default();
            strength.standing += 1;
            strength.idle += usize::from(is_idle(view, claim, expected));
        }
        for pool in view.snapshot.pools.values().filter(|pool| !pool.utilization.is_empty()) {
            pools.entry(&pool.name).or_default().usage = Usage::of(view, pool);
        }
        Self { view, pools }
    }

    /// Why a pool cannot do without one of its nodes, if it cannot.
    pub(super) fn needs(&self, pool: &Pool, claim: &Claim, idle: bool) -> Option<String> {
        let strength = self.pools.get(&pool.name)?;
        if let Some(replicas) = pool.replicas.filter(|replicas| strength.standing <= *replicas as usize) {
            return Some(format!("kept: its pool has {replicas} nodes, whatever runs on them"));
        }
        if strength.standing <= pool.min_nodes as usize {
            return Some(format!("kept for the pool's minimum of {}", pool.min_nodes));
        }
        if idle && strength.idle <= pool.spare_nodes as usize {
            return Some(format!("kept ready: its pool keeps {} nodes empty", pool.spare_nodes));
        }
        let mut usage = strength.usage.clone();
        usage.remove(&usage::allocatable(self.view, claim));
        let too_full =
            |each: &&Utilization| each.ceiling.is_some_and(|ceiling| usage.is_above(&each.resource, ceiling));
        let Utilization { resource, ceiling, .. } = pool.utilization.iter().find(too_full)?;
        let ceiling = ceiling.unwrap_or_default();
        Some(format!("kept so that no more than {ceiling}% of the pool's {resource} is asked for"))
    }

    /// Whether less of a pool's nodes is asked for than it is to be.
    pub(super) fn is_below_floor(&self, pool: &Pool) -> bool {
        let Some(strength) = self.pools.get(&pool.name) else { return false };
        let mut all = pool.utilization.iter();
        all.any(|each| each.floor.is_some_and(|floor| strength.usage.is_below(&each.resource, floor)))
    }

    /// Counts a node less.
    pub(super) fn take(&mut self, pool: &Text, claim: &Claim, idle: bool) {
        let allocatable = usage::allocatable(self.view, claim);
        if let Some(strength) = self.pools.get_mut(pool) {
            strength.standing = strength.standing.saturating_sub(1);
            strength.idle = strength.idle.saturating_sub(usize::from(idle));
            strength.usage.remove(&allocatable);
        }
    }
}
