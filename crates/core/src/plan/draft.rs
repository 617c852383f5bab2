use std::collections::BTreeMap;

use jiff::Timestamp;

use super::admission::Admission;
use super::alternatives;
use super::assignment::Assignment;
use super::budget::Budget;
use super::candidate::Candidate;
use super::choice::Concessions;
use super::company;
use super::decision::Target;
use super::flexibility;
use super::optimise::{self, Packed};
use super::place::Place;
use super::scene::Scene;
use super::sequence;
use super::spare;
use super::tally::Tally;
use crate::model::Resources;
use crate::pack;

/// How many pods of each class a machine takes.
pub(super) type Load = Vec<(usize, usize)>;

/// A launch in the making.
pub(super) struct Draft<'p, 'a> {
    pub(super) first: &'p Candidate<'a>,
    /// Other ways to get the machine, cheapest first.
    pub(super) others: Vec<&'p Candidate<'a>>,
    /// How many pods of each class go there.
    pub(super) load: Load,
}

/// Launches and what they lead to.
pub(super) struct Drafted<'p, 'a> {
    pub(super) drafts: Vec<Draft<'p, 'a>>,
    pub(super) assignment: Assignment,
    /// What could still be launched after them, were it not for their alternatives.
    pub(super) budget: Budget<'a>,
    /// What they cost, in millionths of a dollar per hour, prices weighed as the pools say.
    pub(super) cost: u64,
    /// No way to place the same pods costs less.
    pub(super) bound: u64,
}

impl<'p, 'a> Draft<'p, 'a> {
    /// Launches of a machine, up to a number, each with the same load. Where its pool wants several different ways for
    /// each launch they are part of it from the start, for the limits have to allow them all, and the load is cut to
    /// what all of them hold.
    pub(super) fn several(
        scene: &'p Scene<'_, 'a>,
        first: &'p Candidate<'a>,
        load: &[(usize, usize)],
        at_most: usize,
        tallies: &[Tally],
        budget: &mut Budget<'a>,
    ) -> Vec<Self> {
        let mut drafts = Vec::new();
        if first.pool.min_values.is_empty() {
            let count = budget.room(first, at_most);
            budget.take(first, count);
            drafts.extend((0..count).map(|_| Self { first, others: Vec::new(), load: load.to_vec() }));
            return drafts;
        }
        for _ in 0..budget.room(first, at_most) {
            let ways = |load: &[(usize, usize)]| {
                let mut classes = load.iter().filter_map(|(class, _)| scene.classes.get(*class));
                let tied = classes.any(|class| scene.is_tied(class));
                let had = alternatives::of(scene, first, load, |way| {
                    let indifferent = || !tied && scene.is_indifferent(tallies, first, way);
                    budget.had(way) && (first.spot == way.spot || indifferent())
                });
                flexibility::needed(first, had.collect::<Vec<_>>().into_iter())
            };
            let (load, Some(ways)) = flexibility::cut(load, ways) else { break };
            let mut after = budget.clone();
            after.take(first, 1);
            let mut counted = first.instance_type.capacity.clone();
            if !ways.iter().all(|way| after.widen(&mut counted, way)) {
                break;
            }
            *budget = after;
            drafts.push(Self { first, others: ways.into_iter().skip(1).collect(), load });
        }
        drafts
    }

    /// Takes out of its load the pods that could not stay.
    fn give_up_beyond(&mut self, load: &Load) {
        for (class, count) in &mut self.load {
            let there = load.iter().find(|(other, _)| other == class).map_or(0, |(_, there)| *there);
            *count = there.min(*count);
        }
        self.load.retain(|(_, count)| *count > 0);
    }

    /// What it counts for against limits.
    pub(super) fn counted(&self) -> Resources {
        self.ways().fold(Resources::new(), |mut most, way| {
            most.raise_to(&way.instance_type.capacity);
            most
        })
    }

    /// What is left on its machine beside its load.
    pub(super) fn place(&self, scene: &Scene<'_, 'a>, number: usize) -> Place {
        let (mut free, mut domains) = (self.first.room.clone(), self.first.domains.clone());
        for way in &self.others {
            free.lower_to(&way.room);
            domains.blur(&way.domains);
        }
        for (class, count) in &self.load {
            if let Some(class) = scene.classes.get(*class) {
                free.take(&class.request, *count);
            }
        }
        Place {
            target: Target::Launch(number),
            admission: Admission::of_all(self.ways().map(|way| &way.admission)),
            free,
            leaving: Vec::new(),
            ready: false,
            busy: false,
            since: Some(Timestamp::MAX),
            back_by: None,
            domains: scene.keys.of_launch(&domains, number),
            sees: self.first.sees.clone(),
        }
    }

