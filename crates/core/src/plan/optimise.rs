use std::collections::{BTreeMap, BTreeSet};

use super::assignment::Assignment;
use super::budget::Budget;
use super::candidate::Candidate;
use super::choice::{Concessions, choices};
use super::class::Class;
use super::company;
use super::conflicts;
use super::draft::Draft;
use super::rules::Rule;
use super::scene::Scene;
use super::split::{Parcel, split};
use crate::model::Resources;
use crate::pack::{self, OfferSet, Options, Packing, Problem};

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
/// The room for pods that cannot share a node with others of their kind. It is more than a node can have pods.
const WHOLE_NODE: i64 = 1 << 20;

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
    let mut waiting = assignment.to_launch_for(&scene.classes);
    company::leave_out(scene, &mut waiting);
    let mut packed = Packed::default();
    while packed.drafts.is_empty() && waiting.iter().any(|left| *left > 0) {
        let turn = conflicts::next_turn(scene, &mut waiting);
        packed = pack_turn(scene, turn, assignment, budget, concessions, search);
    }
    packed
}

fn pack_turn<'p, 'a>(
    scene: &'p Scene<'_, 'a>,
    mut left: Vec<usize>,
    assignment: &Assignment,
    budget: &mut Budget<'a>,
    concessions: &mut Concessions,
    search: &mut dyn pack::Budget,
) -> Packed<'p, 'a> {
    let choices = choices(scene, &left, &assignment.tallies, budget, concessions);
    let mut all = Packed::default();
    let mut first = 0;
    for tier in scene.candidates.chunk_by(|a, b| a.pool.weight == b.pool.weight) {
        let numbers = first..first + tier.len();
        first = numbers.end;
        let in_tier = |offers: &OfferSet| offers.iter().filter(|number| numbers.contains(number)).collect();
        let choices: Vec<OfferSet> = choices.iter().map(in_tier).collect();
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
                concessions.bar(offer.pool_number, load.iter().map(|(class, _)| *class));
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

fn pack_tier(
    scene: &Scene<'_, '_>,
    choices: &[OfferSet],
    left: &[usize],
    assignment: &Assignment,
    budget: &Budget<'_>,
    search: &mut dyn pack::Budget,
) -> Tier {
    let parcels = split(scene, choices, left, assignment);
    let together = solve(scene, &parcels, budget, search);
    let priorities: BTreeSet<i32> = parcels
        .iter()
        .filter_map(|parcel| scene.classes.get(parcel.class))
        .map(|class| class.shape.priority)
        .collect();
    let short = together.left.iter().any(|left| *left > 0);
    let Some(highest) = priorities.last().filter(|_| short && priorities.len() > 1) else {
        return Tier { packing: together, parcels };
    };
    let of_highest: Vec<usize> = scene
        .classes
        .iter()
        .zip(left)
        .map(|(class, left)| if class.shape.priority == *highest { *left } else { 0 })
        .collect();
    let parcels = split(scene, choices, &of_highest, assignment);
    Tier { packing: solve(scene, &parcels, budget, search), parcels }
}

fn solve(
    scene: &Scene<'_, '_>,
    parcels: &[Parcel],
    budget: &Budget<'_>,
    search: &mut dyn pack::Budget,
) -> Packing {
    let problem = problem(scene, parcels, budget);
    let pods: usize = parcels.iter().map(|parcel| parcel.count).sum();
    let credit_permille = if pods < SMALL_BATCH { CREDIT } else { 0 };
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
    Problem {
        classes: classes.collect(),
        offers: scene
            .candidates
            .iter()
            .map(|offer| pack::Offer {
                capacity: resources.iter().map(|number| offer.free.get(*number).max(0)).collect(),
                price: u64::try_from(offer.cost()).unwrap_or(0),
                available: budget.in_stock(offer),
                pool: offer.pool_number,
                counted: counted(offer),
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
    }
}

/// What there is only so much of on every node: ports, and room for pods that do not share a node with each other.
struct Slots {
    /// By dimension.
    ports: BTreeMap<usize, usize>,
    /// By tally, for pods that are away from each other.
    apart: BTreeMap<usize, usize>,
    /// By tally and skew, for pods that are spread over nodes.
    spread: BTreeMap<(usize, u32), usize>,
    sizes: Vec<i64>,
}

impl Slots {
    fn of(scene: &Scene<'_, '_>, parcels: &[Parcel]) -> Self {
        let mut slots = Self {
            ports: BTreeMap::new(),
            apart: BTreeMap::new(),
            spread: BTreeMap::new(),
            sizes: Vec::new(),
        };
        let resources: BTreeSet<usize> = scene.dimensions.resources().map(|(number, _)| number).collect();
        for class in parcels.iter().filter_map(|parcel| scene.classes.get(parcel.class)) {
            for (dimension, _) in class.request.iter().filter(|(number, _)| !resources.contains(number)) {
                let size = scene.dimensions.bare(dimension);
                let sizes = &mut slots.sizes;
                slots.ports.entry(dimension).or_insert_with(|| next(sizes, size));
            }
            for rule in class.relations.rules.iter().filter(|rule| scene.is_of_one_node(rule)) {
                let sizes = &mut slots.sizes;
                match rule {
                    Rule::Away { tally, own: true } => {
                        slots.apart.entry(*tally).or_insert_with(|| next(sizes, WHOLE_NODE));
                    }
                    Rule::Spread { tally, max_skew, own: true, .. } => {
                        let size = i64::from(*max_skew);
                        slots.spread.entry((*tally, *max_skew)).or_insert_with(|| next(sizes, size));
                    }
                    _ => {}
                }
            }
        }
        slots
    }

    fn sizes(self) -> Vec<i64> {
        self.sizes
    }

    /// What a pod of a class takes of each slot.
    fn taken_by(&self, class: &Class) -> Vec<(usize, i64)> {
        let ports = class.request.iter();
        let ports = ports.filter_map(|(dimension, amount)| Some((*self.ports.get(&dimension)?, amount)));
        let rules = &class.relations.rules;
        let apart = class.relations.counted_in.iter().filter_map(|tally| {
            let whole = rules.contains(&Rule::Away { tally: *tally, own: true });
            Some((*self.apart.get(tally)?, if whole { WHOLE_NODE } else { 1 }))
        });
        let spread = rules.iter().filter_map(|rule| match rule {
            Rule::Spread { tally, max_skew, own: true, .. } => {
                Some((*self.spread.get(&(*tally, *max_skew))?, 1))
            }
            _ => None,
        });
        ports.chain(apart).chain(spread).collect()
    }
}

fn next(sizes: &mut Vec<i64>, size: i64) -> usize {
    sizes.push(size);
    sizes.len() - 1
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
