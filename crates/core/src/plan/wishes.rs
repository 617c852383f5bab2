use std::cmp::Reverse;

use super::candidate::Candidate;
use super::class::Class;
use super::rules::Rule;
use super::tally::Tally;
use crate::model::{Effect, PodShape, Settings, Taint};

/// What a class would rather have of the machines that are got for it, what counts most first. Wishes choose among
/// machines that would all do: they never keep a pod pending, nor off a node that is there.
pub(super) struct Wishes(Vec<Wish>);

enum Wish {
    /// For each candidate whether it has what is wished for.
    Machine(Box<[bool]>),
    /// Pods that it would rather be with or away from.
    Pods(Rule),
}

/// A taint that only discourages counts more than anything that a pod may wish for, as it does to kube-scheduler.
const DISCOURAGED: i32 = i32::MAX;

impl Wishes {
    /// For each class what it would rather have.
    pub(super) fn of_all(classes: &[Class], candidates: &[Candidate<'_>], settings: &Settings) -> Vec<Self> {
        let discourages = candidates.iter().any(|each| each.pool.taints.iter().any(is_soft));
        let of_class = |class: &Class| {
            let heeded = settings.respects_preferences;
            if heeded { Self::of(class, candidates, discourages) } else { Self(Vec::new()) }
        };
        classes.iter().map(of_class).collect()
    }

    fn of(class: &Class, candidates: &[Candidate<'_>], discourages: bool) -> Self {
        let shape = &class.shape;
        let tells = |met: &[bool]| met.contains(&true) && met.contains(&false);
        let machine = |meets: &dyn Fn(&Candidate<'_>) -> bool| -> Option<Wish> {
            let met: Box<[bool]> = candidates.iter().map(meets).collect();
            tells(&met).then_some(Wish::Machine(met))
        };
        let mut weighed: Vec<(i32, Wish)> = Vec::new();
        if discourages {
            let welcome = machine(&|each| !discouraged(shape, &each.pool.taints));
            weighed.extend(welcome.map(|wish| (DISCOURAGED, wish)));
        }
        for preferred in &shape.node_preferences {
            let meets = |each: &Candidate<'_>| preferred.wish.check(&each.labels).is_ok();
            weighed.extend(machine(&meets).map(|wish| (preferred.weight, wish)));
        }
        let pods = class.relations.wishes.iter().filter(|wish| !matches!(wish.rule, Rule::Spread { .. }));
        weighed.extend(pods.map(|wish| (wish.weight, Wish::Pods(wish.rule.clone()))));
        weighed.sort_by_key(|(weight, _)| Reverse(*weight));
        Self(weighed.into_iter().map(|(_, wish)| wish).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The candidates that grant most of the wishes, so many of the least aside. A wish that none of them grants is
    /// given up, and the others are not.
    pub(super) fn choose(
        &self,
        given_up: usize,
        candidates: &[Candidate<'_>],
        tallies: &[Tally],
        mut among: Vec<usize>,
    ) -> Vec<usize> {
        for wish in self.0.iter().take(self.0.len().saturating_sub(given_up)) {
            let granted = among.iter().copied().filter(|number| match wish {
                Wish::Machine(met) => met.get(*number).copied().unwrap_or(false),
                Wish::Pods(rule) => {
                    candidates.get(*number).is_some_and(|each| rule.is_met(tallies, &each.domains))
                }
            });
            let granted: Vec<usize> = granted.collect();
            if !granted.is_empty() {
                among = granted;
            }
        }
        among
    }
}

fn is_soft(taint: &Taint) -> bool {
    taint.effect == Effect::PreferNoSchedule
}

fn discouraged(shape: &PodShape, taints: &[Taint]) -> bool {
    let mut soft = taints.iter().filter(|taint| is_soft(taint));
    soft.any(|taint| !shape.tolerations.iter().any(|toleration| toleration.tolerates(taint)))
}
