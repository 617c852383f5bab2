//! What it may cost that the scheduler has a mind of its own.
//!
//! A plan packs pods as tightly as it can. The scheduler knows nothing of plans: it takes pods as they come and puts each
//! on the emptiest node. Where there is room to spare both come to the same. Where there is not, a pod is left over, a
//! machine has to be got for it, and what was to be saved is lost again. That is played through here, with the pods that
//! move in no particular order and with the small ones first, which is the worst for the large ones.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

use super::amounts::{Amounts, Demand};
use super::class::{Cause, Class};
use super::decision::Target;
use super::draft::Drafted;
use super::place::Place;
use super::scene::Scene;

/// What the machines cost, in millionths of a dollar per hour, that pods on the move may need beside those of the plan.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Overflow {
    /// When they come in no particular order.
    pub(super) likely: i64,
    /// When those come first that are worst for the others.
    pub(super) worst: i64,
}

/// Plays through where the pods that move may go; in the worst order only where it is to be certain.
pub(super) fn play(scene: &Scene<'_, '_>, drafted: &Drafted<'_, '_>, certain: bool) -> Overflow {
    let drafts = drafted.drafts.iter().enumerate();
    let launched: Vec<Place> = drafts.map(|(number, draft)| draft.place(scene, number)).collect();
    let places: Vec<&Place> = scene.places.iter().chain(&launched).collect();
    let mut scattered = Vec::new();
    let mut free: Vec<Amounts> = places.iter().map(|place| place.free.clone()).collect();
    for ((class, spots, left), kept) in drafted.assignment.by_class(&scene.classes).zip(&scene.kept) {
        for spot in spots.iter().skip(kept.len()) {
            let Some(free) = free.get_mut(spot.place) else { continue };
            match spot.target {
                // What is planned for a launch is taken from its room already.
                Target::Launch(_) if is_scattered(class) => free.give(&class.request, spot.count),
                Target::Launch(_) => {}
                _ if is_scattered(class) => {}
                _ => free.take(&class.request, spot.count),
            }
        }
        if is_scattered(class) {
            let kept: usize = kept.iter().map(|spot| spot.count).sum();
            let moving = class.pods.len().saturating_sub(left).saturating_sub(kept);
            scattered.extend(std::iter::repeat_n(class, moving));
        }
    }
    let come = |pods: &[&Class]| {
        let mut floor = Floor::new(scene, &places, free.clone());
        pods.iter().fold(0, |cost: i64, class| cost.saturating_add(floor.put(class)))
    };
    shuffle(&mut scattered);
    let likely = come(&scattered);
    if !certain {
        return Overflow { likely, worst: likely };
    }
    scattered.sort_by(|one, other| one.worth.total_cmp(&other.worth));
    Overflow { likely, worst: come(&scattered).max(likely) }
}

/// Whether the pods of a class move to wherever there is room. Those that have to do with others are taken to go where
/// they were planned.
fn is_scattered(class: &Class) -> bool {
    matches!(class.cause, Cause::Moving { .. }) && class.relations.is_free()
}

/// The nodes while pods come to them.
struct Floor<'f, 'a> {
    scene: &'f Scene<'f, 'a>,
    places: &'f [&'f Place],
    /// What is free in each place, and what that is worth.
    free: Vec<(Amounts, f64)>,
    /// For pods of each kind the places that may have room for them.
    lanes: BTreeMap<(usize, &'f Demand), BinaryHeap<Lure>>,
    /// What is free on the machines that had to be got, each with the number of its candidate.
    extra: Vec<(usize, Amounts)>,
}

impl<'f, 'a> Floor<'f, 'a> {
    fn new(scene: &'f Scene<'f, 'a>, places: &'f [&'f Place], free: Vec<Amounts>) -> Self {
        let measured = free.into_iter().map(|free| {
            let worth = scene.worth.measure(&free);
            (free, worth)
        });
        let free = measured.collect();
        Self { scene, places, free, lanes: BTreeMap::new(), extra: Vec::new() }
    }

    /// Puts a pod somewhere; what a machine costs that has to be got for it.
    fn put(&mut self, class: &'f Class) -> i64 {
        if self.put_on_emptiest(class) {
            return 0;
        }
        let candidates = &self.scene.candidates;
        let admits = |number: &usize| {
            candidates.get(*number).is_some_and(|machine| machine.admission.allows(class.constraint))
        };
        let got = self.extra.iter_mut().find(|(number, free)| admits(number) && free.covers(&class.request));
        if let Some((_, free)) = got {
            free.take(&class.request, 1);
            return 0;
        }
        let mut fitting = Vec::new();
        for (number, machine) in candidates.iter().enumerate() {
            if admits(&number) && machine.room.covers(&class.request) {
                fitting.push((number, machine));
            }
        }
        let Some((number, machine)) = fitting.into_iter().min_by_key(|(_, machine)| machine.offering.price)
        else {
            return i64::MAX;
        };
        let mut free = machine.room.clone();
        free.take(&class.request, 1);
        self.extra.push((number, free));
        machine.offering.price.micros()
    }

    fn put_on_emptiest(&mut self, class: &'f Class) -> bool {
        let Self { scene, places, free, lanes, .. } = self;
        let lane = lanes.entry((class.constraint, &class.request)).or_insert_with(|| {
            let all = places.iter().zip(free.iter()).enumerate();
            let open = all.filter(|(_, (place, (free, _)))| {
                place.admission.allows(class.constraint) && free.covers(&class.request)
            });
            open.map(|(place, (_, (_, worth)))| Lure { worth: *worth, place }).collect()
        });
        while let Some(lure) = lane.pop() {
            let Some((free, worth)) = free.get_mut(lure.place) else { continue };
            // Room only ever gets less, so what has too little for one pod has for no other of its kind.
            if !free.covers(&class.request) {
                continue;
            }
            let is_emptiest = lure.worth.total_cmp(worth) == Ordering::Equal;
            if is_emptiest {
                free.take(&class.request, 1);
                *worth = scene.worth.measure(free);
            }
            lane.push(Lure { worth: *worth, place: lure.place });
            if is_emptiest {
                return true;
            }
        }
        false
    }
}

/// How much a place attracts pods: the emptiest does most. It may have got less since.
struct Lure {
    worth: f64,
    place: usize,
}

impl Ord for Lure {
    fn cmp(&self, other: &Self) -> Ordering {
        self.worth.total_cmp(&other.worth).then_with(|| other.place.cmp(&self.place))
    }
}

impl PartialOrd for Lure {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Lure {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Lure {}

/// Brings them into an order that has nothing to do with what they are, the same one each time.
fn shuffle<T>(all: &mut [T]) {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    for end in (1..all.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let other = usize::try_from(state % (end as u64 + 1)).unwrap_or(0);
        all.swap(end, other);
    }
}
