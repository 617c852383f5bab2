use std::collections::BTreeMap;

use super::assignment::Assignment;
use super::budget::Budget;
use super::candidate::Candidate;
use super::choice::{Concessions, choices};
use super::class::Cause;
use super::company;
use super::draft::Draft;
use super::scene::Scene;
use super::slots::Slots;
use super::split::{Parcel, split};
use crate::model::Resources;
use crate::pack::{self, OfferSet, Options, Packing, Problem};
use crate::stock::StoreName;

/// Machines for pods that fit nowhere, and how far from the least cost they can be at most.
#[derive(Default)]
pub(super) struct Packed<'p, 'a> {
    pub(super) drafts: Vec<Draft<'p, 'a>>,
    /// No way to place the same pods costs less, in millionths of a dollar per hour and prices weighed as the pools say, as
    /// far as only the machines themselves are in the way.
    pub(super) bound: u64,
}

/// Batches of fewer pods than this are packed with an eye to those that will follow: what they leave free will be used.
const SMALL_BATCH: usize = 50;
/// The part of its worth, in thousandths, that capacity is credited with that such a batch leaves free.
const CREDIT: u16 = 900;

/// Chooses machines for the pods that have no place. A pool of higher weight gets all that it can serve before others
/// are asked. While there is enough for all, priorities do not matter to what is cheapest; when there is not, those of
/// the highest priority are served, and the others once it is known what room is left beside them.
pub(super) fn pack<'p, 'a>(
    scene: &'p Scene<'_, 'a>,
    assignment: &Assignment,
    budget: &mut Budget<'a>,
    concessions: &mut Concessions,
    search: &mut dyn pack::Budget,
) -> Packed<'p, 'a> {
    let mut left = assignment.to_launch_for(&scene.classes);
    company::leave_out(scene, &mut left);
    let choices = choices(scene, &left, &assignment.tallies, budget, concessions);
    let mut all = Packed::default();
    let mut first = 0;
    for tier in scene.candidates.chunk_by(|a, b| a.pool.weight == b.pool.weight) {
        let numbers = first..first + tier.len();
        first = numbers.end;
        let choices: Vec<OfferSet> = choices.iter().map(|offers| offers.within(&numbers)).collect();
        let Tier { packing, parcels } = pack_tier(scene, &choices, &left, assignment, budget, search);
        for node in &packing.nodes {
            let Some(offer) = scene.candidates.get(node.offer) else { continue };
            let mut load: BTreeMap<usize, usize> = BTreeMap::new();
            for (parcel, count) in &node.fill {
                let Some(parcel) = parcels.get(*parcel) else { continue };
                *load.entry(parcel.class).or_default() += *count as usize;
            }
            let load: Vec<(usize, usize)> = load.into_iter().collect();
            // Pools of one provider share what it has, so there may be less than each of them was promised.
            let drafts =
                Draft::several(scene, offer, &load, node.repeat as usize, &assignment.tallies, budget);
            if drafts.is_empty() && budget.room(offer, 1) > 0 {
                concessions.bar(offer, load.iter().map(|(class, _)| *class));
            }
            for (class, count) in drafts.iter().flat_map(|draft| &draft.load) {
                if let Some(left) = left.get_mut(*class) {
                    *left = left.saturating_sub(*count);
                }
            }
            all.drafts.extend(drafts);
        }
        all.bound += packing.lower_bound;
        // What is where now matters to what is left.
        if !scene.tallies.is_empty() && !all.drafts.is_empty() {
            break;
        }
    }
    all
}

struct Tier {
    packing: Packing,
    parcels: Vec<Parcel>,
}

/// How often to ask for less where there is not enough for all.
const RETRIES: usize = 4;

fn pack_tier(
    scene: &Scene<'_, '_>,
    choices: &[OfferSet],
    left: &[usize],
    assignment: &Assignment,
    budget: &Budget<'_>,
    search: &mut dyn pack::Budget,
) -> Tier {
    let mut wanted = left.to_vec();
    let mut retries = 0..RETRIES;
    loop {
        let parcels = split(scene, choices, &wanted, assignment);
        let packing = solve(scene, &parcels, budget, search);
        let tier = Tier { packing, parcels };
        if retries.next().is_none() || !tier.ask_for_less(scene, &mut wanted) {
            return tier;
        }
    }
}

