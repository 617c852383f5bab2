//! What it may cost that the scheduler has a mind of its own.
//!
//! A plan packs pods as tightly as it can. The scheduler knows nothing of plans: it takes pods as they come and puts each
//! on the emptiest node, or on the fullest where it was told to. Where there is room to spare all of that comes to the
//! same. Where there is not, a pod is left over, a machine has to be got for it, and what was to be saved is lost again;
//! and if that is likely, it is lost again and again. So it is played through here, with the pods that move in many orders.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::amounts::{Amounts, Demand};
use super::class::{Cause, Class};
use super::decision::Target;
use super::draft::Drafted;
use super::place::Place;
use super::scene::Scene;
use crate::Text;
use crate::dice::Dice;

/// In how many orders the pods of a small plan come, for each taste that the scheduler may have.
const ORDERS: usize = 32;
/// How many places may be looked at altogether when plans are played through in more than one order. A plan too large for
/// that saves so much that a machine more makes no difference.
const LOOKS: usize = 400_000;

/// What the machines cost, in millionths of a dollar per hour, that pods on the move may need beside those of the plan.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Overflow {
    /// On average.
    pub(super) likely: i64,
    /// When they come in the worst order that was tried.
    pub(super) worst: i64,
}

/// How closely a plan is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) enum Look<'a> {
    /// Whether it may be worth a closer look.
    Rough,
    /// Whether it is to be carried out.
    Close {
        /// The claims that are to go.
        going: &'a [Text],
    },
}

/// Which of the nodes with room the scheduler prefers.
#[derive(Clone, Copy, Debug)]
enum Taste {
    Emptiest,
    Fullest,
}

/// Plays through where the pods that move may go; in more than one order only where it is looked closely.
pub(super) fn play(scene: &Scene<'_, '_>, drafted: &Drafted<'_, '_>, look: Look<'_>) -> Overflow {
    let drafts = drafted.drafts.iter().enumerate();
    let launched: Vec<Place> = drafts.map(|(number, draft)| draft.place(scene, number)).collect();
    let places: Vec<&Place> = scene.places.iter().chain(&launched).collect();
    let (mut pods, free) = before_they_move(scene, drafted, &places);
    let hurried = match look {
        // Nodes that nothing is launched for go at once.
        Look::Close { going } if launched.is_empty() => classes_of(scene, going),
        Look::Close { .. } | Look::Rough => BTreeSet::new(),
    };
    let come = |pods: &[&Class], taste: Taste| {
        Floor::new(scene, &places, free.clone(), taste).take_in(pods, &hurried)
    };
    let mut dice = Dice::new();
    shuffle(&mut pods, &mut dice);
    let mut costs = vec![come(&pods, Taste::Emptiest)];
    if let Look::Close { .. } = look {
        let orders = (LOOKS / pods.len().saturating_mul(places.len()).max(1)).min(ORDERS);
        for _ in 0..orders {
            shuffle(&mut pods, &mut dice);
            costs.extend([Taste::Emptiest, Taste::Fullest].map(|taste| come(&pods, taste)));
        }
    }
    let total: i128 = costs.iter().map(|cost| i128::from(*cost)).sum();
    let likely = i64::try_from(total / i128::try_from(costs.len()).unwrap_or(1)).unwrap_or(i64::MAX);
    if let Look::Close { .. } = look {
        // Small ones first is the worst for the large ones.
        pods.sort_by(|one, other| one.worth.total_cmp(&other.worth));
        costs.push(come(&pods, Taste::Emptiest));
    }
    Overflow { likely, worst: costs.into_iter().max().unwrap_or(0) }
}

/// The pods that will look for a place by themselves, and the room there is when all others are where they were planned.
fn before_they_move<'s>(
    scene: &'s Scene<'_, '_>,
    drafted: &Drafted<'_, '_>,
    places: &[&Place],
) -> (Vec<&'s Class>, Vec<Amounts>) {
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
    (scattered, free)
}