    /// All ways to get the machine, best first.
    pub(super) fn ways(&self) -> impl Iterator<Item = &'p Candidate<'a>> {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }
}

/// How often to look whether the pods that have a place keep it once there is more room, to serve pods that others had
/// to come before, and to give up a wish. Mostly once is enough.
const ROUNDS: usize = 64;

/// Chooses machines for the pods that have no place and then for what the pools keep beside them.
///
/// What a machine was got for is its own from then on, but pods that have a place without one may spread to the room
/// that is left on it, here as in the next plan. That is played through here, so that the next plan finds nothing new.
pub(super) fn draft<'p, 'a>(
    scene: &'p Scene<'_, 'a>,
    mut budget: Budget<'a>,
    search: &mut dyn pack::Budget,
) -> Drafted<'p, 'a> {
    let mut drafts: Vec<Draft<'p, 'a>> = Vec::new();
    let mut assignment = scene.assign(&drafts);
    let mut concessions = Concessions::none(scene);
    let mut bound = 0;
    for _ in 0..ROUNDS {
        let known = (drafts.len(), concessions.count());
        let packed = next(scene, &assignment, drafts.len(), &mut budget, &mut concessions, search);
        bound = bound.max(packed.bound);
        drafts.extend(packed.drafts);
        if drafts.len() == known.0 {
            // Pods come first where there is not enough for all.
            drafts.extend(spare::missing(scene, &drafts, &assignment, &mut budget));
        }
        if drafts.len() != known.0 {
            concessions.reconsider();
            assignment = scene.assign(&drafts);
            for (draft, load) in drafts.iter_mut().zip(assignment.on_launches()) {
                draft.give_up_beyond(&load);
            }
            continue;
        }
        if concessions.count() != known.1 {
            continue;
        }
        if concessions.concede(scene, &assignment.to_launch_for(&scene.classes)) {
            continue;
        }
        if drafts.is_empty() {
            break;
        }
        // The next plan takes it from there that all who share a machine were promised it.
        let promised = settle(&mut drafts, &assignment);
        assignment = scene.assign(&drafts);
        if assignment.on_launches().take(drafts.len()).eq(promised) {
            break;
        }
    }
    settle(&mut drafts, &assignment);
    if spare::drop_idle(scene, &assignment, &mut drafts) {
        assignment = scene.assign(&drafts);
        settle(&mut drafts, &assignment);
    }
    let used = drafts.iter().filter(|draft| !draft.load.is_empty());
    let cost =
        used.fold(0, |sum: u64, draft| sum.saturating_add(u64::try_from(draft.first.cost()).unwrap_or(0)));
    alternatives::add(scene, &mut drafts, budget.clone());
    let launched: Vec<Place> =
        drafts.iter().enumerate().map(|(number, draft)| draft.place(scene, number)).collect();
    sequence::put_in_order(scene, &mut assignment, |spot| {
        let launch = spot.place.checked_sub(scene.places.len()).and_then(|number| launched.get(number));
        let place = scene.places.get(spot.place).or(launch)?;
        Some((&place.domains, &*place.sees))
    });
    Drafted { drafts, assignment, budget, cost, bound: bound.min(cost) }
}

/// Makes what ends up on each launch its load.
fn settle(drafts: &mut [Draft<'_, '_>], assignment: &Assignment) -> Vec<Load> {
    let loads: Vec<Load> = assignment.on_launches().take(drafts.len()).collect();
    for (draft, load) in drafts.iter_mut().zip(&loads) {
        draft.load.clone_from(load);
    }
    loads
}

/// The next machines: first those for pods that must share one, because nothing else will do for them.
fn next<'p, 'a>(
    scene: &'p Scene<'_, 'a>,
    assignment: &Assignment,
    launched: usize,
    budget: &mut Budget<'a>,
    concessions: &mut Concessions,
    search: &mut dyn pack::Budget,
) -> Packed<'p, 'a> {
    let together = company::pack(scene, assignment, launched, budget, concessions);
    if together.drafts.is_empty() {
        return optimise::pack(scene, assignment, budget, concessions, search);
    }
    together
}

impl Assignment {
    /// How many pods of each class go to each launch, in the order of the launches.
    fn on_launches(&self) -> impl Iterator<Item = Load> {
        let mut loads: BTreeMap<usize, BTreeMap<usize, usize>> = BTreeMap::new();
        for (class, spots) in self.spots.iter().enumerate() {
            for spot in spots {
                if let Target::Launch(number) = spot.target {
                    *loads.entry(number).or_default().entry(class).or_default() += spot.count;
                }
            }
        }
        (0..).map(move |number| loads.remove(&number).unwrap_or_default().into_iter().collect())
    }
}
