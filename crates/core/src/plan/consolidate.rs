//! Whether the same pods could run for less.
//!
//! First it is found out which nodes (`mover`) can be cleared onto the others (`clearing`), which costs nothing but moves.
//! Then those that give least for their price are held against what their pods would cost on new machines, one of them and
//! ever more, and the best of these plans (`proposal`) is taken if it pays, also when pods go elsewhere than planned
//! (`scatter`). Whatever is taken was planned like any other plan.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::class::Cause;
use super::clearing::{Floor, Leaver};
use super::decision::Placement;
use super::mover::{self, Mover, Quota, movers};
use super::place::Place;
use super::proposal::Proposal;
use super::report::Reserved;
use super::scatter::Look;
use super::view::View;
use super::{Trial, try_out, with_groups};
use crate::Text;
use crate::model::{Decision, DisruptionReason, Recent, Snapshot};
use crate::pack::{Budget, Steps};

/// Whether nodes are being consolidated: one plan at a time, so that the next sees what came of it.
pub(super) fn is_under_way(view: &View<'_>) -> bool {
    let mut claims = view.snapshot.claims.values();
    claims.any(|claim| claim.disrupted == Some(DisruptionReason::Underutilized))
}

/// Until when the pods that the last such plan moved are given to come to rest, if they have not. Meanwhile nodes that have
/// just taken some may not be touched, nor those with pods of a budget that is used up: among the others there would be a
/// small plan to find, and then another, and another.
pub(super) fn rests_until(view: &View<'_>) -> Option<Timestamp> {
    let until = view.snapshot.recent.consolidated?.checked_add(Recent::SPAN).ok()?;
    (view.now < until && mover::is_restless(view)).then_some(until)
}

/// How often it is tried to leave pods where they are that would find no place when all move together.
const REVIEWS: usize = 4;

/// By how much the number of nodes grows that are tried to be replaced.
const MORE: usize = 4;

/// Nodes that could go, if it pays.
///
/// A node that pods are expected on is left alone, and room that is kept for others stays.
pub(super) fn propose(
    view: &View<'_>,
    expected: &[Placement],
    reserves: &[Reserved],
    search: &mut dyn Budget,
) -> Option<Proposal> {
    let expected = expected.iter().map(|placement| &placement.target).collect();
    let unreserved = reserves.iter().map(Reserved::missing).sum();
    let hunt = Hunt { view, movers: movers(view, &expected), unreserved };
    let (cleared, trial) = hunt.cleared()?;
    let by_replacing = hunt.by_replacing(&cleared, search);
    let by_clearing = hunt.by_clearing(cleared, trial);
    let best = [by_clearing, by_replacing].into_iter().flatten().max_by_key(|proposal| proposal.gain);
    best.filter(|best| !is_recent(view) || hunt.is_worth_another(best))
}

/// Whether it is not long since the last such plan.
fn is_recent(view: &View<'_>) -> bool {
    let span = SignedDuration::try_from(view.snapshot.settings.pays_within).unwrap_or(SignedDuration::MAX);
    view.snapshot.recent.consolidated.is_some_and(|ended| view.now.duration_since(ended) < span)
}

/// The part, in thousandths, of what the nodes of its pools cost that a plan has to save which follows soon on another. The scheduler puts pods
/// elsewhere than planned, so that there is nearly always a little to gain from moving some of them again: it is left until
/// it has become more, or some time has passed.
const WORTH_ANOTHER: i64 = 20;

/// The search for nodes that could go.
struct Hunt<'v, 'a> {
    view: &'v View<'a>,
    movers: Vec<Mover<'a>>,
    /// For how many pods that nobody has made there is no room as it is.
    unreserved: usize,
}

impl Hunt<'_, '_> {
    /// What comes of clearing nodes, of fewer of them where the room for their pods is too tight for that to pay.
    fn by_clearing(&self, mut cleared: Vec<Text>, mut trial: Trial) -> Option<Proposal> {
        loop {
            let proposal = self.weigh(&cleared, trial);
            if proposal.is_some() || cleared.len() < 2 {
                return proposal;
            }
            cleared.truncate(cleared.len() / 2);
            trial = self.try_out(&cleared, true, true, &mut Steps::new(0));
        }
    }

