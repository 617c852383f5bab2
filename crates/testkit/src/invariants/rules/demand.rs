//! I9: a pod gets one machine at a time.
//!
//! A claim names the pods that it was made for. While it is on its way, no other claim is made for any of them: that would be
//! a machine too many for as long as it takes to notice. A claim is on its way until its machine is a node, unless it was
//! given up. A pod that is to leave its node still has that, so what was got for it may go to one that has none.

use std::sync::Arc;

use super::super::event::{Kind, ObjectName};
use super::super::facts::Claim;
use super::super::violation::{Finding, Invariant};
use super::Case;

/// Judges a claim that Windlass has made.
pub(in super::super) fn claim_made(case: &mut Case<'_>, claim: &Claim) {
    if !case.options.scope.includes_pool(&claim.pool) {
        return;
    }
    let has_node = |pod: &str| case.world.pod(pod).is_some_and(|pod| pod.node.is_some());
    let served = |other: &&Arc<Claim>| other.uid != claim.uid && other.on_its_way;
    let twice = case.world.claims().filter(served).find_map(|other| {
        let pod = claim.pods.iter().find(|pod| other.pods.contains(pod) && !has_node(pod))?;
        Some((other.name.clone(), pod.clone()))
    });
    if let Some((other, pod)) = twice {
        let message =
            format!("NodeClaim {} was made for pod {pod} while {other} was on its way for it", claim.name);
        let objects = [&claim.name, &other].map(|name| ObjectName::new(Kind::NodeClaim, name)).to_vec();
        case.findings.push(Finding::new(Invariant::OneMachinePerPod, message, objects));
    }
}
