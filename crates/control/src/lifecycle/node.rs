//! What a claim wants of its node.

use kube::ResourceExt;
use windlass_api::{NodeClaim, labels};
use windlass_core::model::{Effect, Node, Taint};

use crate::adapt;

/// Taints that Kubernetes itself puts on nodes that are coming up.
const EPHEMERAL: [&str; 4] = [
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/network-unavailable",
    "node.cloudprovider.kubernetes.io/uninitialized",
];

/// Whether the node carries all our marks.
pub(super) fn is_marked(node: &Node, claim: &NodeClaim) -> bool {
    let uid = claim.uid();
    node.held
        && node.claim_uid.as_deref() == uid.as_deref()
        && node.provider.as_deref() == Some(claim.spec.provider_ref.name.as_str())
        && wanted_labels(claim)
            .all(|(key, value)| node.labels.get(key).is_some_and(|there| **there == *value))
}

/// Labels that the kubelet sets and keeps by itself.
const KUBELETS_OWN: [&str; 3] = [labels::ARCH, labels::OS, labels::HOSTNAME];

/// The labels that a claim's node must have.
pub(super) fn wanted_labels(claim: &NodeClaim) -> impl Iterator<Item = (&str, &str)> {
    let own = claim.spec.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let own = own.filter(|(key, _)| !KUBELETS_OWN.contains(key));
    let status = claim.status.as_ref();
    let known = [
        (labels::INSTANCE_TYPE, status.and_then(|status| status.instance_type.as_deref())),
        (labels::ZONE, status.and_then(|status| status.zone.as_deref())),
        (labels::CAPACITY_TYPE, status.and_then(|status| status.capacity_type.as_deref())),
        (labels::POOL, Some(claim.spec.pool_ref.name.as_str())),
    ];
    own.chain(
        known.into_iter().filter_map(|(key, value)| Some((key, value.filter(|value| !value.is_empty())?))),
    )
}

/// The taints that a node is to register with.
///
/// Ours keeps pods away and evicts none: the controller that evicts may learn late that the taint is gone, and would end
/// pods that were rightly placed.
pub(super) fn first_taints(claim: &NodeClaim) -> Vec<Taint> {
    let asked = claim.spec.taints.iter().chain(&claim.spec.startup_taints).map(adapt::taint);
    asked.chain([Taint::new(labels::UNREGISTERED_TAINT, "", Effect::NoSchedule)]).collect()
}

/// The taints that a claim's node must have for good and does not have.
pub(super) fn missing_taints(node: &Node, claim: &NodeClaim) -> Vec<Taint> {
    claim.spec.taints.iter().map(adapt::taint).filter(|taint| !carries(node, taint)).collect()
}

/// The taints that are to be on the node when pods are let in: what it has but for our own `unregistered`, what it lacks
/// for good, and the startup taints if its kubelet was not told of them. One that was told of `unregistered` was told of
/// those too: what is missing of them then has been removed by whoever removes it, and must not come back.
pub(super) fn opened_taints(node: &Node, claim: &NodeClaim) -> Vec<Taint> {
    let missing = missing_taints(node, claim);
    // A node has at most one taint of each key and effect, so that of another value gives way.
    let stays = |taint: &&Taint| {
        &*taint.key != labels::UNREGISTERED_TAINT
            && !missing.iter().any(|missing| missing.key == taint.key && missing.effect == taint.effect)
    };
    let mut taints: Vec<Taint> = node.taints.iter().filter(stays).cloned().collect();
    taints.extend(missing);
    if !waits_for(node, labels::UNREGISTERED_TAINT) {
        taints
            .extend(claim.spec.startup_taints.iter().map(adapt::taint).filter(|taint| !carries(node, taint)));
    }
    taints
}

/// The taints of a node that is on its way out.
pub(super) fn cordoned_taints(node: &Node) -> Vec<Taint> {
    let mut taints = node.taints.clone();
    if !waits_for(node, labels::DISRUPTED_TAINT) {
        let value = if node.unschedulable { CORDONED_BEFORE } else { "" };
        taints.push(Taint::new(labels::DISRUPTED_TAINT, value, Effect::NoSchedule));
    }
    taints
}

/// The value of our taint on a node that somebody else had cordoned.
const CORDONED_BEFORE: &str = "cordoned-before";

/// The taints of a node that stays after all.
pub(super) fn uncordoned_taints(node: &Node) -> Vec<Taint> {
    node.taints.iter().filter(|taint| &*taint.key != labels::DISRUPTED_TAINT).cloned().collect()
}

/// Whether it is not ours to let pods in again.
pub(super) fn was_cordoned(node: &Node) -> bool {
    node.taints.iter().any(|taint| &*taint.key == labels::DISRUPTED_TAINT && &*taint.value == CORDONED_BEFORE)
}

/// Whether no new pods come to the node.
pub(super) fn is_cordoned(node: &Node) -> bool {
    node.unschedulable && waits_for(node, labels::DISRUPTED_TAINT)
}

/// Whether the node carries a taint of this key.
pub(super) fn waits_for(node: &Node, key: &str) -> bool {
    node.taints.iter().any(|taint| &*taint.key == key)
}

/// A taint that something else has yet to remove before the node takes pods.
pub(super) fn startup_taint(node: &Node, claim: &NodeClaim) -> Option<Taint> {
    let startup: Vec<Taint> = claim.spec.startup_taints.iter().map(adapt::taint).collect();
    let waits = |taint: &&Taint| {
        EPHEMERAL.contains(&&*taint.key)
            || startup.iter().any(|wanted| wanted.key == taint.key && wanted.effect == taint.effect)
    };
    node.taints.iter().find(waits).cloned()
}

fn carries(node: &Node, taint: &Taint) -> bool {
    node.taints
        .iter()
        .any(|there| there.key == taint.key && there.effect == taint.effect && there.value == taint.value)
}
