use std::cmp::Ordering;

use super::amounts::Amounts;
use super::class::Class;
use super::decision::Target;
use super::place::Place;
use super::worth::Worth;

/// Which pods go where.
#[derive(Default)]
pub(super) struct Assignment {
    /// For each class the places of its pods, in their order.
    pub(super) spots: Vec<Vec<Spot>>,
    /// For each class how many pods have no place.
    pub(super) left: Vec<usize>,
}

/// Some pods of a class in one place.
#[derive(Clone)]
pub(super) struct Spot {
    pub(super) target: Target,
    pub(super) ready: bool,
    pub(super) count: usize,
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
pub(super) fn assign(classes: &[Class], kept: &[Vec<Spot>], places: &[&Place], worth: &Worth) -> Assignment {
    let first = try_to_assign(classes, kept, places, worth, Tactic::First);
    if first.stranded(classes) == 0 {
        return first;
    }
    let other = try_to_assign(classes, kept, places, worth, Tactic::Fullest);
    if other.stranded(classes) < first.stranded(classes) { other } else { first }
}

/// A place with what is still free there.
struct Open<'p> {
    place: &'p Place,
    free: Amounts,
    /// What that is worth.
    room: f64,
}

fn try_to_assign(
    classes: &[Class],
    kept: &[Vec<Spot>],
    places: &[&Place],
    worth: &Worth,
    tactic: Tactic,
) -> Assignment {
    let opened = places.iter().copied().map(|place| {
        let free = place.free.clone();
        Open { place, room: worth.measure(&free), free }
    });
    // A place too small for the smallest pod need not be looked at for each class.
    let smallest = smallest(classes);
    let has_room = |open: &Open<'_>| smallest.as_ref().is_some_and(|request| open.free.covers(request));
    let mut open: Vec<Open<'_>> = opened.filter(has_room).collect();
    open.sort_by(|a, b| a.place.precedence(b.place));
    let mut assignment = Assignment::default();
    for (class, kept) in classes.iter().zip(kept) {
        if let Tactic::Fullest = tactic {
            open.sort_by(Open::by_room);
        }
        let mut spots = kept.clone();
        let mut left = class.pods.len().saturating_sub(kept.iter().map(|spot| spot.count).sum());
        for Open { place, free, room } in &mut open {
            if left == 0 {
                break;
            }
            let planned = matches!(place.target, Target::Launch(_));
            if (planned && !class.may_launch()) || !place.admission.allows(class.constraint) {
                continue;
            }
            let count = free.times(&class.request, left);
            if count > 0 {
                free.take(&class.request, count);
                *room = worth.measure(free);
                left -= count;
                spots.push(Spot { target: place.target.clone(), ready: place.ready, count });
            }
        }
        if spots.len() > kept.len() {
            open.retain(has_room);
        }
        assignment.spots.push(spots);
        assignment.left.push(left);
    }
    assignment
}

/// What every class asks for at least.
fn smallest(classes: &[Class]) -> Option<Amounts> {
    let requests = classes.iter().map(|class| class.request.clone());
    requests.reduce(|mut least, request| {
        least.lower_to(&request);
        least
    })
}

impl Open<'_> {
    /// The fullest first, those that are ready before those that are not. Sorting keeps the order of equals.
    fn by_room(&self, other: &Self) -> Ordering {
        other.place.ready.cmp(&self.place.ready).then_with(|| self.room.total_cmp(&other.room))
    }
}

impl Assignment {
    /// How many pods have no place for which machines would be got.
    fn stranded(&self, classes: &[Class]) -> usize {
        self.to_launch_for(classes).into_iter().sum()
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
