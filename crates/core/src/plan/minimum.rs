use super::budget::Budget;
use super::draft::Draft;
use super::scene::Scene;
use super::tally::Tally;
use super::view::{View, stays};
use crate::Text;
use crate::model::Pool;

/// The most nodes that one plan adds to restore a pool's minimum, which is the most that a pool may ask for.
const AT_ONCE: usize = 10_000;

/// How many nodes a pool has or will have, those that are on their way out aside.
pub(super) fn lasting(view: &View<'_>, pool: &Text) -> usize {
    view.claims_in(pool).filter(|claim| stays(claim)).count()
}

/// How many nodes a pool lacks when it gets so many.
pub(super) fn lacking(view: &View<'_>, pool: &Pool, gets: usize) -> usize {
    (pool.min_nodes as usize).saturating_sub(lasting(view, &pool.name)).saturating_sub(gets)
}

/// Takes out machines on which nobody is after all, as far as no pool needs them for its minimum; whether there were any.
pub(super) fn drop_idle(scene: &Scene<'_, '_>, drafts: &mut Vec<Draft<'_, '_>>) -> bool {
    let before = drafts.len();
    for (number, pool) in scene.pools.iter().enumerate() {
        let gets = |draft: &&Draft<'_, '_>| draft.first.pool_number == number;
        let used = drafts.iter().filter(gets).filter(|draft| !draft.load.is_empty()).count();
        let mut idle = lacking(scene.view, pool, used);
        drafts.retain(|draft| {
            let stays = draft.first.pool_number != number || !draft.load.is_empty() || idle > 0;
            idle -= usize::from(stays && draft.first.pool_number == number && draft.load.is_empty());
            stays
        });
    }
    drafts.len() < before
}

/// Machines for the pools that have too few, beside those that are got for pods.
pub(super) fn missing<'p, 'a>(
    scene: &'p Scene<'_, 'a>,
    drafts: &[Draft<'p, 'a>],
    tallies: &[Tally],
    budget: &mut Budget<'a>,
) -> Vec<Draft<'p, 'a>> {
    let mut more = Vec::new();
    for (number, pool) in scene.pools.iter().enumerate().filter(|(_, pool)| pool.min_nodes > 0) {
        let gets = drafts.iter().filter(|draft| draft.first.pool_number == number).count();
        let mut lacks = lacking(scene.view, pool, gets).min(AT_ONCE);
        // Candidates of a pool are in the order of their prices.
        for candidate in scene.candidates.iter().filter(|candidate| candidate.pool_number == number) {
            let got = Draft::several(scene, candidate, &[], lacks, tallies, budget);
            lacks -= got.len();
            more.extend(got);
        }
    }
    more
}
