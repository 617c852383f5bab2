use std::collections::BTreeMap;

use super::budget::Budget;
use super::candidate::Candidate;
use super::draft::Draft;
use super::optimise::holds;
use super::scene::Scene;

/// How many ways are looked at, cheapest first, of which some may be sold out or too large for a limit.
const ENOUGH: usize = 64;

/// Adds to each draft further ways to get its machine, so that an offering that is sold out does not hold the pods up.
/// Each way holds the draft's pods. They take only what all the first choices together leave of the limits.
pub(super) fn add<'p, 'a>(scene: &'p Scene<'_, 'a>, drafts: &mut [Draft<'p, 'a>], mut budget: Budget<'a>) {
    let most = scene.view.snapshot.settings.alternatives.saturating_sub(1);
    // Most drafts are one of few kinds.
    let mut known: BTreeMap<_, Vec<&'p Candidate<'a>>> = BTreeMap::new();
    for draft in drafts {
        let first = draft.first;
        let ways = known.entry((first.order(), draft.load.clone())).or_insert_with_key(|(_, load)| {
            // The machines of a pool are in the order of their prices.
            let before =
                |other: &Candidate<'_>| (other.pool_number, other.cost()) < (first.pool_number, first.cost());
            let from = scene.candidates.partition_point(before);
            let near = scene.candidates.get(from..).unwrap_or_default().iter();
            let near = near.take_while(|other| {
                other.pool_number == first.pool_number && within_ratio(scene, first, other)
            });
            let same = near.filter(|other| other.spot == first.spot && other.is_way_beside(first));
            same.filter(|other| holds(scene, other, load)).take(ENOUGH).collect()
        });
        let mut counted = draft.counted();
        let more = most.saturating_sub(draft.others.len());
        let new = ways.iter().copied().filter(|way| draft.ways().all(|had| had.order() != way.order()));
        let new = new.filter(|other| budget.had(other) && budget.widen(&mut counted, other));
        let new: Vec<_> = new.take(more).collect();
        draft.others.extend(new);
        draft.others.sort_by_key(|way| way.order());
    }
}

/// Other ways to get a machine that holds a load, of those that are wanted.
pub(super) fn of<'p, 'a>(
    scene: &'p Scene<'_, 'a>,
    first: &'p Candidate<'a>,
    load: &[(usize, usize)],
    wanted: impl Fn(&Candidate<'a>) -> bool,
) -> impl Iterator<Item = &'p Candidate<'a>> {
    let ways = scene.candidates.iter().filter(move |other| wanted(other) && other.is_way_beside(first));
    ways.filter(move |other| holds(scene, other, load))
}

fn within_ratio(scene: &Scene<'_, '_>, first: &Candidate<'_>, other: &Candidate<'_>) -> bool {
    let ratio = i128::from(scene.view.snapshot.settings.max_price_ratio_percent);
    i128::from(other.cost()) * 100 <= i128::from(first.cost()) * ratio.max(100)
}
