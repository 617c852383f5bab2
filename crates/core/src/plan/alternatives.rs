use std::collections::BTreeMap;

use super::budget::Budget;
use super::candidate::Candidate;
use super::draft::Draft;
use super::scene::Scene;

/// Adds to each draft further ways to get its machine, so that an offering that is sold out does not hold the pods up.
/// Each way holds the draft's pods. They take only what all the first choices together leave of the limits.
pub(super) fn add<'p, 'a>(scene: &'p Scene<'_, 'a>, drafts: &mut [Draft<'p, 'a>], mut budget: Budget<'a>) {
    let more = scene.view.snapshot.settings.alternatives.saturating_sub(1);
    // Most drafts are one of few kinds.
    let mut known: BTreeMap<_, Vec<&'p Candidate<'a>>> = BTreeMap::new();
    for draft in drafts {
        let first = draft.first;
        let ways = known.entry((first.order(), draft.load.clone())).or_insert_with_key(|(_, load)| {
            let others = scene.candidates.iter().filter(|other| {
                other.pool_number == first.pool_number
                    && other.order() > first.order()
                    && within_ratio(scene, first, other)
                    && scene.packer().holds(other, load)
            });
            others.collect()
        });
        let mut counted = first.instance_type.capacity.clone();
        let had = ways.iter().copied().filter(|other| budget.had(other) && budget.widen(&mut counted, other));
        draft.others = had.take(more).collect();
    }
}

fn within_ratio(scene: &Scene<'_, '_>, first: &Candidate<'_>, other: &Candidate<'_>) -> bool {
    let ratio = i128::from(scene.view.snapshot.settings.max_price_ratio_percent);
    i128::from(other.cost()) * 100 <= i128::from(first.cost()) * ratio.max(100)
}
