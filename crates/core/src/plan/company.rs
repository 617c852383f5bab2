use std::cmp::Ordering;

use super::assignment::Assignment;
use super::budget::Budget;
use super::candidate::Candidate;
use super::choice::{Concessions, choices};
use super::class::Class;
use super::draft::{Draft, Load};
use super::kin::{count, uncount};
use super::optimise::Packed;
use super::place::{count_new_node, uncount_new_node};
use super::rules::{ANY, At, Rule};
use super::scene::Scene;
use super::tally::Tally;
use super::worth::float;

/// How many ways to bring along those whom a pod must be with are tried.
const MOST_ESCORTS: usize = 8;

/// Leaves out the classes that must share a node with certain pods: only [`pack`] gets machines for them.
pub(super) fn leave_out(scene: &Scene<'_, '_>, left: &mut [usize]) {
    for (class, left) in scene.classes.iter().zip(left) {
        if with_on_node(scene, class).is_some() {
            *left = 0;
        }
    }
}

/// The tally of the pods that a class must share a node with, if any.
fn with_on_node(scene: &Scene<'_, '_>, class: &Class) -> Option<usize> {
    class.relations.rules.iter().find_map(|rule| match rule {
        Rule::With { tally, .. } if scene.is_of_one_node(rule) => Some(*tally),
        _ => None,
    })
}

/// Machines for pods that must share a node with others that have none either: each holds those whom they follow and as
/// many of them as have to be there. They are filled one by one, as the scheduler would, with all rules in force.
pub(super) fn pack<'p, 'a>(
    scene: &'p Scene<'_, 'a>,
    assignment: &Assignment,
    launched: usize,
    budget: &mut Budget<'a>,
    concessions: &mut Concessions,
) -> Packed<'p, 'a> {
    let left = assignment.to_launch_for(&scene.classes);
    let waits = |class: &&Class| left.get(class.number).is_some_and(|left| *left > 0);
    let followers: Vec<&'p Class> =
        scene.classes.iter().filter(|class| with_on_node(scene, class).is_some()).filter(waits).collect();
    let mut packed = Packed::default();
    if followers.is_empty() {
        return packed;
    }
    let tallies = assignment.tallies.clone();
    let mut party = Party { scene, followers: followers.clone(), left, tallies, number: launched };
    for seed in followers {
        let mut again: Option<Choice<'p, 'a>> = None;
        while party.left(seed) > 0 {
            let choice = again.take().or_else(|| party.best(seed, budget, concessions));
            let Some(choice) = choice else { break };
            let drafts = Draft::several(scene, choice.machine, &choice.load, 1, &party.tallies, budget);
            let Some(draft) = drafts.into_iter().next().filter(|draft| draft.load == choice.load) else {
                let classes = choice.load.iter().map(|(class, _)| *class);
                concessions.bar(choice.machine, classes);
                continue;
            };
            packed.drafts.push(draft);
            party.launch(&choice);
            // Where there is enough for one more like it, that is as good a choice again.
            again = party.repeat(seed, choice).filter(|same| budget.room(same.machine, 1) > 0);
        }
    }
    packed
}

/// Pods that are looking for machines to share.
struct Party<'p, 's, 'a> {
    scene: &'p Scene<'s, 'a>,
    /// Those that must share a node with others.
    followers: Vec<&'p Class>,
    left: Vec<usize>,
    tallies: Vec<Tally>,
    /// The number that the next launch has.
    number: usize,
}

/// A machine with what would go there.
struct Choice<'p, 'a> {
    machine: &'p Candidate<'a>,
    escort: Vec<&'p Class>,
    load: Load,
    /// What the pods are worth that have to be there.
    needed: f64,
    /// What one unit of worth costs.
    rate: f64,
}

impl Choice<'_, '_> {
    /// The better first: what has to be there is there, from the pool that is to be asked first, for less.
    fn rank(&self, other: &Self) -> Ordering {
        let weight = other.machine.pool.weight.cmp(&self.machine.pool.weight);
        other.needed.total_cmp(&self.needed).then(weight).then(self.rate.total_cmp(&other.rate))
    }
}

