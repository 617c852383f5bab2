//! What keeps a node from being disturbed for the sake of money or order.

use super::view::View;
use super::volumes::{self, Attached};
use crate::model::{Claim, Node, Pod, PodOwner};

/// Why a node is to be left alone, if it is: it or a pod on it says so, or a pod would not be made anew elsewhere, could not
/// run there, or may not be evicted just now.
pub(super) fn keeps(view: &View<'_>, claim: &Claim, node: &Node) -> Option<String> {
    if node.stays_until.is_some_and(|until| until > view.now) {
        return Some(format!("node {} is not to be disrupted", node.name));
    }
    if view.snapshot.pools.get(&claim.pool).is_none() {
        return Some(format!("its pool {} is not there", claim.pool));
    }
    // A pod that is being deleted goes anyway.
    view.keeping(&node.name).filter(|pod| !pod.deleting).find_map(|pod| holds(view, pod))
}

fn holds(view: &View<'_>, pod: &Pod) -> Option<String> {
    if pod.stays_until.is_some_and(|until| until > view.now) {
        return Some(format!("pod {} is not to be disrupted", pod.id));
    }
    if pod.shape.owner == PodOwner::Nobody {
        return Some(format!("pod {} has no controller that would make it anew", pod.id));
    }
    if pod.shape.foreign_scheduler {
        return Some(format!("another scheduler places pod {}", pod.id));
    }
    if let Err(why) = volumes::needs(view.snapshot, &Attached::new(), pod) {
        return Some(format!("pod {} could run nowhere else: {why}", pod.id));
    }
    let budgets = view.snapshot.pod_budgets.iter();
    let budgets: Vec<_> = budgets
        .filter(|(id, budget)| id.namespace == pod.id.namespace && budget.selector.matches(&pod.labels))
        .collect();
    if budgets.len() > 1 {
        // The API server evicts no such pod.
        return Some(format!("pod {} has more than one PodDisruptionBudget", pod.id));
    }
    let spent = budgets.iter().find(|(_, budget)| budget.allowed == 0);
    spent.map(|(id, _)| format!("PodDisruptionBudget {id} lets pod {} not go just now", pod.id))
}
