use std::collections::BTreeMap;

use jiff::Timestamp;

use super::alternatives;
use super::assignment::Assignment;
use super::budget::Budget;
use super::candidate::Candidate;
use super::class::Class;
use super::decision::Target;
use super::minimum;
use super::place::Place;
use super::scene::Scene;

/// A launch in the making.
pub(super) struct Draft<'p, 'a> {
    pub(super) first: &'p Candidate<'a>,
    /// Other ways to get the machine, cheapest first.
    pub(super) others: Vec<&'p Candidate<'a>>,
    /// How many pods of each class go there.
    pub(super) load: Vec<(usize, usize)>,
}

/// Launches and what they lead to.
pub(super) struct Drafted<'p, 'a> {
    pub(super) drafts: Vec<Draft<'p, 'a>>,
    pub(super) assignment: Assignment,
    /// What could still be launched after them, were it not for their alternatives.
    pub(super) budget: Budget<'a>,
}

impl<'p, 'a> Draft<'p, 'a> {
    pub(super) fn new(first: &'p Candidate<'a>, load: Vec<(usize, usize)>) -> Self {
        Self { first, others: Vec::new(), load }
    }

    /// What is left on its machine beside its load.
    pub(super) fn place(&self, classes: &[Class], number: usize) -> Place {
        let mut free = self.first.free.clone();
        for (class, count) in &self.load {
            if let Some(class) = classes.get(*class) {
                free.take(&class.request, *count);
            }
        }
        Place {
            target: Target::Launch(number),
            admission: self.first.admission.clone(),
            free,
            ready: false,
            busy: false,
            since: Some(Timestamp::MAX),
            back_by: None,
        }
    }

    /// All ways to get the machine, best first.
    pub(super) fn ways(&self) -> impl Iterator<Item = &'p Candidate<'a>> {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }
}

/// How often to look whether the pods that have a place keep it once there is more room. Mostly once is enough.
const ROUNDS: usize = 4;

/// Chooses machines for the pods that have no place and then for the pools' minima.
///
/// What a machine was got for is its own from then on, but pods that have a place without one may spread to the room
/// that is left on it, here as in the next plan. That is played through here, so that the next plan finds nothing new.
pub(super) fn draft<'p, 'a>(scene: &'p Scene<'_, 'a>, mut budget: Budget<'a>) -> Drafted<'p, 'a> {
    let mut drafts: Vec<Draft<'p, 'a>> = Vec::new();
    let mut assignment = scene.assign(&drafts);
    for _ in 0..ROUNDS {
        let known = drafts.len();
        drafts.extend(scene.packer().pack(assignment.to_launch_for(&scene.classes), &mut budget));
        drafts.extend(minimum::missing(scene, &drafts, &mut budget));
        if drafts.len() == known {
            break;
        }
        assignment = scene.assign(&drafts);
    }
    for (draft, load) in drafts.iter_mut().zip(assignment.on_launches()) {
        draft.load = load;
    }
    alternatives::add(scene, &mut drafts, budget.clone());
    Drafted { drafts, assignment, budget }
}

impl Assignment {
    /// How many pods of each class go to each launch, in the order of the launches.
    fn on_launches(&self) -> impl Iterator<Item = Vec<(usize, usize)>> {
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
