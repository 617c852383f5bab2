use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::assignment::Assignment;
use super::decision::Target;
use super::leave::Leave;
use super::spare::{self, Spares};
use super::view::View;
use super::words;
use crate::Text;
use crate::model::{Claim, DisruptionReason, Node, Pool};

/// What is to become of a node that works.
pub(super) enum Verdict {
    /// It goes.
    Goes(String),
    /// It stays.
    Stays(String),
    /// It stays until then at least.
    StaysUntil(Timestamp, String),
}

/// Decides for all claims whose nodes stand which of them have been empty for long enough. Where a pool can do without only
/// some of them, the most expensive go.
pub(super) fn verdicts(view: &View<'_>, assignment: &Assignment) -> BTreeMap<Text, Verdict> {
    let expected = spare::expected(assignment);
    let standing = view.snapshot.claims.values();
    let standing = standing.filter(|claim| view.stands(claim) && view.decides_about(claim));
    let mut claims: Vec<&Claim> = standing.map(AsRef::as_ref).collect();
    claims.sort_by_key(|claim| (Reverse(claim.price()), &claim.name));
    let mut spares = Spares::new(view, &expected);
    let mut leave = Leave::new(view);
    let mut verdicts = BTreeMap::new();
    for claim in claims {
        let Some(node) = view.node_of(&claim.name) else {
            continue;
        };
        let mut verdict = verdict(view, claim, node, &spares, &expected);
        if let (Verdict::Goes(why), Some(pool)) = (&verdict, view.snapshot.pools.get(&claim.pool)) {
            match leave.allows(pool, DisruptionReason::Empty) {
                Ok(()) => {
                    leave.take(&pool.name);
                    spares.take(&pool.name, claim, true);
                }
                Err(budget) => {
                    let until = leave.changes_at(pool, DisruptionReason::Empty);
                    verdict = Verdict::held(format!("{why}, but {budget}"), until);
                }
            }
        }
        verdicts.insert(claim.name.clone(), verdict);
    }
    verdicts
}

impl Verdict {
    /// It stays, until a certain time at least where one is known.
    fn held(why: String, until: Option<Timestamp>) -> Self {
        match until {
            Some(at) => Self::StaysUntil(at, why),
            None => Self::Stays(why),
        }
    }
}

fn verdict(
    view: &View<'_>,
    claim: &Claim,
    node: &Node,
    spares: &Spares<'_, '_>,
    expected: &BTreeSet<&Target>,
) -> Verdict {
    let keep = view.keeping(&node.name).count();
    if keep > 0 {
        return Verdict::Stays(format!("runs {}", words::count(keep, "pod")));
    }
    if expected.contains(&Target::Node(node.name.clone())) {
        return Verdict::Stays("pods are expected on it".to_owned());
    }
    let Some(pool) = view.snapshot.pools.get(&claim.pool) else {
        return Verdict::Stays(format!(
            "empty, but its pool {} is not there to say for how long",
            claim.pool
        ));
    };
    if pool.paused {
        return Verdict::Stays("empty, but its pool is paused".to_owned());
    }
    if let Some(why) = spares.needs(pool, claim, true) {
        return Verdict::Stays(why);
    }
    empty(view, claim, node, pool)
}

fn empty(view: &View<'_>, claim: &Claim, node: &Node, pool: &Pool) -> Verdict {
    let Some(delay) = pool.consolidate_after else {
        return Verdict::Stays("empty, and its pool never gives nodes back".to_owned());
    };
    let Some(since) = quiet_since(view, claim, node) else {
        return Verdict::Stays("empty, since when is not known".to_owned());
    };
    let Some(goes_at) = quiet_until(view, claim, node, pool) else {
        return Verdict::Stays("empty, and its pool practically never gives nodes back".to_owned());
    };
    let empty = format!("empty for {} s", view.now.duration_since(since).as_secs().max(0));
    if let Some(until) = node.stays_until.filter(|until| *until > view.now) {
        let ends = Some(until).filter(|until| *until < Timestamp::MAX);
        return Verdict::held(format!("{empty}, but node {} is not to be disrupted", node.name), ends);
    }
    if view.now >= goes_at {
        return Verdict::Goes(empty);
    }
    Verdict::StaysUntil(goes_at, format!("{empty}, goes after {} s", delay.as_secs()))
}

/// Since when nothing has changed on a node, as far as is known.
fn quiet_since(view: &View<'_>, claim: &Claim, node: &Node) -> Option<Timestamp> {
    let changed = view.snapshot.last_pod_change.get(&node.name).copied();
    changed.into_iter().chain(claim.initialized_at).max()
}

/// When nothing will have changed on a node for as long as its pool wants before it is given back.
pub(super) fn quiet_until(view: &View<'_>, claim: &Claim, node: &Node, pool: &Pool) -> Option<Timestamp> {
    let delay = SignedDuration::try_from(pool.consolidate_after?).ok()?;
    quiet_since(view, claim, node)?.checked_add(delay).ok()
}
