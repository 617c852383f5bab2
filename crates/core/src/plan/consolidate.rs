//! Whether the same pods could run for less.
//!
//! First it is found out which nodes can be cleared onto the others (`clearing`), which costs nothing but moves. Then
//! those that give least for their price are held against what their pods would cost on new machines, one of them and
//! ever more, and the best of these plans is taken if it pays. Whatever is taken was planned like any other plan.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::class::Cause;
use super::clearing::{Floor, Leaver};
use super::decision::{Disruption, Launch, Placement, Plan, Target};
use super::leave::Leave;
use super::place::Place;
use super::report::{Report, Reserved};
use super::spare::Spares;
use super::view::View;
use super::{Trial, empty, guards, minimum, try_out, with_groups, words};
use crate::model::{
    Claim, ClaimOffering, Consolidation, Decision, DisruptionReason, Node, Pod, Pool, Resources, Snapshot,
};
use crate::pack::{Budget, Steps};
use crate::{Price, Text};

/// Nodes that are to go, and what takes their place.
pub(super) struct Proposal {
    pub(super) claims: Vec<Text>,
    pub(super) launches: Vec<Launch>,
    /// What is saved per hour.
    pub(super) saves: Price,
    /// How many pods move.
    pub(super) moves: usize,
    /// What is saved beyond what the moves have to be worth, in millionths of a dollar per hour.
    gain: i64,
}

/// Whether nodes are being consolidated: one plan at a time, so that the next sees what came of it.
pub(super) fn is_under_way(view: &View<'_>) -> bool {
    let mut claims = view.snapshot.claims.values();
    claims.any(|claim| claim.disrupted == Some(DisruptionReason::Underutilized))
}

impl Proposal {
    /// Makes it part of a plan.
    pub(super) fn write(self, view: &View<'_>, plan: &mut Plan, report: &mut Report) {
        let message = self.message();
        let first = plan.launches.len();
        plan.launches.extend(self.launches);
        let claims = self.claims.iter().filter_map(|name| view.snapshot.claims.get(name));
        plan.disruptions.push(Disruption {
            claims: claims.map(|claim| (claim.name.clone(), claim.uid.clone())).collect(),
            reason: DisruptionReason::Underutilized,
            replacements: (first..plan.launches.len()).collect(),
            message: message.clone(),
        });
        for node in report.nodes.iter_mut().filter(|node| self.claims.contains(&node.claim)) {
            node.goes = true;
            node.why.clone_from(&message);
        }
    }

    fn message(&self) -> String {
        let nodes = words::count(self.claims.len(), "node");
        let pods = words::count(self.moves, "pod");
        let onto = match self.launches.len() {
            0 => "to others".to_owned(),
            more => format!("to others and {}", words::count(more, "new node")),
        };
        format!("{pods} of {nodes} can move {onto}, which saves {}/h", self.saves)
    }
}

/// A node that may go.
struct Mover<'a> {
    claim: &'a Claim,
    node: &'a Node,
    pool: &'a Pool,
    pods: Vec<&'a Pod>,
    /// Whether it may go because that is cheaper, rather than only because too little of its pool is used.
    for_money: bool,
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
    let movers = movers(view, &expected);
    let unreserved = reserves.iter().map(Reserved::missing).sum();
    let (cleared, launches) = cleared(view, &movers, unreserved);
    let by_clearing = weigh(view, &movers, &cleared, launches);
    let by_replacing = replaced(view, &movers, &cleared, unreserved, search);
    let gain = |proposal: &Proposal| proposal.gain;
    [by_clearing, by_replacing].into_iter().flatten().max_by_key(gain)
}

/// The nodes that may go, those first that save most for each pod that moves.
fn movers<'a>(view: &View<'a>, expected: &BTreeSet<&Target>) -> Vec<Mover<'a>> {
    let claims = view.snapshot.claims.values().filter(|claim| view.stands(claim));
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

