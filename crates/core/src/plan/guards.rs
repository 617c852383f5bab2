//! What keeps a node from being disturbed for the sake of money or order.

use super::view::View;
use crate::model::{Claim, Node, Pod, PodOwner};

/// Why a node is to be left alone, if it is: it or a pod on it says so, or a pod would not be made anew elsewhere, or may
/// not be evicted just now.
pub(super) fn keeps(view: &View<'_>, claim: &Claim, node: &Node) -> Option<String> {
    if node.stays_until.is_some_and(|until| until > view.now) {
        return Some(format!("node {} is not to be disrupted", node.name));
    }
    if view.snapshot.pools.get(&claim.pool).is_none() {
        return Some(format!("its pool {} is not there", claim.pool));
    }
    let pods = view.pods_on(&node.name).iter().filter(|pod| !pod.shape.belongs_to_node());
    pods.copied().find_map(|pod| holds(view, pod))
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
    let mut budgets = view.snapshot.pod_budgets.iter();
    let spent = budgets.find(|(id, budget)| {
        budget.allowed == 0 && id.namespace == pod.id.namespace && budget.selector.matches(&pod.labels)
    });
    spent.map(|(id, _)| format!("PodDisruptionBudget {id} lets pod {} not go just now", pod.id))
}
