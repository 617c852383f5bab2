use super::view::{View, stays};
use crate::Text;
use crate::model::{Driver, Pool};

/// How many nodes a pool has or will have, those that are on their way out aside.
pub(super) fn lasting(view: &View<'_>, pool: &Text) -> usize {
    view.claims_in(pool).filter(|claim| stays(claim)).count()
}

/// How many nodes a pool lacks of its minimum when it gets so many. What others decide about lacks nothing.
pub(super) fn lacking(view: &View<'_>, pool: &Pool, gets: usize) -> usize {
    if pool.driver != Driver::Windlass {
        return 0;
    }
    (pool.min_nodes as usize).saturating_sub(lasting(view, &pool.name)).saturating_sub(gets)
}

/// How many nodes a pool lacks of its minimum until those that are on their way stand.
pub(super) fn awaits(view: &View<'_>, pool: &Pool) -> usize {
    let standing = view.claims_in(&pool.name).filter(|claim| view.stands(claim)).count();
    (pool.min_nodes as usize).saturating_sub(standing)
}
