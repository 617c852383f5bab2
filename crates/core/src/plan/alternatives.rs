use std::collections::BTreeMap;

use super::assignment::Assignment;
use super::budget::Budget;
use super::candidate::Candidate;
use super::draft::{Draft, Drafted};
use super::scene::Scene;

/// Adds to each draft further ways to get its machine, so that one offering that is sold out does not hold the pods up.
/// Each way holds the draft's pods. Should the pods lose their way among machines of which less is known for sure, only
/// ways that are in every respect as good as the first are added.
pub(super) fn add<'p, 'a>(
    scene: &'p Scene<'_, 'a>,
    drafts: &[Draft<'p, 'a>],
    assignment: Assignment,
    budget: Budget<'a>,
) -> Drafted<'p, 'a> {
    let wide = widen(scene, drafts, &assignment, budget.clone(), |_, _| true);
    let next = scene.assign(&wide);
    let in_use = |assignment: &Assignment| {
        assignment.on_launches(drafts.len()).iter().map(Vec::is_empty).collect::<Vec<_>>()
    };
    if next.left == assignment.left && in_use(&next) == in_use(&assignment) {
        return Drafted { drafts: wide, assignment: next, budget };
    }
    add_equal(scene, drafts, assignment, budget)
}

/// Adds only ways that are as good as the first in every respect, so that nothing changes for any pod.
pub(super) fn add_equal<'p, 'a>(
    scene: &'p Scene<'_, 'a>,
    drafts: &[Draft<'p, 'a>],
    assignment: Assignment,
    budget: Budget<'a>,
) -> Drafted<'p, 'a> {
    let as_good = |first: &Candidate<'_>, other: &Candidate<'_>| {
        let mut least = first.free.clone();
        least.lower_to(&other.free);
        least == first.free && first.admission.and(&other.admission) == first.admission
    };
    let drafts = widen(scene, drafts, &assignment, budget.clone(), as_good);
    Drafted { drafts, assignment, budget }
}

fn widen<'p, 'a>(
    scene: &'p Scene<'_, 'a>,
    drafts: &[Draft<'p, 'a>],
    assignment: &Assignment,
    mut budget: Budget<'a>,
    suits: impl Fn(&Candidate<'_>, &Candidate<'_>) -> bool,
) -> Vec<Draft<'p, 'a>> {
    let more = scene.view.snapshot.settings.alternatives.saturating_sub(1);
    // Most drafts are one of few kinds.
    let mut known: BTreeMap<_, Vec<&'p Candidate<'a>>> = BTreeMap::new();
    let loads = assignment.on_launches(drafts.len());
    let widened = drafts.iter().zip(loads).map(|(draft, load)| {
        let first = draft.first;
        let ways = known.entry((first.order(), load)).or_insert_with_key(|(_, load)| {
            let others = scene.candidates.iter().filter(|other| {
                other.pool_number == first.pool_number
                    && other.order() > first.order()
                    && within_ratio(scene, first, other)
                    && scene.packer().holds(other, load)
                    && suits(first, other)
            });
            others.collect()
        });
        let mut counted = first.instance_type.capacity.clone();
        let had = ways.iter().copied().filter(|other| budget.had(other) && budget.widen(&mut counted, other));
        Draft { first, others: had.take(more).collect() }
    });
    widened.collect()
}

fn within_ratio(scene: &Scene<'_, '_>, first: &Candidate<'_>, other: &Candidate<'_>) -> bool {
    let ratio = i128::from(scene.view.snapshot.settings.max_price_ratio_percent);
    i128::from(other.cost()) * 100 <= i128::from(first.cost()) * ratio.max(100)
}
