//! Whether pods went where they were planned.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use windlass_api::NodeClaim;

/// What became of the pods for which claims were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placements {
    /// For how many pods claims were made.
    pub planned: usize,
    /// How many of them are on the node of the first claim that was made for them.
    pub kept: usize,
    /// For how many of them another claim had to be made.
    pub again: usize,
}

impl Placements {
    /// Compares where pods are with what the claims were made for.
    pub fn of(pods: &[Pod], claims: &[NodeClaim]) -> Self {
        let mut made_for: BTreeMap<&str, Vec<&NodeClaim>> = BTreeMap::new();
        for claim in claims {
            for pod in &claim.spec.reason.pods {
                made_for.entry(pod).or_default().push(claim);
            }
        }
        let kept = pods.iter().filter(|pod| {
            let id = format!("{}/{}", pod.namespace().unwrap_or_default(), pod.name_any());
            let claims = made_for.get(id.as_str()).into_iter().flatten();
            let first = claims.min_by_key(|claim| claim.creation_timestamp().map(|time| time.0));
            let planned = first.and_then(|claim| claim.status.as_ref()?.node_name.as_deref());
            let found = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
            found.is_some() && found == planned
        });
        Self {
            planned: made_for.len(),
            kept: kept.count(),
            again: made_for.values().filter(|claims| claims.len() > 1).count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::{from_value, json};
    use windlass_api::NodeClaim;

    use super::Placements;

    fn claim(node: &str, second: u8, pods: &[&str]) -> NodeClaim {
        let made = format!("2026-01-01T00:00:0{second}Z");
        let spec = json!({
            "poolRef": {"name": "pool"}, "providerRef": {"name": "provider"},
            "reason": {"purpose": "PendingPods", "message": "", "pods": pods},
        });
        let metadata = json!({"name": node, "creationTimestamp": made});
        from_value(json!({"metadata": metadata, "spec": spec, "status": {"nodeName": node}})).unwrap()
    }

    fn pod(name: &str, node: &str) -> Pod {
        let spec = json!({"containers": [], "nodeName": node});
        from_value(json!({"metadata": {"namespace": "d", "name": name}, "spec": spec})).unwrap()
    }

    #[test]
    fn only_the_first_claim_of_a_pod_counts_as_its_plan() {
        let claims = [claim("n1", 1, &["d/a", "d/b", "d/c"]), claim("n2", 2, &["d/b"])];
        let pods = [pod("a", "n1"), pod("b", "n2"), pod("c", "old"), pod("other", "n1")];
        assert_eq!(Placements::of(&pods, &claims), Placements { planned: 3, kept: 1, again: 1 });
    }
}