/// When the next node will have been left alone for long enough to be looked at. Nodes that are disturbed one shortly
/// after the other are looked at together.
pub(super) fn look_again_at(view: &View<'_>) -> Option<Timestamp> {
    let claims = view.snapshot.claims.values().filter(|claim| view.stands(claim));
    let settles = claims.filter_map(|claim| {
        let node = view.node_of(&claim.name)?;
        let pool = view.snapshot.pools.get(&claim.pool)?;
        let watched = pool.consolidation == Consolidation::Underutilized;
        let until = empty::quiet_until(view, claim, node, pool)?;
        (watched && until > view.now && view.keeping(&node.name).next().is_some()).then_some(until)
    });
    let together = view.now.saturating_add(SignedDuration::from_secs(1)).unwrap_or(Timestamp::MAX);
    settles.min().map(|first| first.max(together))
}

impl Mover<'_> {
    fn price(&self) -> i64 {
        self.claim.price().micros()
    }

    /// What machines in its place cost while they start and it runs on, spread over the time within which that has to pay.
    /// They can be expected to serve no longer than it did: where pods come and go all the time, what has just been
    /// fitted to them would be fitted again and again.
    fn start_up(&self, view: &View<'_>, cost: i64) -> i64 {
        let settings = &view.snapshot.settings;
        let age = view.now.duration_since(self.claim.created_at).as_secs();
        let (start, pays) = (settings.start_up.as_secs(), settings.pays_within.as_secs());
        let served = i64::try_from(pays).unwrap_or(i64::MAX).min(age).max(1);
        let spread = i128::from(cost) * i128::from(start) / i128::from(served);
        i64::try_from(spread).unwrap_or(i64::MAX)
    }

    /// What moving its pods has to save at least.
    fn due(&self) -> i64 {
        let each = self.pool.min_savings_per_move.micros();
        each.saturating_mul(i64::try_from(self.pods.len()).unwrap_or(i64::MAX))
    }
}

