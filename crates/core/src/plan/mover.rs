//! Nodes that may go to save money, and how many of them.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::decision::Target;
use super::leave::Leave;
use super::spare::Spares;
use super::view::View;
use super::{empty, guards};
use crate::model::{Claim, Consolidation, DisruptionReason, Node, Pod, Pool, Resources};

/// A node that may go.
pub(super) struct Mover<'a> {
    pub(super) claim: &'a Claim,
    pub(super) node: &'a Node,
    pub(super) pool: &'a Pool,
    pub(super) pods: Vec<&'a Pod>,
    /// Whether it may go because that is cheaper, rather than only because too little of its pool is used.
    pub(super) for_money: bool,
}

/// The nodes that may go, those first that save most for each pod that moves.
pub(super) fn movers<'a>(view: &View<'a>, expected: &BTreeSet<&Target>) -> Vec<Mover<'a>> {
    let claims = view.snapshot.claims.values();
    let claims = claims.filter(|claim| view.stands(claim) && view.decides_about(claim));
    let spares = Spares::new(view, &BTreeSet::new());
    let mut movers: Vec<Mover<'_>> = claims.filter_map(|claim| mover(view, claim, &spares)).collect();
    movers.retain(|mover| !expected.contains(&Target::Node(mover.node.name.clone())));
    let saved = |mover: &Mover<'_>| mover.price() / i64::try_from(1 + mover.pods.len()).unwrap_or(i64::MAX);
    movers.sort_by_cached_key(|mover| (Reverse(saved(mover)), mover.claim.name.clone()));
    movers
}

fn mover<'a>(view: &View<'a>, claim: &'a Claim, spares: &Spares<'_, '_>) -> Option<Mover<'a>> {
    let node = view.node_of(&claim.name)?;
    let pool = view.snapshot.pools.get(&claim.pool)?;
    let for_money = pool.consolidation == Consolidation::Underutilized;
    if pool.paused || pool.replicas.is_some() || !(for_money || spares.is_below_floor(pool)) {
        return None;
    }
    let pods: Vec<&Pod> = view.keeping(&node.name).filter(|pod| !pod.deleting).collect();
    let settled = empty::quiet_until(view, claim, node, pool).is_some_and(|until| until <= view.now);
    let keeps = || guards::keeps(view, claim, node).or_else(|| guards::keeps_for_rest(view, node));
    let free = !pods.is_empty() && settled && keeps().is_none();
    free.then_some(Mover { claim, node, pool, pods, for_money })
}

/// The nodes that are looked at for whether their pods can run for less.
fn watched<'v, 'a>(
    view: &'v View<'a>,
) -> impl Iterator<Item = (&'a Claim, &'a Node, &'a Pool)> + use<'v, 'a> {
    let claims = view.snapshot.claims.values().map(AsRef::as_ref);
    let claims = claims.filter(|claim| view.stands(claim) && view.decides_about(claim));
    claims.filter_map(|claim| {
        let (node, pool) = (view.node_of(&claim.name)?, view.snapshot.pools.get(&claim.pool)?);
        let watched = pool.consolidation == Consolidation::Underutilized && !pool.paused;
        watched.then_some((claim, node, &**pool))
    })
}

/// Whether there is a node that may not be looked at for what passes by itself: pods have just come to it or left it, or
/// one of them may not be evicted just now.
pub(super) fn is_restless(view: &View<'_>) -> bool {
    watched(view).any(|(claim, node, pool)| {
        empty::quiet_until(view, claim, node, pool).is_some_and(|until| until > view.now)
            || guards::keeps_for_now(view, node).is_some()
    })
}

/// When the next node will have been left alone for long enough to be looked at. Nodes that are disturbed one shortly
/// after the other are looked at together.
pub(super) fn look_again_at(view: &View<'_>) -> Option<Timestamp> {
    let settles = watched(view).filter_map(|(claim, node, pool)| {
        let until = empty::quiet_until(view, claim, node, pool)?;
        (until > view.now && view.keeping(&node.name).next().is_some()).then_some(until)
    });
    let together = view.now.saturating_add(SignedDuration::from_secs(1)).unwrap_or(Timestamp::MAX);
    settles.min().map(|first| first.max(together))
}

