//! Which pods have waited for long enough for machines to be got for them.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::candidate::Candidate;
use super::class::{Cause, Group};
use super::view::View;
use crate::model::{PodState, Pool};

/// Since when the first of the pods of each constraint has waited; none where some are there that need not wait.
pub(super) fn waiting(
    view: &View<'_>,
    groups: &[Group],
    constraints: &[usize],
) -> BTreeMap<usize, Option<Timestamp>> {
    let mut waiting: BTreeMap<usize, Option<Timestamp>> = BTreeMap::new();
    if view.snapshot.pools.values().all(|pool| pool.scale_up_window.is_zero()) {
        return waiting;
    }
    for (group, constraint) in groups.iter().zip(constraints) {
        let since = if group.cause == Cause::Pending { first(view, group) } else { None };
        waiting.entry(*constraint).and_modify(|known| *known = since.min(*known)).or_insert(since);
    }
    waiting
}

fn first(view: &View<'_>, group: &Group) -> Option<Timestamp> {
    let pods = group.pods.iter().filter_map(|pod| view.snapshot.pods.get(pod));
    let since = pods.filter_map(|pod| match pod.state {
        PodState::Waiting { since } | PodState::Unschedulable { since } => Some(since),
        PodState::Gated | PodState::Bound(_) => None,
    });
    since.min()
}

/// Until when pods that have waited since then wait for a pool.
pub(super) fn until(pool: &Pool, since: Timestamp) -> Option<Timestamp> {
    (!pool.scale_up_window.is_zero())
        .then(|| since.saturating_add(pool.scale_up_window).unwrap_or(Timestamp::MAX))
}

/// Keeps pods off machines that are not to be got for them yet, and all of them off those of pools of a fixed size. Says
/// when the first have waited for long enough.
pub(super) fn hold_back(
    candidates: &mut [Candidate<'_>],
    waiting: &BTreeMap<usize, Option<Timestamp>>,
    now: Timestamp,
) -> Option<Timestamp> {
    let mut ends: Option<Timestamp> = None;
    for candidate in candidates {
        let pool = candidate.pool;
        if pool.replicas.is_some() {
            candidate.admission.forbid(|_| true);
            continue;
        }
        let patience = |constraint: usize| {
            let since = waiting.get(&constraint).copied().flatten()?;
            until(pool, since).filter(|until| *until > now)
        };
        if !pool.scale_up_window.is_zero() {
            candidate.admission.forbid(|constraint| patience(constraint).is_some());
            ends =
                ends.into_iter().chain(waiting.keys().filter_map(|constraint| patience(*constraint))).min();
        }
    }
    ends
}
