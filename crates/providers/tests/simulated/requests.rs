//! Requests for machines.

use windlass_core::Price;
use windlass_core::model::{Labels, OfferingKey, Resources};
use windlass_providers::{LaunchRequest, MachineTag};

/// A request for a claim's small machine, without labels or taints.
pub fn plain_request_in(zone: &str, claim: &str) -> LaunchRequest {
    LaunchRequest {
        tag: MachineTag {
            cluster_id: "cluster".into(),
            claim_uid: format!("uid-of-{claim}").into(),
            claim_name: claim.into(),
            pool: "pool".into(),
        },
        offering: OfferingKey {
            instance_type: "small".into(),
            zone: zone.into(),
            capacity_type: "on-demand".into(),
        },
        capacity: Resources::new(),
        allocatable: Resources::new(),
        price: Price::ZERO,
        labels: Labels::new(),
        taints: Vec::new(),
        join: None,
    }
}
