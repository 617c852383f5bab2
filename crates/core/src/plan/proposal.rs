//! Nodes that are to go to save money, what takes their place, and what that is worth.

use std::collections::{BTreeMap, BTreeSet};

use super::Trial;
use super::decision::{Disruption, Launch, Plan};
use super::mover::Mover;
use super::report::Report;
use super::view::View;
use super::{minimum, words};
use crate::model::{ClaimOffering, DisruptionReason, Pool};
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
    pub(super) gain: i64,
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

    /// What it is worth to have some nodes go, if it is worth anything.
    pub(super) fn weigh(view: &View<'_>, movers: &[Mover<'_>], going: &[Text], trial: Trial) -> Option<Self> {
        let Trial { launches, overflow, .. } = trial;
        let names: BTreeSet<&Text> = going.iter().collect();
        let movers = || movers.iter().filter(|mover| names.contains(&mover.claim.name));
        if !keeps_minimums(view, movers(), &launches) {
            return None;
        }
        let freed: i64 = movers().map(Mover::price).sum();
        let due: i64 = movers().filter(|mover| mover.for_money).map(Mover::due).sum();
        // Where too little of a pool is used, its nodes go also if they cost nothing.
        let wanted = movers().filter(|mover| !mover.for_money).count();
        let moves = movers().map(|mover| mover.pods.len()).sum();
        let first = launches.iter().filter_map(|launch| launch.offerings.first());
        let cost: i64 = first.map(|first| first.price.micros()).sum();
        let saves = freed.saturating_sub(cost);
        let costs = due.saturating_add(start_up(view, cost, movers()));
        let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
        let gain = saves.saturating_sub(costs).saturating_add(wanted);
        // A large plan saves so much that a machine more makes no difference, and a small one has to be sure.
        let pays = gain > overflow.worst;
        let (gain, claims) = (gain.saturating_sub(overflow.likely), going.to_vec());
        pays.then_some(Self { claims, launches, saves: Price::from_micros(saves), moves, gain })
    }

    /// The same without the ways to get its machines that would cost what it gains, so that it pays whichever is had;
    /// none if pools want more ways than are left.
    pub(super) fn whichever_way(mut self, view: &View<'_>, movers: &[Mover<'_>]) -> Option<Self> {
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