    /// The nodes whose pods all fit on others, and what comes of clearing them; none if no node may go at all.
    fn cleared(&self) -> Option<(Vec<Text>, Trial)> {
        if self.movers.is_empty() {
            return None;
        }
        let mut quota = Quota::new(self.view);
        // Those that stay in any case are there to take pods.
        let may_go = |mover: &&Mover<'_>| quota.pays(mover) && quota.allows(mover);
        let movers: Vec<&Mover<'_>> = self.movers.iter().filter(may_go).collect();
        let needy = movers.iter().flat_map(|mover| {
            let cause = Cause::Moving { claim: mover.claim.name.clone(), provided: true };
            mover.pods.iter().map(move |pod| (cause.clone(), *pod))
        });
        let leavers: Vec<Leaver> = movers
            .iter()
            .map(|mover| Leaver { claim: mover.claim.name.clone(), node: mover.node.name.clone() })
            .collect();
        let mut cleared = with_groups(self.view, needy.collect(), |scene, _| {
            let places: Vec<&Place> = scene.places.iter().collect();
            let mut floor = Floor::new(scene, &places, &leavers);
            let mut gone = Vec::new();
            for (mover, leaver) in movers.iter().zip(&leavers) {
                if quota.allows(mover) && quota.pays(mover) && floor.clear(leaver) {
                    quota.take(mover);
                    gone.push(mover.claim.name.clone());
                }
            }
            gone
        });
        let mut trial = self.try_out(&cleared, true, true, &mut Steps::new(0));
        for _ in 0..REVIEWS {
            if !cleared.iter().any(|claim| trial.lacking.contains(claim)) {
                break;
            }
            cleared.retain(|claim| !trial.lacking.contains(claim));
            trial = self.try_out(&cleared, true, true, &mut Steps::new(0));
        }
        Some((cleared, trial))
    }

    /// The best plan in which some nodes give way to new machines, beside those that were cleared.
    fn by_replacing(&self, cleared: &[Text], search: &mut dyn Budget) -> Option<Proposal> {
        let known: BTreeSet<&Text> = cleared.iter().collect();
        let mut quota = Quota::new(self.view);
        for mover in self.movers.iter().filter(|mover| known.contains(&mover.claim.name)) {
            quota.take(mover);
        }
        let rest = self.movers.iter().filter(|mover| mover.for_money && !known.contains(&mover.claim.name));
        let mut rest: Vec<(i64, &Mover<'_>)> = rest.map(|mover| (mover.hope(self.view), mover)).collect();
        rest.sort_by_key(|(hope, mover)| (Reverse(*hope), &mover.claim.name));
        rest.retain(|(hope, mover)| *hope > 0 && quota.replace(mover));
        let going = |count: usize| -> Vec<Text> {
            let replaced = rest.iter().take(count).map(|(_, mover)| &mover.claim.name);
            cleared.iter().chain(replaced).cloned().collect()
        };
        let mut best: Option<(i64, usize)> = None;
        let mut count = 1;
        while !rest.is_empty() {
            let count_now = count.min(rest.len());
            let going = going(count_now);
            let proposal = self.weigh(&going, self.try_out(&going, false, false, &mut Steps::new(0)));
            if let Some(proposal) = proposal
                && best.is_none_or(|(gain, _)| proposal.gain > gain)
            {
                best = Some((proposal.gain, count_now));
            }
            if count_now == rest.len() {
                break;
            }
            count *= MORE;
        }
        let going = going(best?.1);
        let searched = self.weigh(&going, self.try_out(&going, false, true, search));
        // What is packed more tightly may leave too little room for pods that go elsewhere than planned.
        let simple = || self.weigh(&going, self.try_out(&going, false, true, &mut Steps::new(0)));
        searched.or_else(simple)?.whichever_way(self.view, &self.movers)
    }

    /// Plans with some nodes on their way out; whether machines were got for their pods already, and whether it is looked
    /// closely.
    fn try_out(&self, going: &[Text], provided: bool, closely: bool, search: &mut dyn Budget) -> Trial {
        let look = if closely { Look::Close { going } } else { Look::Rough };
        try_out(&self.without(going, provided), self.view.now, look, search)
    }

    /// The cluster with some nodes on their way out.
    fn without(&self, going: &[Text], provided: bool) -> Snapshot {
        let mut snapshot = self.view.snapshot.clone();
        let claims = Arc::make_mut(&mut snapshot.claims);
        for name in going {
            if let Some(claim) = claims.get_mut(name) {
                let claim = Arc::make_mut(claim);
                claim.disrupted = Some(DisruptionReason::Underutilized);
                let decision =
                    || Decision { since: self.view.now, replacements: Vec::new(), message: "".into() };
                claim.decision = provided.then(decision);
            }
        }
        snapshot
    }

    /// Whether a plan that follows soon on another saves enough. Where too little of a pool is used it does not matter what
    /// it saves.
    fn is_worth_another(&self, proposal: &Proposal) -> bool {
        let names: BTreeSet<&Text> = proposal.claims.iter().collect();
        let going = || self.movers.iter().filter(|mover| names.contains(&mover.claim.name));
        let pools: BTreeSet<&Text> = going().map(|mover| &mover.pool.name).collect();
        let claims = self.view.snapshot.claims.values().filter(|claim| pools.contains(&claim.pool));
        let cost: i64 = claims.map(|claim| claim.price().micros()).sum();
        let least = cost.saturating_mul(WORTH_ANOTHER) / 1000;
        proposal.saves.micros() >= least || going().any(|mover| !mover.for_money)
    }

    fn weigh(&self, going: &[Text], trial: Trial) -> Option<Proposal> {
        let suits = trial.lacking.is_empty() && trial.unreserved <= self.unreserved;
        if suits { Proposal::weigh(self.view, &self.movers, going, trial) } else { None }
    }
}
