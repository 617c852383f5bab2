use super::assignment::{Assignment, Spot};
use super::budget::Budget;
use super::candidate::Candidate;
use super::decision::Target;
use super::pack::Packed;
use super::place::Place;
use super::scene::Scene;
use super::{alternatives, minimum, shrink};

/// A launch in the making: the ways to get its machine, best first.
#[derive(Clone)]
pub(super) struct Draft<'p, 'a> {
    pub(super) first: &'p Candidate<'a>,
    pub(super) others: Vec<&'p Candidate<'a>>,
}

/// Launches and what they lead to.
pub(super) struct Drafted<'p, 'a> {
    pub(super) drafts: Vec<Draft<'p, 'a>>,
    pub(super) assignment: Assignment,
    /// What could still be launched after them.
    pub(super) budget: Budget<'a>,
}

/// How often to look whether the pods really find their way into the machines chosen for them. Mostly once is enough.
const ROUNDS: usize = 6;

impl<'p, 'a> Draft<'p, 'a> {
    pub(super) fn new(first: &'p Candidate<'a>) -> Self {
        Self { first, others: Vec::new() }
    }

    pub(super) fn ways(&self) -> impl Iterator<Item = &'p Candidate<'a>> {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }

    /// The place that it will be: what every way to get the machine has, exactly as it will look once there is a claim.
    pub(super) fn place(&self, number: usize) -> Option<Place> {
        let place = |candidate: &Candidate<'_>| Place {
            target: Target::Launch(number),
            admission: candidate.admission.clone(),
            free: candidate.free.clone(),
            ready: false,
            busy: false,
            back_by: None,
        };
        self.ways().map(place).reduce(|mut place, other| {
            place.free.lower_to(&other.free);
            place.admission = place.admission.and(&other.admission);
            place
        })
    }
}

/// Chooses machines for the pods that have no place and for the pools' minima.
///
/// The packer says what to get. Where pods then go is not for the packer to say but for [`Scene::assign`], which will
/// be asked again in every later plan while the machines arrive: only what it agrees with is not planned twice.
pub(super) fn draft<'p, 'a>(scene: &'p Scene<'_, 'a>, base: &Budget<'a>) -> Drafted<'p, 'a> {
    let mut drafts: Vec<Draft<'p, 'a>> = Vec::new();
    let mut assignment = scene.assign(&drafts);
    for _ in 0..ROUNDS {
        let mut budget = base.less(&drafts);
        let packed = scene.packer().pack(assignment.to_launch_for(&scene.classes), &mut budget);
        eprintln!(
            "DBG drafts {} cost {} + {}",
            drafts.len(),
            drafts.iter().map(|d| d.first.cost()).sum::<i64>(),
            packed.len()
        );
        let known = drafts.len();
        drafts.extend(packed.iter().map(|packed| Draft::new(packed.choice)));
        drafts.extend(minimum::missing(scene, &drafts, &mut budget));
        let mut settled = drafts.len() == known;
        if settled {
            settled = !shrink::shrink(scene, &mut drafts, &mut assignment, &budget);
        } else {
            assignment = scene.assign(&drafts);
        }
        settled &= !shrink::prune(scene, &mut drafts, &mut assignment);
        if settled {
            return alternatives::add(scene, &drafts, assignment, budget);
        }
    }
    settle_for(scene, drafts, base)
}

/// Where the pods do not find their way by themselves, what the packer has in mind for those that are left is still a
/// valid plan.
fn settle_for<'p, 'a>(
    scene: &'p Scene<'_, 'a>,
    mut drafts: Vec<Draft<'p, 'a>>,
    base: &Budget<'a>,
) -> Drafted<'p, 'a> {
    let mut budget = base.less(&drafts);
    let mut assignment = scene.assign(&drafts);
    let packed = scene.packer().pack(assignment.to_launch_for(&scene.classes), &mut budget);
    assignment.follow(&packed, drafts.len());
    drafts.extend(packed.iter().map(|packed| Draft::new(packed.choice)));
    alternatives::add_equal(scene, &drafts, assignment, budget)
}

impl Assignment {
    /// Puts pods where the packer had in mind; its machines are numbered from the one given.
    fn follow(&mut self, packed: &[Packed<'_, '_>], from: usize) {
        for (number, packed) in packed.iter().enumerate() {
            for (class, count) in &packed.load {
                if let (Some(spots), Some(left)) = (self.spots.get_mut(*class), self.left.get_mut(*class)) {
                    spots.push(Spot { target: Target::Launch(from + number), ready: false, count: *count });
                    *left = left.saturating_sub(*count);
                }
            }
        }
    }
}

impl<'a> Budget<'a> {
    /// What some drafts leave, each counted as its first choice.
    fn less(&self, drafts: &[Draft<'_, 'a>]) -> Self {
        let mut left = self.clone();
        for draft in drafts {
            left.take(draft.first, 1);
        }
        left
    }
}
