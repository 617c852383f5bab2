use std::collections::{BTreeMap, BTreeSet};

use windlass_core::Plan;
use windlass_core::model::{Claim, ClaimPhase, Node, PodId, Snapshot, Taint};

/// The pods for which a plan gets a machine although there is one that was got for them from the same pool and on which
/// nothing runs: something that planning did not know of keeps them off, such as a taint that somebody puts on new nodes,
/// and the next machine will help no more than the last. A node that was in use and is not ready, or has a taint of
/// Kubernetes itself, proves nothing.
pub(super) fn futile(snapshot: &Snapshot, plan: &Plan) -> Vec<PodId> {
    if plan.launches.is_empty() {
        return Vec::new();
    }
    let keeping = snapshot.pods.values().filter(|pod| !pod.shape.belongs_to_node());
    let used: BTreeSet<_> = keeping.filter_map(|pod| pod.node()).collect();
    let of_kubernetes = |taint: &Taint| taint.key.contains("kubernetes.io/");
    let open = |node: &Node| {
        node.is_ready() && !node.unschedulable && !node.deleting && !node.taints.iter().any(of_kubernetes)
    };
    let is_unused = |claim: &Claim| {
        let node = claim.node.as_ref();
        let stands = || node.and_then(|node| snapshot.nodes.get(node)).is_some_and(|node| open(node));
        !claim.deleting
            && claim.disrupted.is_none()
            && node.is_none_or(|node| !used.contains(node))
            && (claim.phase < ClaimPhase::Initialized || stands())
    };
    let unused = snapshot.claims.values().filter(|claim| is_unused(claim));
    let got: BTreeMap<_, _> =
        unused.flat_map(|claim| claim.pods.iter().map(|pod| (pod, &claim.pool))).collect();
    let again = plan.launches.iter().flat_map(|launch| launch.pods.iter().map(|pod| (pod, &launch.pool)));
    again.filter(|(pod, pool)| got.get(pod) == Some(pool)).map(|(pod, _)| pod.clone()).collect()
}