/// The nodes whose pods all fit on others, and what has to be launched nevertheless because of what pools keep ready.
fn cleared(view: &View<'_>, movers: &[Mover<'_>], unreserved: usize) -> (Vec<Text>, Vec<Launch>) {
    let mut quota = Quota::new(view);
    // Those that stay in any case are there to take pods.
    let may_go = |mover: &&Mover<'_>| quota.pays(mover) && quota.allows(mover);
    let movers: Vec<&Mover<'_>> = movers.iter().filter(may_go).collect();
    if movers.is_empty() {
        return Default::default();
    }
    let needy = movers.iter().flat_map(|mover| {
        let cause = Cause::Moving { claim: mover.claim.name.clone(), provided: true };
        mover.pods.iter().map(move |pod| (cause.clone(), *pod))
    });
    let leavers: Vec<Leaver> = movers
        .iter()
        .map(|mover| Leaver { claim: mover.claim.name.clone(), node: mover.node.name.clone() })
        .collect();
    let mut cleared = with_groups(view, needy.collect(), |scene, _| {
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
    let mut launches = Vec::new();
    for _ in 0..REVIEWS {
        let trial = try_out(&without(view, &cleared, true), view.now, true, &mut Steps::new(0));
        if trial.unreserved > unreserved {
            return Default::default();
        }
        launches = trial.launches;
        let before = cleared.len();
        cleared.retain(|claim| !trial.lacking.contains(claim));
        if cleared.len() == before {
            break;
        }
    }
    (cleared, launches)
}

/// How many nodes of each pool may still go: by its budgets, and for what it keeps.
struct Quota<'v, 'a> {
    leave: Leave<'v, 'a>,
    spares: Spares<'v, 'a>,
}

impl<'v, 'a> Quota<'v, 'a> {
    fn new(view: &'v View<'a>) -> Self {
        Self { leave: Leave::new(view), spares: Spares::new(view, &BTreeSet::new()) }
    }

    fn allows(&self, mover: &Mover<'a>) -> bool {
        self.spares.needs(mover.pool, mover.claim, false).is_none()
            && self.leave.allows(mover.pool, DisruptionReason::Underutilized).is_ok()
    }

    /// Whether it is worth its moves that a node goes, or too little of its pool is used in any case.
    fn pays(&self, mover: &Mover<'a>) -> bool {
        mover.for_money && mover.price() > mover.due() || self.spares.is_below_floor(mover.pool)
    }

    fn take(&mut self, mover: &Mover<'a>) {
        self.leave.take(&mover.pool.name);
        self.spares.take(&mover.pool.name, mover.claim, false);
    }
}

/// The cluster with some nodes on their way out; whether machines were got for their pods already.
fn without(view: &View<'_>, going: &[Text], provided: bool) -> Snapshot {
    let mut snapshot = view.snapshot.clone();
    let claims = Arc::make_mut(&mut snapshot.claims);
    for name in going {
        if let Some(claim) = claims.get_mut(name) {
            let claim = Arc::make_mut(claim);
            claim.disrupted = Some(DisruptionReason::Underutilized);
            let decision = || Decision { since: view.now, replacements: Vec::new(), message: "".into() };
            claim.decision = provided.then(decision);
        }
    }
    snapshot
}

/// The best plan in which some nodes give way to new machines, beside those that were cleared.
fn replaced(
    view: &View<'_>,
    movers: &[Mover<'_>],
    cleared: &[Text],
    unreserved: usize,
    search: &mut dyn Budget,
) -> Option<Proposal> {
    let suits = |trial: &Trial| trial.lacking.is_empty() && trial.unreserved <= unreserved;
    let known: BTreeSet<&Text> = cleared.iter().collect();
    let mut quota = Quota::new(view);
    for mover in movers.iter().filter(|mover| known.contains(&mover.claim.name)) {
        quota.take(mover);
    }
    let mut rest: Vec<(i64, &Mover<'_>)> = movers
        .iter()
        .filter(|mover| mover.for_money && !known.contains(&mover.claim.name))
        .map(|mover| {
            let waste = waste(view, mover);
            let due = mover.due().saturating_add(mover.start_up(view, mover.price().saturating_sub(waste)));
            (waste.saturating_sub(due), mover)
        })
        .filter(|(waste, _)| *waste > 0)
        .collect();
    rest.sort_by_key(|(waste, mover)| (Reverse(*waste), &mover.claim.name));
    let mut allowed = Vec::new();
    for (_, mover) in rest {
        // What is replaced does not make the pool smaller for long, but budgets count it.
        if quota.leave.allows(mover.pool, DisruptionReason::Underutilized).is_ok() {
            quota.leave.take(&mover.pool.name);
            allowed.push(mover.claim.name.clone());
        }
    }
    let going =
        |count: usize| -> Vec<Text> { cleared.iter().chain(allowed.iter().take(count)).cloned().collect() };
    let mut best: Option<(i64, usize)> = None;
    let mut count = 1;
    while !allowed.is_empty() {
        let count_now = count.min(allowed.len());
        let going = going(count_now);
        let trial = try_out(&without(view, &going, false), view.now, false, &mut Steps::new(0));
        let proposal = if suits(&trial) { weigh(view, movers, &going, trial.launches) } else { None };
        if let Some(proposal) = proposal
            && best.is_none_or(|(gain, _)| proposal.gain > gain)
        {
            best = Some((proposal.gain, count_now));
        }
        if count_now == allowed.len() {
            break;
        }
        count *= MORE;
    }
    let going = going(best?.1);
    let trial = try_out(&without(view, &going, false), view.now, true, search);
    let proposal = if suits(&trial) { weigh(view, movers, &going, trial.launches)? } else { return None };
    proposal.whichever_way(view, movers)
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

/// What it is worth to have some nodes go, if it is worth anything.
fn weigh(view: &View<'_>, movers: &[Mover<'_>], going: &[Text], launches: Vec<Launch>) -> Option<Proposal> {
    let names: BTreeSet<&Text> = going.iter().collect();
    let movers = || movers.iter().filter(|mover| names.contains(&mover.claim.name));
    let freed: i64 = movers().map(Mover::price).sum();
    let due: i64 = movers().filter(|mover| mover.for_money).map(Mover::due).sum();
    // Where too little of a pool is used, its nodes go also if they cost nothing.
    let wanted = movers().filter(|mover| !mover.for_money).count();
    let moves = movers().map(|mover| mover.pods.len()).sum();
    if !keeps_minimums(view, movers(), &launches) {
        return None;
    }
    let cost: i64 =
        launches.iter().filter_map(|launch| launch.offerings.first()).map(|first| first.price.micros()).sum();
    let saves = freed.saturating_sub(cost);
    let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
    let start_up = start_up(view, cost, movers());
    let gain = saves.saturating_sub(due).saturating_sub(start_up).saturating_add(wanted);
    let claims = going.to_vec();
    (gain > 0).then_some(Proposal { claims, launches, saves: Price::from_micros(saves), moves, gain })
}

impl Proposal {
    /// The same without the ways to get its machines that would cost what it gains, so that it pays whichever is had;
    /// none if pools want more ways than are left.
    fn whichever_way(mut self, view: &View<'_>, movers: &[Mover<'_>]) -> Option<Self> {
        let claims = std::mem::take(&mut self.claims);
        let going = || movers.iter().filter(|mover| claims.contains(&mover.claim.name));
        let spare = self.gain / i64::try_from(self.launches.len().max(1)).unwrap_or(i64::MAX);
        for launch in &mut self.launches {
            let first = launch.offerings.first().map_or(0, |first| first.price.micros());
            launch.offerings.retain(|way| {
                let more = way.price.micros().saturating_sub(first).max(0);
                more == 0 || more.saturating_add(start_up(view, more, going())) < spare
            });
            if !is_varied(view, launch) {
                return None;
            }
        }
        Some(Self { claims, ..self })
    }
}

/// Whether the ways to get a machine are as different as its pool wants.
fn is_varied(view: &View<'_>, launch: &Launch) -> bool {
    let value = |key: &Text, way: &ClaimOffering| {
        let kind = view.instance_type(&launch.pool, &way.key.instance_type)?;
        let offering = kind.offerings.iter().find(|offering| kind.key(offering) == way.key)?;
        kind.labels_with(offering).get(key).or_else(|| launch.labels.get(key)).cloned()
    };
    view.snapshot.pools.get(&launch.pool).is_some_and(|pool| {
        pool.min_values.iter().all(|(key, least)| {
            let values: BTreeSet<Text> = launch.offerings.iter().filter_map(|way| value(key, way)).collect();
            values.len() >= *least as usize
        })
    })
}

/// Whether every pool still has as many nodes as it keeps. New ones that make up for it are among the launches, unless
/// limits or providers stand against them.
fn keeps_minimums<'m, 'a: 'm>(
    view: &View<'_>,
    going: impl Iterator<Item = &'m Mover<'a>>,
    launches: &[Launch],
) -> bool {
    let mut leaving: BTreeMap<&Text, (&Pool, usize)> = BTreeMap::new();
    for mover in going {
        leaving.entry(&mover.pool.name).or_insert((mover.pool, 0)).1 += 1;
    }
    leaving.into_iter().all(|(name, (pool, leaving))| {
        let gets = launches.iter().filter(|launch| launch.pool == *name).count();
        minimum::lasting(view, name) + gets >= leaving + pool.min_nodes as usize
    })
}

/// What new machines cost while they start, each node that goes counting for as much of that as it costs itself.
fn start_up<'m, 'a: 'm>(view: &View<'_>, cost: i64, going: impl Iterator<Item = &'m Mover<'a>>) -> i64 {
    let (mut freed, mut spread) = (0_i128, 0_i128);
    for mover in going {
        freed += i128::from(mover.price());
        spread += i128::from(mover.start_up(view, mover.price()));
    }
    i64::try_from(i128::from(cost).saturating_mul(spread) / freed.max(1)).unwrap_or(i64::MAX)
}