/// Whether the pods of a class move to wherever there is room. Those that have to do with others are taken to go where
/// they were planned.
fn is_scattered(class: &Class) -> bool {
    matches!(class.cause, Cause::Moving { .. }) && class.relations.is_free()
}

/// The numbers of the classes whose pods are on the nodes of these claims.
fn classes_of(scene: &Scene<'_, '_>, claims: &[Text]) -> BTreeSet<usize> {
    let claims: BTreeSet<&Text> = claims.iter().collect();
    let moves =
        |class: &&Class| matches!(&class.cause, Cause::Moving { claim, .. } if claims.contains(claim));
    scene.classes.iter().filter(moves).map(|class| class.number).collect()
}

/// The nodes while pods come to them.
struct Floor<'f, 'a> {
    scene: &'f Scene<'f, 'a>,
    places: &'f [&'f Place],
    taste: Taste,
    /// Whether the machines that are on their way have come.
    complete: bool,
    /// What is free in each place, and what that is worth.
    free: Vec<(Amounts, f64)>,
    /// For pods of each kind the places that may have room for them.
    lanes: BTreeMap<(usize, &'f Demand), BinaryHeap<Lure>>,
    /// What is free on the machines that had to be got, each with the number of its candidate.
    extra: Vec<(usize, Amounts)>,
}

impl<'f, 'a> Floor<'f, 'a> {
    fn new(scene: &'f Scene<'f, 'a>, places: &'f [&'f Place], free: Vec<Amounts>, taste: Taste) -> Self {
        let measured = free.into_iter().map(|free| {
            let worth = scene.worth.measure(&free);
            (free, worth)
        });
        let free = measured.collect();
        Self { scene, places, taste, complete: false, free, lanes: BTreeMap::new(), extra: Vec::new() }
    }

    /// Takes pods in; what the machines cost that have to be got for them. Those whose nodes go at once come first, and
    /// only to nodes that take pods by then. What is planned on machines that are still on their way helps none of them.
    fn take_in(mut self, pods: &[&'f Class], hurried: &BTreeSet<usize>) -> i64 {
        let (at_once, mut later): (Vec<&Class>, Vec<&Class>) =
            pods.iter().partition(|class| hurried.contains(&class.number));
        let stranded = at_once.into_iter().filter(|class| !self.put(class));
        let mut all: Vec<&Class> = stranded.collect();
        all.append(&mut later);
        self.complete = true;
        self.lanes.clear();
        all.into_iter().fold(0, |cost: i64, class| cost.saturating_add(self.put_or_launch(class)))
    }

    /// Puts a pod where there is room for it; whether there is.
    fn put(&mut self, class: &'f Class) -> bool {
        match self.taste {
            Taste::Emptiest => self.put_on_emptiest(class),
            Taste::Fullest => self.put_on_fullest(class),
        }
    }

    /// Puts a pod somewhere; what a machine costs that has to be got for it.
    fn put_or_launch(&mut self, class: &'f Class) -> i64 {
        if self.put(class) {
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
        let Self { scene, places, complete, free, lanes, .. } = self;
        let lane = lanes.entry((class.constraint, &class.request)).or_insert_with(|| {
            let all = places.iter().zip(free.iter()).enumerate();
            let open = all.filter(|(_, (place, (free, _)))| {
                (*complete || place.ready)
                    && place.admission.allows(class.constraint)
                    && free.covers(&class.request)
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

    fn put_on_fullest(&mut self, class: &'f Class) -> bool {
        let Self { scene, places, complete, free, .. } = self;
        let open = places.iter().zip(free).filter(|(place, (free, _))| {
            (*complete || place.ready)
                && place.admission.allows(class.constraint)
                && free.covers(&class.request)
        });
        let fullest = open.map(|(_, room)| room).min_by(|(_, one), (_, other)| one.total_cmp(other));
        let Some((free, worth)) = fullest else { return false };
        free.take(&class.request, 1);
        *worth = scene.worth.measure(free);
        true
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

fn shuffle<T>(all: &mut [T], dice: &mut Dice) {
    for end in (1..all.len()).rev() {
        all.swap(end, dice.below(end + 1));
    }
}
