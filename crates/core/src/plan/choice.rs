use std::collections::{BTreeMap, BTreeSet};

use super::amounts::Demand;
use super::budget::Budget;
use super::candidate::Candidate;
use super::class::Class;
use super::flexibility;
use super::scene::Scene;
use super::tally::Tally;
use crate::pack::OfferSet;

/// What has been found out so far about what cannot be had.
pub(super) struct Concessions {
    /// For each class how many of its wishes have been given up, those that count least first.
    wishes: Vec<usize>,
    /// Classes, pools and kinds of places of which the second cannot serve the first in the third with as many different
    /// machines as it wants.
    barred: BTreeSet<(usize, usize, usize)>,
}

impl Concessions {
    pub(super) fn none(scene: &Scene<'_, '_>) -> Self {
        Self { wishes: vec![0; scene.classes.len()], barred: BTreeSet::new() }
    }

    /// Gives up a wish of each class that has pods left; whether there was any.
    pub(super) fn concede(&mut self, scene: &Scene<'_, '_>, left: &[usize]) -> bool {
        let stuck = self.wishes.iter_mut().zip(&scene.wishes).zip(left).filter(|(_, left)| **left > 0);
        let mut any = false;
        for ((given_up, _), _) in stuck.filter(|((given_up, wishes), _)| **given_up < wishes.len()) {
            *given_up += 1;
            any = true;
        }
        any
    }

    /// Notes that the pool of a machine cannot serve these classes where the machine is.
    pub(super) fn bar(&mut self, machine: &Candidate<'_>, classes: impl IntoIterator<Item = usize>) {
        let place = (machine.pool_number, machine.spot);
        self.barred.extend(classes.into_iter().map(|class| (class, place.0, place.1)));
    }

    /// Lets pools try again, for what is launched may have changed what they can do.
    pub(super) fn reconsider(&mut self) {
        self.barred.clear();
    }

    pub(super) fn count(&self) -> usize {
        self.barred.len()
    }
}

/// For each class that has pods left the machines that it may be given, of those that can be had.
pub(super) fn choices<'s>(
    scene: &'s Scene<'_, '_>,
    left: &[usize],
    tallies: &[Tally],
    budget: &Budget<'_>,
    concessions: &Concessions,
) -> Vec<OfferSet> {
    let open: Vec<bool> = scene.candidates.iter().map(|each| budget.room(each, 1) > 0).collect();
    // Many classes ask for the same and differ only in what they have to do with others.
    let mut suitable: BTreeMap<(usize, &Demand), (Vec<usize>, OfferSet)> = BTreeMap::new();
    let demanding = scene.pools.iter().any(|pool| !pool.min_values.is_empty());
    let of_class = |(class, left): (&'s Class, &usize)| {
        if *left == 0 {
            return OfferSet::default();
        }
        let (suitable, as_set) = suitable.entry((class.constraint, &class.request)).or_insert_with(|| {
            let all = scene.candidates.iter().zip(&open).enumerate();
            let suitable = all.filter(|(_, (candidate, open))| **open && candidate.suits(class));
            let suitable: Vec<usize> = suitable.map(|(number, _)| number).collect();
            let as_set = suitable.iter().copied().collect();
            (suitable, as_set)
        });
        let wishes = scene.wishes.get(class.number).filter(|wishes| wishes.len() > 0);
        if concessions.barred.is_empty() && !demanding && wishes.is_none() {
            return as_set.clone();
        }
        let barred = |number: &usize| {
            let candidate = scene.candidates.get(*number);
            candidate
                .is_some_and(|each| concessions.barred.contains(&(class.number, each.pool_number, each.spot)))
        };
        let mut usable = suitable.clone();
        if !concessions.barred.is_empty() {
            usable.retain(|number| !barred(number));
        }
        let usable = flexibility::of_flexible_pools(scene, class, usable);
        let given_up = concessions.wishes.get(class.number).copied().unwrap_or(0);
        match wishes {
            Some(wishes) => wishes.choose(given_up, &scene.candidates, tallies, usable).into_iter().collect(),
            None => usable.into_iter().collect(),
        }
    };
    scene.classes.iter().zip(left).map(of_class).collect()
}
