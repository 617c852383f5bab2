use std::cmp::Ordering;

use super::admission::Admission;
use super::amounts::Amounts;
use super::class::{Cause, Class};
use super::decision::Target;
use super::keys::Domains;
use super::kin::count;
use super::place::Place;
use super::rules::ANY;
use super::tally::Tally;
use super::tenure;
use super::worth::Worth;

/// Which pods go where.
#[derive(Default)]
pub(super) struct Assignment {
    /// For each class the places of its pods, in their order.
    pub(super) spots: Vec<Vec<Spot>>,
    /// For each class how many pods have no place.
    pub(super) left: Vec<usize>,
    /// Who is where after that.
    pub(super) tallies: Vec<Tally>,
    /// What is still free where pods to whom it matters who else is where have no place yet.
    pub(super) rooms: Vec<Room>,
}

/// A place with what is free there.
pub(super) struct Room {
    pub(super) admission: Admission,
    pub(super) domains: Domains,
    pub(super) sees: Box<[bool]>,
    pub(super) free: Amounts,
    pub(super) ready: bool,
}

/// Some pods of a class in one place.
#[derive(Clone)]
pub(super) struct Spot {
    /// The number of the place.
    pub(super) place: usize,
    pub(super) target: Target,
    pub(super) ready: bool,
    pub(super) count: usize,
}

/// What is to be assigned to what.
pub(super) struct Stage<'s> {
    pub(super) classes: &'s [Class],
    /// The places that pods of each class have kept.
    pub(super) kept: &'s [Vec<Spot>],
    pub(super) places: &'s [&'s Place],
    /// Who is where already, those that have kept a place aside.
    pub(super) tallies: &'s [Tally],
    pub(super) worth: &'s Worth,
}

/// How a class chooses among the places that have room.
#[derive(Clone, Copy)]
enum Tactic {
    /// The first, which fills the nodes that stay anyway.
    First,
    /// The fullest, which keeps room for large pods.
    Fullest,
}

/// Gives as many pods as possible a place, beside those of each class that have kept one. Packing is hard and each
/// tactic has inputs on which it strands pods that another places, so more than one is tried and the first that strands
/// the least is taken.
pub(super) fn assign(stage: &Stage<'_>) -> Assignment {
    let first = stage.try_to_assign(Tactic::First);
    if first.stranded(stage.classes) == (0, 0, 0) {
        return first;
    }
    let other = stage.try_to_assign(Tactic::Fullest);
    if other.stranded(stage.classes) < first.stranded(stage.classes) { other } else { first }
}

/// A place with what is still free there.
pub(super) struct Open<'p> {
    pub(super) number: usize,
    pub(super) place: &'p Place,
    /// Which it is in the order of precedence.
    rank: usize,
    pub(super) free: Amounts,
    /// What that is worth.
    room: f64,
}

/// After how many places have taken pods those are sorted out that are full.
const MANY_FILLED: usize = 64;

/// How often pods that were promised a place are looked at again after some of them had to leave.
const REVIEWS: usize = 4;

impl<'s> Stage<'s> {
    fn try_to_assign(&self, tactic: Tactic) -> Assignment {
        let mut assignment = Assignment { tallies: self.tallies.to_vec(), ..Assignment::default() };
        for (class, kept) in self.classes.iter().zip(self.kept) {
            for spot in kept {
                self.count(&mut assignment.tallies, class, spot);
            }
        }
        // A place too small for the smallest pod need not be looked at for each class.
        let smallest = self.smallest();
        let (mut open, mut shut): (Vec<_>, Vec<_>) =
            self.open().into_iter().partition(|open| open.has_room_for(&smallest));
        let mut filled = 0;
        for (class, kept) in self.classes.iter().zip(self.kept) {
            let mut spots = kept.clone();
            let left = class.pods.len().saturating_sub(spots.iter().map(|spot| spot.count).sum());
            if left > 0 && matches!(tactic, Tactic::Fullest) {
                open.sort_by(Open::by_room);
            }
            let left = self.fill(class, left, &mut open, &mut spots, &mut assignment.tallies);
            filled += spots.len() - kept.len();
            if filled >= MANY_FILLED {
                shut.extend(open.extract_if(.., |open| !open.has_room_for(&smallest)));
                filled = 0;
            }
            assignment.spots.push(spots);
            assignment.left.push(left);
        }
        while self.follow(&mut open, &mut assignment) {}
        for _ in 0..REVIEWS {
            let leaving = tenure::review(self, &mut assignment);
            if leaving.is_empty() {
                break;
            }
            open.append(&mut shut);
            open.sort_by_key(|open| open.rank);
            for open in &mut open {
                self.take_back(open, leaving.get(&open.number).map_or(&[], Vec::as_slice));
            }
            while self.follow(&mut open, &mut assignment) {}
        }
        for spots in &mut assignment.spots {
            spots.retain(|spot| spot.count > 0);
        }
        let waits = |(class, left): (&Class, &usize)| *left > 0 && !class.relations.is_free();
        if self.classes.iter().zip(&assignment.left).any(waits) {
            assignment.rooms = open.into_iter().map(Open::into_room).collect();
        }
        assignment
    }

