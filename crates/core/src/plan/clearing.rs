//! Which nodes could be cleared onto the others, without any new machine.
//!
//! One node after another is tried: if all its pods find room elsewhere it goes, and its room with it; otherwise it stays,
//! and takes pods of others. A node that has taken pods stays too, so that no pod moves twice.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::assignment::{Open, Spot, Stage};
use super::class::{Cause, Class};
use super::decision::Target;
use super::kin::{count, uncount};
use super::place::{Place, count_new_node, uncount_new_node};
use super::scene::Scene;
use super::tally::Tally;
use crate::Text;

/// A node that may go.
pub(super) struct Leaver {
    pub(super) claim: Text,
    pub(super) node: Text,
}

/// The nodes as they are while some of them are cleared.
pub(super) struct Floor<'p> {
    stage: Stage<'p>,
    /// The nodes that take pods.
    open: Vec<Open<'p>>,
    tallies: Vec<Tally>,
    /// The places by the names of their nodes.
    places: BTreeMap<&'p Text, usize>,
    /// The classes of the pods on each claim's node.
    aboard: BTreeMap<&'p Text, Vec<&'p Class>>,
    /// The places that have taken pods.
    taken: BTreeSet<usize>,
    smallest: Vec<(usize, i64)>,
}

impl<'p> Floor<'p> {
    /// The pods on the nodes that may leave are to be the scene's classes.
    pub(super) fn new(scene: &'p Scene<'_, '_>, all: &'p [&'p Place], leavers: &[Leaver]) -> Self {
        let stage =
            Stage { classes: &scene.classes, kept: &[], places: all, tallies: &[], worth: &scene.worth };
        let nodes = all.iter().enumerate().filter_map(|(number, place)| match &place.target {
            Target::Node(node) if place.ready => Some((node, number)),
            _ => None,
        });
        let places: BTreeMap<&Text, usize> = nodes.collect();
        let mut aboard: BTreeMap<&Text, Vec<&Class>> = BTreeMap::new();
        for class in &scene.classes {
            if let Cause::Moving { claim, .. } = &class.cause {
                aboard.entry(claim).or_default().push(class);
            }
        }
        // Those that stay whatever happens take pods first, and then those that are tried last.
        let turns: BTreeMap<&Text, usize> =
            leavers.iter().enumerate().map(|(turn, leaver)| (&leaver.node, turn)).collect();
        let turn = |place: &Place| match &place.target {
            Target::Node(node) => turns.get(node).copied().unwrap_or(usize::MAX),
            Target::Claim(_) | Target::Launch(_) => 0,
        };
        let smallest = stage.smallest();
        let mut open = stage.open();
        open.retain(|open| open.place.ready && open.has_room_for(&smallest));
        open.sort_by_key(|open| Reverse(turn(open.place)));
        let tallies = scene.tallies.clone();
        let mut floor = Self { stage, open, tallies, places, aboard, taken: BTreeSet::new(), smallest };
        for leaver in leavers {
            if let Some((_, home)) = floor.home_of(leaver) {
                floor.count(&floor.pods_of(leaver), home);
            }
        }
        floor
    }

    fn home_of(&self, leaver: &Leaver) -> Option<(usize, &'p Place)> {
        let number = self.places.get(&leaver.node).copied()?;
        Some((number, self.stage.places.get(number).copied()?))
    }

    fn pods_of(&self, leaver: &Leaver) -> Vec<&'p Class> {
        self.aboard.get(&leaver.claim).cloned().unwrap_or_default()
    }

    /// Clears a node if all its pods find room elsewhere; whether they do.
    pub(super) fn clear(&mut self, leaver: &Leaver) -> bool {
        let Some((number, home)) = self.home_of(leaver).filter(|(number, _)| !self.taken.contains(number))
        else {
            return false;
        };
        let own =
            self.open.iter().position(|open| open.number == number).map(|index| self.open.remove(index));
        let aboard = self.pods_of(leaver);
        self.uncount(&aboard, home);
        uncount_new_node(&mut self.tallies, &home.domains, &home.sees);
        let mut spots: Vec<Vec<Spot>> = Vec::new();
        for class in &aboard {
            let mut found = Vec::new();
            let Self { stage, open, tallies, .. } = self;
            let left = stage.fill(class, class.pods.len(), open, &mut found, tallies);
            spots.push(found);
            if left > 0 {
                break;
            }
        }
        let placed: usize = spots.iter().flatten().map(|spot| spot.count).sum();
        if placed == aboard.iter().map(|class| class.pods.len()).sum::<usize>() {
            self.taken.extend(spots.iter().flatten().map(|spot| spot.place));
            let smallest = &self.smallest;
            self.open.retain(|open| open.has_room_for(smallest));
            return true;
        }
        for (class, spots) in aboard.iter().zip(&spots) {
            self.take_back(class, spots);
        }
        count_new_node(&mut self.tallies, &home.domains, &home.sees);
        self.count(&aboard, home);
        // Now that it stays it may as well be filled.
        if let Some(own) = own {
            self.open.insert(0, own);
        }
        false
    }

    fn count(&mut self, aboard: &[&Class], home: &Place) {
        for class in aboard {
            count(&mut self.tallies, &class.relations.counted_in, &home.domains, &home.sees, pods(class));
        }
    }

    fn uncount(&mut self, aboard: &[&Class], home: &Place) {
        for class in aboard {
            uncount(&mut self.tallies, &class.relations.counted_in, &home.domains, &home.sees, pods(class));
        }
    }

    fn take_back(&mut self, class: &Class, spots: &[Spot]) {
        for spot in spots {
            if let Some(open) = self.open.iter_mut().find(|open| open.number == spot.place) {
                open.free.give(&class.request, spot.count);
                let place = open.place;
                let count = u32::try_from(spot.count).unwrap_or(u32::MAX);
                uncount(&mut self.tallies, &class.relations.counted_in, &place.domains, &place.sees, count);
            }
        }
    }
}

fn pods(class: &Class) -> u32 {
    u32::try_from(class.pods.len()).unwrap_or(u32::MAX)
}