impl Tier {
    /// Where there is not enough for all, asks for no more than the pods of the highest priority, and then for no more of
    /// those that are spread than there is room for: in which zones they have to be depends on how many they are. Says
    /// whether that makes a difference.
    fn ask_for_less(&self, scene: &Scene<'_, '_>, wanted: &mut [usize]) -> bool {
        let mut lacking: BTreeMap<usize, usize> = BTreeMap::new();
        for (parcel, left) in self.parcels.iter().zip(&self.packing.left) {
            *lacking.entry(parcel.class).or_default() += *left as usize;
        }
        lacking.retain(|_, pods| *pods > 0);
        let priority = |class: &usize| scene.classes.get(*class).map(|class| class.shape.priority);
        let asked = || self.parcels.iter().map(|parcel| parcel.class);
        let highest = asked().filter_map(|class| priority(&class)).max();
        let before = wanted.to_vec();
        if lacking.is_empty() {
            return false;
        }
        if asked().any(|class| priority(&class) < highest) {
            for (_, wanted) in wanted.iter_mut().enumerate().filter(|(class, _)| priority(class) < highest) {
                *wanted = 0;
            }
            return true;
        }
        for (class, pods) in lacking {
            let spread = scene.classes.get(class).is_some_and(|class| class.relations.must_spread());
            if let Some(wanted) = wanted.get_mut(class).filter(|_| spread) {
                let asked =
                    self.parcels.iter().filter(|parcel| parcel.class == class).map(|parcel| parcel.count);
                *wanted = asked.sum::<usize>().saturating_sub(pods);
            }
        }
        before != wanted
    }
}

fn solve(
    scene: &Scene<'_, '_>,
    parcels: &[Parcel],
    budget: &Budget<'_>,
    search: &mut dyn pack::Budget,
) -> Packing {
    let problem = problem(scene, parcels, budget);
    let pods: usize = parcels.iter().map(|parcel| parcel.count).sum();
    // Pods that only move are no sign of others that will follow.
    let grows = parcels.iter().filter_map(|parcel| scene.classes.get(parcel.class));
    let grows = grows.map(|class| &class.cause).any(|cause| !matches!(cause, Cause::Moving { .. }));
    let credit_permille = if grows && pods < SMALL_BATCH { CREDIT } else { 0 };
    pack::solve(&problem, Options { credit_permille }, search)
}

fn problem(scene: &Scene<'_, '_>, parcels: &[Parcel], budget: &Budget<'_>) -> Problem {
    let resources: Vec<usize> = scene.dimensions.resources().map(|(number, _)| number).collect();
    let slots = Slots::of(scene, parcels);
    let classes = parcels.iter().filter_map(|parcel| {
        let class = scene.classes.get(parcel.class)?;
        Some(pack::Class {
            count: u32::try_from(parcel.count).unwrap_or(u32::MAX),
            request: resources.iter().map(|number| class.request.get(*number)).collect(),
            slots: slots.taken_by(class),
            marks: slots.breaks(class),
            shuns: slots.minds(class),
            offers: parcel.offers.clone(),
        })
    });
    let limits: Vec<Vec<(crate::Text, i64)>> =
        (0..scene.pools.len()).map(|pool| budget.limits_left(pool)).collect();
    let counted = |offer: &Candidate<'_>| -> Vec<i64> {
        let capacity: &Resources = &offer.instance_type.capacity;
        let limits = limits.get(offer.pool_number).into_iter().flatten();
        limits.map(|(name, _)| capacity.get(name).max(0)).collect()
    };
    let stores = budget.stores();
    Problem {
        classes: classes.collect(),
        offers: scene
            .candidates
            .iter()
            .map(|offer| {
                let (store, takes) = drawn(&stores, offer).unzip();
                pack::Offer {
                    capacity: resources.iter().map(|number| offer.free.get(*number).max(0)).collect(),
                    price: u64::try_from(offer.cost()).unwrap_or(0),
                    available: budget.in_stock(offer),
                    pool: offer.pool_number,
                    counted: counted(offer),
                    store,
                    takes: takes.unwrap_or_default(),
                }
            })
            .collect(),
        pools: (0..scene.pools.len())
            .zip(&limits)
            .map(|(pool, limits)| pack::Pool {
                max_nodes: budget.nodes_left(pool),
                limits: limits.iter().map(|(_, left)| Some((*left).max(0))).collect(),
            })
            .collect(),
        slots: slots.sizes(),
        stores: stores.iter().map(|(_, left)| left.iter().map(|(_, left)| left.max(0)).collect()).collect(),
    }
}

/// The number of the store that a machine is cut from, and what it takes of each amount that the store has.
fn drawn(stores: &[(StoreName<'_>, &Resources)], offer: &Candidate<'_>) -> Option<(usize, Vec<i64>)> {
    let draw = offer.offering.draws.as_ref()?;
    let name: StoreName<'_> = (&*offer.pool.provider, &*draw.from);
    let number = stores.binary_search_by_key(&name, |(name, _)| *name).ok()?;
    let (_, left) = stores.get(number)?;
    Some((number, left.iter().map(|(name, _)| draw.takes.get(name).max(0)).collect()))
}

/// Whether a machine holds a load.
pub(super) fn holds(scene: &Scene<'_, '_>, candidate: &Candidate<'_>, load: &[(usize, usize)]) -> bool {
    let mut free = candidate.room.clone();
    load.iter().all(|(class, count)| {
        scene.classes.get(*class).is_some_and(|class| {
            let fits =
                candidate.admission.allows(class.constraint) && free.times(&class.request, *count) >= *count;
            free.take(&class.request, *count);
            fits
        })
    })
}
