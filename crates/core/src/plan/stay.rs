//! Why a node on which pods run is not given back, in words.

use jiff::Timestamp;

use super::leave::Leave;
use super::view::View;
use super::{empty, guards};
use crate::model::{Consolidation, DisruptionReason, Snapshot};

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
        .or_else(|| {
            Some("its pods could not run for less elsewhere, or moving them would save too little".to_owned())
        })
}
