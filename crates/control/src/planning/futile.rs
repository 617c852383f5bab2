use std::collections::{BTreeMap, BTreeSet};

use windlass_core::Plan;
use windlass_core::model::{Claim, ClaimPhase, PodId, Snapshot};

/// The pods for which a plan gets a machine although the last one that was got for them from the same pool is there and
/// nothing runs on it: something that planning does not know of keeps them off, such as a taint that somebody puts on new
/// nodes, and the next machine will help no more than the last.
pub(super) fn futile(snapshot: &Snapshot, plan: &Plan) -> Vec<PodId> {
    if plan.launches.is_empty() {
        return Vec::new();
    }
    let keeping = snapshot.pods.values().filter(|pod| !pod.shape.belongs_to_node());
    let used: BTreeSet<_> = keeping.filter_map(|pod| pod.node()).collect();
    let is_unused = |claim: &Claim| {
        claim.phase == ClaimPhase::Initialized
            && !claim.deleting
            && claim.disrupted.is_none()
            && claim.node.as_ref().is_some_and(|node| !used.contains(node))
    };
    let unused = snapshot.claims.values().filter(|claim| is_unused(claim));
    let got: BTreeMap<_, _> =
        unused.flat_map(|claim| claim.pods.iter().map(|pod| (pod, &claim.pool))).collect();
    let again = plan.launches.iter().flat_map(|launch| launch.pods.iter().map(|pod| (pod, &launch.pool)));
    again.filter(|(pod, pool)| got.get(pod) == Some(pool)).map(|(pod, _)| pod.clone()).collect()
}
