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
    /// The largest, ready or not: the order in which machines are planned and arrive.
    Largest,
    /// The fullest, which keeps room for large pods.
    Fullest,
}

/// Gives as many pods as possible a place. Packing is hard and each tactic has inputs on which it strands pods that
/// another places, so more than one is tried and the first that strands the least is taken.
pub(super) fn assign(classes: &[Class], places: &[Place], worth: &Worth) -> Assignment {
    let mut best = try_to_assign(classes, places, worth, Tactic::First);
    for tactic in [Tactic::Largest, Tactic::Fullest] {
        let stranded = best.stranded(classes);
        if stranded == 0 {
            break;
        }
        let other = try_to_assign(classes, places, worth, tactic);
        if other.stranded(classes) < stranded {
            best = other;
        }
    }
    best
}

/// A place with what is still free there.
struct Open<'p> {
    place: &'p Place,
    free: Amounts,
    /// What that is worth.
    room: f64,
}

fn try_to_assign(classes: &[Class], places: &[Place], worth: &Worth, tactic: Tactic) -> Assignment {
    let opened = places.iter().map(|place| {
        let free = place.free.clone();
        Open { place, room: worth.measure(&free), free }
    });
    // A place too small for the smallest pod need not be looked at for each class.
    let smallest = smallest(classes);
    let has_room = |open: &Open<'_>| smallest.as_ref().is_some_and(|request| open.free.covers(request));
    let mut open: Vec<Open<'_>> = opened.filter(has_room).collect();
    open.sort_by(|a, b| match tactic {
        Tactic::First | Tactic::Fullest => a.place.precedence(b.place),
        Tactic::Largest => a.place.by_size(b.place),
    });
    let mut assignment = Assignment::default();
    for class in classes {
        if let Tactic::Fullest = tactic {
            open.sort_by(Open::by_room);
        }
        let mut left = class.pods.len();
        let mut spots = Vec::new();
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
        if !spots.is_empty() {
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
    pub(super) fn stranded(&self, classes: &[Class]) -> usize {
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

    /// How many pods of each class go to the planned launch of a number.
    pub(super) fn on_launches(&self, launches: usize) -> Vec<Vec<(usize, usize)>> {
        let mut loads = vec![Vec::new(); launches];
        for (class, spots) in self.spots.iter().enumerate() {
            for spot in spots {
                if let Target::Launch(number) = spot.target
                    && let Some(load) = loads.get_mut(number)
                {
                    load.push((class, spot.count));
                }
            }
        }
        loads
    }
}
