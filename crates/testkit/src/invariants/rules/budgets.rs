//! I5: pods under an exhausted disruption budget stay where they are.
//!
//! The API server itself refuses evictions that a budget forbids, so what is left to do wrong is to go around the
//! eviction API. Judged are nodes of ours that are draining (the claim is being deleted or the node is tainted as
//! leaving) and whose time to drain is not over, and on them ready pods that a budget with no disruption left selects
//! and that a drain would not leave alone. It is a violation
//! - when such a pod is deleted and no `DisruptionTarget` condition says that it was evicted or disrupted by Kubernetes;
//! - when the claim is being deleted, and its node or machine goes while such a pod is on it.
//!
//! A watch does not tell who deleted a pod: a test that itself deletes pods there has to excuse them.

use super::super::event::{Kind, ObjectName, Writer};
use super::super::facts::{Claim, Node, Pod};
use super::super::violation::{Finding, Invariant};
use super::Case;

/// Judges a pod that is deleted or gone; `pod` is the last that was seen of it.
pub(in super::super) fn pod_leaves(
    case: &mut Case<'_>,
    before: Option<&Pod>,
    pod: &Pod,
    gone: bool,
    writer: Writer,
) {
    let Some(before) = before else { return };
    let leaves = !before.deleting && (pod.deleting || gone);
    if !leaves || writer == Writer::Other || pod.disrupted_by.is_some() || pod.stays {
        return;
    }
    let Some(node) = pod.node.as_deref().and_then(|name| case.world.node(name)) else {
        return;
    };
    let Some(claim) = case.world.claim_of(node) else {
        return;
    };
    let draining = claim.deleted_at.is_some() || node.disrupted;
    if !draining || !is_bound(case, claim) {
        return;
    }
    let Some(budget) = case.world.protector(before) else {
        return;
    };
    let message = format!(
        "pod {} was deleted without the eviction API from node {}, which is draining, while budget {} allows no \
         disruption",
        pod.name, node.name, budget.name
    );
    let objects = vec![
        ObjectName::new(Kind::Pod, &pod.name),
        ObjectName::new(Kind::PodDisruptionBudget, &budget.name),
        ObjectName::new(Kind::Node, &node.name),
        ObjectName::new(Kind::NodeClaim, &claim.name),
    ];
    case.findings.push(Finding::new(Invariant::BudgetsHold, message, objects));
}

/// Judges a node that goes away, itself or by its machine, as `what` says.
pub(in super::super) fn node_leaves(case: &mut Case<'_>, node: &Node, what: &str) {
    let Some(claim) = case.world.claim_of(node) else {
        return;
    };
    if claim.deleted_at.is_none() || !is_bound(case, claim) {
        return;
    }
    for pod in case.world.pods_on(&node.name).filter(|pod| !pod.deleting && !pod.stays) {
        let Some(budget) = case.world.protector(pod) else {
            continue;
        };
        let message = format!(
            "{what} while pod {} was on it, of which budget {} allows no disruption",
            pod.name, budget.name
        );
        let objects = vec![
            ObjectName::new(Kind::Pod, &pod.name),
            ObjectName::new(Kind::PodDisruptionBudget, &budget.name),
            ObjectName::new(Kind::Node, &node.name),
            ObjectName::new(Kind::NodeClaim, &claim.name),
        ];
        case.findings.push(Finding::new(Invariant::BudgetsHold, message, objects));
    }
}

fn is_bound(case: &Case<'_>, claim: &Claim) -> bool {
    case.options.scope.includes_pool(&claim.pool) && !claim.drain_is_over(case.now)
}