impl Mover<'_> {
    pub(super) fn price(&self) -> i64 {
        self.claim.price().micros()
    }

    /// What machines in its place cost while they start and it runs on, spread over the time within which that has to pay.
    /// They can be expected to serve no longer than it did: where pods come and go all the time, what has just been
    /// fitted to them would be fitted again and again.
    pub(super) fn start_up(&self, view: &View<'_>, cost: i64) -> i64 {
        let settings = &view.snapshot.settings;
        let age = view.now.duration_since(self.claim.created_at).as_secs();
        let (start, pays) = (settings.start_up.as_secs(), settings.pays_within.as_secs());
        let served = i64::try_from(pays).unwrap_or(i64::MAX).min(age).max(1);
        let spread = i128::from(cost) * i128::from(start) / i128::from(served);
        i64::try_from(spread).unwrap_or(i64::MAX)
    }

    /// What would be saved if its pods could be cut to measure and put on the machines that suit them best, less what that
    /// costs while these start and what the moves have to save.
    pub(super) fn hope(&self, view: &View<'_>) -> i64 {
        let waste = waste(view, self);
        let start_up = self.start_up(view, self.price().saturating_sub(waste));
        waste.saturating_sub(self.due().saturating_add(start_up))
    }

    /// What moving its pods has to save at least.
    pub(super) fn due(&self) -> i64 {
        let each = self.pool.min_savings_per_move.micros();
        each.saturating_mul(i64::try_from(self.pods.len()).unwrap_or(i64::MAX))
    }
}

/// How many nodes of each pool may still go: by its budgets, and for what it keeps.
pub(super) struct Quota<'v, 'a> {
    leave: Leave<'v, 'a>,
    spares: Spares<'v, 'a>,
}

impl<'v, 'a> Quota<'v, 'a> {
    pub(super) fn new(view: &'v View<'a>) -> Self {
        Self { leave: Leave::new(view), spares: Spares::new(view, &BTreeSet::new()) }
    }

    pub(super) fn allows(&self, mover: &Mover<'a>) -> bool {
        self.spares.needs(mover.pool, mover.claim, false).is_none()
            && self.leave.allows(mover.pool, DisruptionReason::Underutilized).is_ok()
    }

    /// Counts a node that is replaced, if budgets allow it; whether they do. Its pool does not get smaller for long.
    pub(super) fn replace(&mut self, mover: &Mover<'a>) -> bool {
        let allowed = self.leave.allows(mover.pool, DisruptionReason::Underutilized).is_ok();
        if allowed {
            self.leave.take(&mover.pool.name);
        }
        allowed
    }

    /// Whether it is worth its moves that a node goes, or too little of its pool is used in any case.
    pub(super) fn pays(&self, mover: &Mover<'a>) -> bool {
        mover.for_money && mover.price() > mover.due() || self.spares.is_below_floor(mover.pool)
    }

    pub(super) fn take(&mut self, mover: &Mover<'a>) {
        self.leave.take(&mover.pool.name);
        self.spares.take(&mover.pool.name, mover.claim, false);
    }
}

/// The part of a node's price that its pods would not cost if they could be cut to measure and put on the machines that
/// suit them best.
fn waste(view: &View<'_>, mover: &Mover<'_>) -> i64 {
    let mut asked = Resources::new();
    for pod in &mover.pods {
        asked.add(&pod.shape.requests);
    }
    let offers = view.snapshot.pools.values().flat_map(|pool| pool.instance_types.iter());
    let fractions = offers.filter_map(|kind| {
        let cheapest = kind.offerings.iter().map(|offering| offering.price.micros()).min()?;
        let share = asked.iter().map(|(name, amount)| permille(amount, kind.allocatable.get(name))).max()?;
        Some(cheapest.saturating_mul(share) / 1000)
    });
    mover.price().saturating_sub(fractions.min().unwrap_or(i64::MAX))
}

/// An amount in thousandths of what there is.
fn permille(amount: i64, there: i64) -> i64 {
    if amount <= 0 {
        0
    } else if there <= 0 {
        i64::MAX
    } else {
        amount.saturating_mul(1000) / there
    }
}
