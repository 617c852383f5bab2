//! Why a node on which pods run is not given back, in words.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::leave::Leave;
use super::spare::Spares;
use super::view::View;
use super::{consolidate, empty, guards};
use crate::model::{Claim, Consolidation, DisruptionReason, Pool, Snapshot};

/// What keeps a node on which pods run from being given back to save money; none where the claim has no such node. Plans do
/// not tell that of every node, for it would take longer than planning.
pub fn why_kept(snapshot: &Snapshot, now: Timestamp, claim: &str) -> Option<String> {
    let view = View::new(snapshot, now);
    let claim = snapshot.claims.get(claim).filter(|claim| view.stands(claim))?;
    let node = view.node_of(&claim.name)?;
    view.keeping(&node.name).next()?;
    let Some(pool) = snapshot.pools.get(&claim.pool) else {
        return Some(format!("its pool {} is not there", claim.pool));
    };
    if !view.decides_about(claim) {
        return Some("Cluster Autoscaler decides whether it stays".to_owned());
    }
    if pool.paused {
        return Some("its pool is paused".to_owned());
    }
    if pool.replicas.is_some() {
        return Some("its pool has a fixed number of nodes".to_owned());
    }
    if pool.consolidation == Consolidation::Empty && pool.utilization.iter().all(|each| each.floor.is_none())
    {
        return Some("its pool gives back only nodes on which nothing runs".to_owned());
    }
    let unsettled = || match empty::quiet_until(&view, claim, node, pool) {
        None => Some("its pool never gives nodes back".to_owned()),
        Some(until) if until > now => {
            let seconds = until.duration_since(now).as_secs().max(1);
            Some(format!("pods have come or left lately; it is looked at in {seconds} s"))
        }
        Some(_) => None,
    };
    guards::keeps(&view, claim, node)
        .or_else(|| guards::keeps_for_rest(&view, node))
        .or_else(unsettled)
        .or_else(|| Leave::new(&view).allows(pool, DisruptionReason::Underutilized).err())
        .or_else(|| under_way(&view))
        .or_else(|| resting(&view))
        .or_else(|| Some(too_dear_elsewhere(&view, claim, pool)))
}

/// One plan of consolidation at a time, of whatever pools.
fn under_way(view: &View<'_>) -> Option<String> {
    let busy = consolidate::is_under_way(view);
    busy.then(|| "others are on their way out to save money; it is looked at when they are gone".to_owned())
}

/// After a plan of consolidation, its pods come to rest first.
fn resting(view: &View<'_>) -> Option<String> {
    let seconds = consolidate::rests_until(view)?.duration_since(view.now).as_secs().max(1);
    Some(format!(
        "pods have just been moved and come to rest first; it is looked at in {seconds} s at the latest"
    ))
}

/// What remains where nothing forbids that a node goes: that it would not save enough. Where its pool cannot do without a
/// node, only something cheaper in its place would.
fn too_dear_elsewhere(view: &View<'_>, claim: &Claim, pool: &Pool) -> String {
    if let Some(why) = Spares::new(view, &BTreeSet::new()).needs(pool, claim, false) {
        return format!("{why}, and nothing cheaper could take its place");
    }
    let kept_ready = pool.spare_nodes > 0 || !view.snapshot.reserves.is_empty();
    let beside = if kept_ready { " beside the room that is kept ready" } else { "" };
    format!("its pods could not run for less elsewhere{beside}, or moving them would save too little")
}