impl<'p, 'a> Party<'p, '_, 'a> {
    fn left(&self, class: &Class) -> usize {
        self.left.get(class.number).copied().unwrap_or(0)
    }

    /// The best machine for pods of a class and those that come along.
    fn best(
        &mut self,
        seed: &'p Class,
        budget: &Budget<'a>,
        concessions: &Concessions,
    ) -> Option<Choice<'p, 'a>> {
        let scene = self.scene;
        let escorts = self.escorts(seed, &mut Vec::new());
        let of_seed = |(class, left): (&Class, &usize)| if class.number == seed.number { *left } else { 0 };
        let left: Vec<usize> = scene.classes.iter().zip(&self.left).map(of_seed).collect();
        let offered = choices(scene, &left, &self.tallies, budget, concessions);
        let offered = offered.get(seed.number)?;
        let mut best: Option<Choice<'p, 'a>> = None;
        for escort in escorts {
            for machine in offered.iter().filter_map(|number| scene.candidates.get(number)) {
                let Some(choice) = self.try_on(machine, seed, &escort) else { continue };
                if best.as_ref().is_none_or(|best| choice.rank(best) == Ordering::Less) {
                    best = Some(choice);
                }
            }
        }
        best
    }

    /// The pods that have to be on a new node before one of the class can be there: one of each, those first that must
    /// come first.
    fn escorts(&self, class: &'p Class, coming: &mut Vec<usize>) -> Vec<Vec<&'p Class>> {
        let Some(tally) = with_on_node(self.scene, class) else { return vec![Vec::new()] };
        if class.relations.may_be_first(&self.tallies) {
            return vec![Vec::new()];
        }
        coming.push(class.number);
        let mut escorts = Vec::new();
        let leads = |leader: &&Class| leader.relations.counted_in.contains(&tally) && self.left(leader) > 0;
        for leader in self.scene.classes.iter().filter(leads) {
            if coming.contains(&leader.number) || escorts.len() >= MOST_ESCORTS {
                continue;
            }
            for mut escort in self.escorts(leader, coming) {
                escort.push(leader);
                escorts.push(escort);
            }
        }
        coming.pop();
        escorts.truncate(MOST_ESCORTS);
        escorts
    }

    /// What would go to a machine, if it has room for the escort and a pod of the class.
    fn try_on(
        &mut self,
        machine: &'p Candidate<'a>,
        seed: &'p Class,
        escort: &[&'p Class],
    ) -> Option<Choice<'p, 'a>> {
        let (load, needed) = self.fill(machine, seed, escort);
        load.iter().find(|(class, _)| *class == seed.number)?;
        let worth = |(class, count): &(usize, usize)| {
            let class = self.scene.classes.get(*class);
            class.map_or(0.0, |class| class.worth) * number(*count)
        };
        let rate = float(machine.cost()) / load.iter().map(worth).sum::<f64>().max(f64::MIN_POSITIVE);
        Some(Choice { machine, escort: escort.to_vec(), load, needed, rate })
    }

    /// Fills a machine and empties it again.
    fn fill(&mut self, machine: &Candidate<'_>, seed: &Class, escort: &[&Class]) -> (Load, f64) {
        let domains = self.scene.keys.of_launch(&machine.domains, self.number);
        let mut free = machine.free.clone();
        let mut load: Load = Vec::new();
        let mut needed = 0.0;
        count_new_node(&mut self.tallies, &domains, &machine.sees);
        let mut board = |party: &mut Self, class: &Class, at_most: usize| {
            let mut aboard = 0;
            let fits = if machine.admission.allows(class.constraint) { at_most } else { 0 };
            while aboard < fits {
                let survey = class.relations.survey(&party.tallies);
                let room =
                    class.relations.room(&party.tallies, &survey, At { domains: &domains, ready: false });
                let most = if room == ANY { fits - aboard } else { room.min(1) };
                let pods = free.times(&class.request, most);
                if pods == 0 {
                    break;
                }
                free.take(&class.request, pods);
                let counted = u32::try_from(pods).unwrap_or(u32::MAX);
                count(&mut party.tallies, &class.relations.counted_in, &domains, &machine.sees, counted);
                aboard += pods;
            }
            match load.iter_mut().find(|(number, _)| *number == class.number) {
                Some((_, count)) => *count += aboard,
                None if aboard > 0 => load.push((class.number, aboard)),
                None => {}
            }
            aboard
        };
        let escorted = escort.iter().all(|class| self.left(class) > 0 && board(self, class, 1) == 1);
        if escorted {
            let mut rest = Vec::new();
            let others = self.followers.clone().into_iter().filter(|other| other.number != seed.number);
            for class in std::iter::once(seed).chain(others) {
                let brought = escort.iter().filter(|other| other.number == class.number).count();
                let left = self.left(class).saturating_sub(brought);
                let share = self.share(class).min(left);
                let aboard = board(self, class, share);
                needed += class.worth * number(aboard);
                rest.push((class.number, left.saturating_sub(aboard)));
            }
            for (class, left) in rest {
                if let Some(class) = self.scene.classes.get(class) {
                    board(self, class, left);
                }
            }
        }
        for (class, pods) in &load {
            if let Some(class) = self.scene.classes.get(*class) {
                let counted = u32::try_from(*pods).unwrap_or(u32::MAX);
                uncount(&mut self.tallies, &class.relations.counted_in, &domains, &machine.sees, counted);
            }
        }
        uncount_new_node(&mut self.tallies, &domains, &machine.sees);
        load.sort_unstable();
        (if escorted { load } else { Load::new() }, needed)
    }

    /// How many pods of a class have to be on each machine, as those whom they follow will not be on more of them than
    /// there are. Those who are bound to others themselves will all be on one.
    fn share(&self, class: &Class) -> usize {
        let Some(tally) = with_on_node(self.scene, class) else { return 0 };
        let leads = |leader: &&Class| {
            leader.relations.counted_in.contains(&tally) && with_on_node(self.scene, leader).is_none()
        };
        let leaders: usize = self.scene.classes.iter().filter(leads).map(|leader| self.left(leader)).sum();
        self.left(class).div_ceil(leaders.max(1))
    }

    /// Counts the pods of a machine that is launched.
    fn launch(&mut self, choice: &Choice<'_, '_>) {
        let Candidate { domains, sees, .. } = choice.machine;
        let domains = self.scene.keys.of_launch(domains, self.number);
        count_new_node(&mut self.tallies, &domains, sees);
        for (number, pods) in &choice.load {
            let Some(class) = self.scene.classes.get(*number) else { continue };
            let counted = u32::try_from(*pods).unwrap_or(u32::MAX);
            count(&mut self.tallies, &class.relations.counted_in, &domains, sees, counted);
            if let Some(left) = self.left.get_mut(*number) {
                *left = left.saturating_sub(*pods);
            }
        }
        self.number += 1;
    }

    /// The same choice once more, if it would be the same.
    fn repeat(&mut self, seed: &'p Class, choice: Choice<'p, 'a>) -> Option<Choice<'p, 'a>> {
        let same = self.try_on(choice.machine, seed, &choice.escort)?;
        (same.load == choice.load).then_some(same)
    }
}

fn number(count: usize) -> f64 {
    float(i64::try_from(count).unwrap_or(i64::MAX))
}
