//! An order of classes and offers that depends on what they are and not on where they stand in the input, so that the
//! same pods and machines cost the same however a caller lists them.

use std::collections::{BTreeMap, BTreeSet};

use super::problem::{Class, Offer, Problem};
use super::{OfferSet, Pool};

/// A class without what does not matter: resources nobody asks for, and slots it takes nothing of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shape {
    pub(super) request: Vec<i64>,
    pub(super) slots: Vec<(usize, i64)>,
    pub(super) marks: Vec<usize>,
    pub(super) shuns: Vec<usize>,
}

/// Classes and offers in canonical order, as numbers of the input.
pub(super) struct Canonical<'p> {
    /// The resources that some pod asks for.
    pub(super) asked: Vec<usize>,
    pub(super) classes: Vec<(usize, Shape)>,
    pub(super) offers: Vec<(usize, Vec<i64>)>,
    /// The different sets of offers that classes may use, numbered.
    pub(super) choices: BTreeMap<&'p OfferSet, usize>,
    /// For each offer of the input a number that is the same for those that the same classes may use.
    pub(super) admission: Vec<usize>,
}

impl<'p> Canonical<'p> {
    pub(super) fn of(problem: &'p Problem) -> Self {
        let asked = asked(problem);
        let wanted = problem.classes.iter().enumerate().filter(|(_, class)| class.count > 0);
        let mut classes: Vec<(usize, Shape)> =
            wanted.map(|(number, class)| (number, shape(class, &asked))).collect();
        let capacities: Vec<Vec<i64>> = problem.offers.iter().map(|offer| capacity(offer, &asked)).collect();

        let sets: BTreeMap<&'p OfferSet, usize> =
            numbered(classes.iter().map(|(class, _)| &problem.classes[*class].offers));
        let looks = ranks(problem.offers.iter().zip(&capacities).map(|(offer, capacity)| {
            (
                offer.price,
                capacity,
                offer.available,
                &offer.counted,
                limits(problem, offer),
                store(problem, offer),
            )
        }));
        let looks = told_apart_by_stores(problem, looks);
        let kinds = ranks(sets.keys().map(|set| {
            let mut members: Vec<usize> = set.iter().filter_map(|offer| looks.get(offer).copied()).collect();
            members.sort_unstable();
            members
        }));
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); problem.offers.len()];
        let mut kinds_of: Vec<Vec<usize>> = users.clone();
        for (number, set) in sets.keys().enumerate() {
            for offer in set.iter().filter(|offer| *offer < looks.len()) {
                users[offer].push(number);
                kinds_of[offer].push(kinds[number]);
            }
        }
        for kinds in &mut kinds_of {
            kinds.sort_unstable();
        }

        let kind = |class: usize| sets.get(&problem.classes[class].offers).map(|set| kinds[*set]);
        classes.sort_by(|(a, a_shape), (b, b_shape)| {
            (b_shape, kind(*a), problem.classes[*a].count)
                .cmp(&(a_shape, kind(*b), problem.classes[*b].count))
                .then(problem.classes[*a].offers.cmp(&problem.classes[*b].offers))
        });
        let mut offers: Vec<(usize, Vec<i64>)> = capacities.into_iter().enumerate().collect();
        offers.sort_by(|(a, _), (b, _)| (looks[*a], &kinds_of[*a], *a).cmp(&(looks[*b], &kinds_of[*b], *b)));
        let admission = ranks(users.iter());
        Self { asked, classes, offers, choices: sets, admission }
    }
}

fn asked(problem: &Problem) -> Vec<usize> {
    let wanted = || problem.classes.iter().filter(|class| class.count > 0);
    let dims = wanted().map(|class| class.request.len()).max().unwrap_or(0);
    (0..dims)
        .filter(|dim| wanted().any(|class| class.request.get(*dim).is_some_and(|ask| *ask > 0)))
        .collect()
}

fn shape(class: &Class, asked: &[usize]) -> Shape {
    let request = asked.iter().map(|dim| class.request.get(*dim).map_or(0, |ask| *ask.max(&0))).collect();
    let mut slots: BTreeMap<usize, i64> = BTreeMap::new();
    for (slot, ask) in class.slots.iter().filter(|(_, ask)| *ask > 0) {
        let sum = slots.entry(*slot).or_default();
        *sum = sum.saturating_add(*ask);
    }
    let sorted = |numbers: &[usize]| numbers.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    Shape {
        request,
        slots: slots.into_iter().collect(),
        marks: sorted(&class.marks),
        shuns: sorted(&class.shuns),
    }
}

fn capacity(offer: &Offer, asked: &[usize]) -> Vec<i64> {
    asked.iter().map(|dim| offer.capacity.get(*dim).map_or(0, |there| *there.max(&0))).collect()
}

fn limits<'p>(problem: &'p Problem, offer: &Offer) -> Option<(Option<u32>, &'p [Option<i64>])> {
    problem.pools.get(offer.pool).map(|Pool { max_nodes, limits }| (*max_nodes, limits.as_slice()))
}

fn store<'p>(problem: &'p Problem, offer: &'p Offer) -> Option<(&'p [i64], &'p [i64])> {
    Some((problem.stores.get(offer.store?)?, &offer.takes))
}

/// Offers that look the same are not if other offers draw on their stores beside them.
fn told_apart_by_stores(problem: &Problem, looks: Vec<usize>) -> Vec<usize> {
    if problem.stores.is_empty() {
        return looks;
    }
    let mut drawing: Vec<Vec<usize>> = vec![Vec::new(); problem.stores.len()];
    for (offer, look) in problem.offers.iter().zip(&looks) {
        if let Some(drawing) = offer.store.and_then(|store| drawing.get_mut(store)) {
            drawing.push(*look);
        }
    }
    for looks in &mut drawing {
        looks.sort_unstable();
    }
    let beside = |offer: &Offer| offer.store.and_then(|store| drawing.get(store));
    ranks(looks.iter().zip(&problem.offers).map(|(look, offer)| (*look, beside(offer))))
}

/// Distinct things, numbered in their order.
pub(super) fn numbered<T: Ord>(things: impl Iterator<Item = T>) -> BTreeMap<T, usize> {
    let mut numbers: BTreeMap<T, usize> = things.map(|thing| (thing, 0)).collect();
    for (number, of) in numbers.values_mut().enumerate() {
        *of = number;
    }
    numbers
}

/// For each thing its place among the distinct ones.
fn ranks<T: Ord + Clone>(things: impl Iterator<Item = T> + Clone) -> Vec<usize> {
    let numbers = numbered(things.clone());
    things.filter_map(|thing| numbers.get(&thing).copied()).collect()
}
