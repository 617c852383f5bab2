//! What keeps a node from being disturbed for the sake of money or order.

use jiff::SignedDuration;

use super::view::View;
use super::volumes::{self, Attached};
use crate::model::{Claim, Node, Pod, PodBudget, PodId, PodOwner};

/// Why a node is to be left alone, if it is: it or a pod on it says so, or a pod would not be made anew elsewhere, could not
/// run there, or may not be evicted just now.
pub(super) fn keeps(view: &View<'_>, claim: &Claim, node: &Node) -> Option<String> {
    keeps_for_long(view, claim, node).or_else(|| keeps_for_now(view, node))
}

/// The same but for what passes by itself.
pub(super) fn keeps_for_long(view: &View<'_>, claim: &Claim, node: &Node) -> Option<String> {
    if node.stays_until.is_some_and(|until| until > view.now) {
        return Some(format!("node {} is not to be disrupted", node.name));
    }
    if view.snapshot.pools.get(&claim.pool).is_none() {
        return Some(format!("its pool {} is not there", claim.pool));
    }
    leaving(view, node).find_map(|pod| holds(view, pod))
}

/// Which pod of a node may not be evicted just now.
pub(super) fn keeps_for_now(view: &View<'_>, node: &Node) -> Option<String> {
    leaving(view, node).find_map(|pod| {
        let (id, _) = budgets_of(view, pod).find(|(_, budget)| budget.allowed == 0)?;
        Some(format!("PodDisruptionBudget {id} lets pod {} not go just now", pod.id))
    })
}

/// Which pod of a node came to it so lately that it is not to be moved again for the sake of money.
pub(super) fn keeps_for_rest(view: &View<'_>, node: &Node) -> Option<String> {
    let rest = SignedDuration::try_from(view.snapshot.settings.moves_apart).unwrap_or(SignedDuration::MAX);
    let restless = |pod: &&Pod| pod.bound_at.is_some_and(|at| view.now.duration_since(at) < rest);
    let pod = leaving(view, node).find(restless)?;
    Some(format!("pod {} came to it less than {} s ago", pod.id, rest.as_secs()))
}

/// The pods that would have to leave a node. One that is being deleted goes anyway.
fn leaving<'a>(view: &View<'a>, node: &Node) -> impl Iterator<Item = &'a Pod> {
    view.keeping(&node.name).filter(|pod| !pod.deleting)
}

fn budgets_of<'a>(view: &View<'a>, pod: &Pod) -> impl Iterator<Item = (&'a PodId, &'a PodBudget)> {
    let budgets = view.snapshot.pod_budgets.iter();
    budgets.filter(|(id, budget)| id.namespace == pod.id.namespace && budget.selector.matches(&pod.labels))
}

fn holds(view: &View<'_>, pod: &Pod) -> Option<String> {
    if pod.stays_until.is_some_and(|until| until > view.now) {
        return Some(format!("pod {} is not to be disrupted", pod.id));
    }
    if pod.shape.owner == PodOwner::Nobody && !pod.may_go {
        return Some(format!("pod {} has no controller that would make it anew", pod.id));
    }
    if pod.shape.foreign_scheduler {
        return Some(format!("another scheduler places pod {}", pod.id));
    }
    if !pod.volume_claims.is_empty()
        && let Err(why) = volumes::needs(view.snapshot, &Attached::new(), pod)
    {
        return Some(format!("pod {} could run nowhere else: {why}", pod.id));
    }
    // The API server evicts no such pod.
    let several = budgets_of(view, pod).nth(1).is_some();
    several.then(|| format!("pod {} has more than one PodDisruptionBudget", pod.id))
}