    /// Gives places to pods that had none as long as others were not where they are now: the scheduler tries again too
    /// whenever a pod has found its place. Says whether any did.
    fn follow(&self, open: &mut [Open<'_>], assignment: &mut Assignment) -> bool {
        let mut moved = false;
        let places = assignment.spots.iter_mut().zip(&mut assignment.left);
        for (class, (spots, left)) in self.classes.iter().zip(places) {
            if *left == 0 || class.relations.is_free() {
                continue;
            }
            let now = self.fill(class, *left, open, spots, &mut assignment.tallies);
            moved |= now < *left;
            *left = now;
        }
        moved
    }

    /// All places, in the order of precedence.
    pub(super) fn open(&self) -> Vec<Open<'s>> {
        let mut places: Vec<(usize, &'s Place)> = self.places.iter().copied().enumerate().collect();
        places.sort_by(|(_, a), (_, b)| a.precedence(b));
        let opened = places.into_iter().enumerate().map(|(rank, (number, place))| {
            let free = place.free.clone();
            Open { number, place, rank, room: self.worth.measure(&free), free }
        });
        opened.collect()
    }

    /// Makes the room free that pods of these classes leave.
    fn take_back(&self, open: &mut Open<'_>, leaving: &[usize]) {
        for class in leaving.iter().filter_map(|class| self.classes.get(*class)) {
            open.free.give(&class.request, 1);
        }
        open.room = self.worth.measure(&open.free);
    }

    /// Puts as many pods of a class as possible where there is room; how many are left.
    pub(super) fn fill(
        &self,
        class: &Class,
        left: usize,
        open: &mut [Open<'_>],
        spots: &mut Vec<Spot>,
        tallies: &mut [Tally],
    ) -> usize {
        if left == 0 {
            0
        } else if class.relations.is_free() {
            self.fill_in_order(class, left, open, spots, tallies)
        } else {
            self.fill_by_rules(class, left, open, spots, tallies)
        }
    }

    /// Puts pods wherever there is room, in the order of the places.
    fn fill_in_order(
        &self,
        class: &Class,
        mut left: usize,
        open: &mut [Open<'_>],
        spots: &mut Vec<Spot>,
        tallies: &mut [Tally],
    ) -> usize {
        for open in open {
            if left == 0 {
                break;
            }
            if open.admits(class) {
                left -= self.put(class, left, open, spots, tallies);
            }
        }
        left
    }

    /// The same for pods to whom it matters who else is where: they go where there are fewest of those that they are
    /// to be spread among.
    fn fill_by_rules(
        &self,
        class: &Class,
        mut left: usize,
        open: &mut [Open<'_>],
        spots: &mut Vec<Spot>,
        tallies: &mut [Tally],
    ) -> usize {
        let relations = &class.relations;
        let mut able: Vec<&mut Open<'_>> =
            open.iter_mut().filter(|open| open.admits(class) && open.free.covers(&class.request)).collect();
        while left > 0 {
            let survey = relations.survey(tallies);
            let fewest = relations.least_crowding(&survey);
            let mut best: Option<(u32, usize, usize)> = None;
            for (number, open) in able.iter().enumerate() {
                let crowding = relations.crowding(tallies, &open.place.domains);
                if best.is_some_and(|(least, ..)| least <= crowding) {
                    continue;
                }
                let room = relations.room(tallies, &survey, open.place.at());
                if room > 0 {
                    best = Some((crowding, number, room));
                    if crowding <= fewest {
                        break;
                    }
                }
            }
            let Some((_, number, room)) = best else { break };
            let Some(open) = able.get_mut(number) else { break };
            // One at a time where each makes a difference to the next.
            let most = if room == ANY { left } else { 1 };
            left -= self.put(class, most, open, spots, tallies);
            if !open.free.covers(&class.request) {
                able.remove(number);
            }
        }
        left
    }

    /// Puts as many pods in a place as fit, up to a number; how many did.
    fn put(
        &self,
        class: &Class,
        at_most: usize,
        open: &mut Open<'_>,
        spots: &mut Vec<Spot>,
        tallies: &mut [Tally],
    ) -> usize {
        let count = open.free.times(&class.request, at_most);
        if count > 0 {
            open.free.take(&class.request, count);
            open.room = self.worth.measure(&open.free);
            let (place, target, ready) = (open.number, open.place.target.clone(), open.place.ready);
            self.count(tallies, class, &Spot { place, target: target.clone(), ready, count });
            match spots.last_mut().filter(|spot| spot.place == place) {
                Some(spot) => spot.count += count,
                None => spots.push(Spot { place, target, ready, count }),
            }
        }
        count
    }

    fn count(&self, tallies: &mut [Tally], class: &Class, spot: &Spot) {
        if let Some(place) = self.places.get(spot.place) {
            let pods = u32::try_from(spot.count).unwrap_or(u32::MAX);
            count(tallies, &class.relations.counted_in, &place.domains, &place.sees, pods);
        }
    }

    /// What every class asks for at least.
    pub(super) fn smallest(&self) -> Vec<(usize, i64)> {
        let mut requests = self.classes.iter().map(|class| &class.request);
        let Some(first) = requests.next() else { return Vec::new() };
        let mut least: Vec<(usize, i64)> = first.iter().collect();
        for request in requests {
            for (dimension, amount) in &mut least {
                *amount = request.get(*dimension).min(*amount);
            }
        }
        least.retain(|(_, amount)| *amount > 0);
        least
    }
}

impl Open<'_> {
    fn into_room(self) -> Room {
        let Place { admission, domains, sees, ready, .. } = self.place;
        let (admission, domains, sees) = (admission.clone(), domains.clone(), sees.clone());
        Room { admission, domains, sees, free: self.free, ready: *ready }
    }

    /// The fullest first, those that are ready before those that are not. Sorting keeps the order of equals.
    fn by_room(&self, other: &Self) -> Ordering {
        other.place.ready.cmp(&self.place.ready).then_with(|| self.room.total_cmp(&other.room))
    }

    pub(super) fn has_room_for(&self, least: &[(usize, i64)]) -> bool {
        least.iter().all(|(dimension, amount)| self.free.get(*dimension) >= *amount)
    }

    fn admits(&self, class: &Class) -> bool {
        let planned = matches!(self.place.target, Target::Launch(_));
        (!planned || class.may_launch()) && self.place.admission.allows(class.constraint)
    }
}

impl Assignment {
    /// How many pods have no place: those that wait and would get machines, those whose node was decided to go and stays
    /// without, and those for whose sake machines would be got before their node is decided to go. A node that is to go as
    /// well must not take its places from those before it.
    fn stranded(&self, classes: &[Class]) -> (usize, usize, usize) {
        let (mut waiting, mut decided, mut proposed) = (0, 0, 0);
        for (class, _, left) in self.by_class(classes) {
            match class.cause {
                Cause::Moving { provided: true, .. } => decided += left,
                Cause::Moving { provided: false, .. } => proposed += left,
                _ if class.may_launch() => waiting += left,
                _ => {}
            }
        }
        (waiting, decided, proposed)
    }

    /// For each class how many pods machines have to be got for.
    pub(super) fn to_launch_for(&self, classes: &[Class]) -> Vec<usize> {
        let left = self.left.iter().zip(classes);
        left.map(|(left, class)| if class.may_launch() { *left } else { 0 }).collect()
    }

    /// Each class with where its pods go.
    pub(super) fn by_class<'c>(
        &self,
        classes: &'c [Class],
    ) -> impl Iterator<Item = (&'c Class, &[Spot], usize)> {
        let spots = self.spots.iter().zip(&self.left);
        classes.iter().zip(spots).map(|(class, (spots, left))| (class, spots.as_slice(), *left))
    }
}
