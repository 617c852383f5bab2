use std::sync::Arc;

use jiff::Timestamp;
use windlass_core::Text;
use windlass_core::model::{
    Claim, ClaimOffering, ClaimPhase, DisruptionReason, Effect, Labels, Launched, Node, Readiness, Taint,
    well_known,
};
use windlass_core::plan::Launch;

use super::cluster::Cluster;

/// The taint of a node that is on its way out.
const DISRUPTED: &str = "windlass.dev/disrupted";

impl Cluster {
    /// Gets the machine of a launch, the first choice of which can always be had. Its node will have the claim's name.
    pub(super) fn launch(&mut self, name: &Text, launch: &Launch, now: Timestamp) {
        let launched = launch.offerings.first().map(|first| launched(name, first));
        let claim = Claim {
            name: name.clone(),
            uid: format!("uid-{name}").into(),
            pool: launch.pool.clone(),
            offerings: launch.offerings.clone(),
            launched,
            phase: ClaimPhase::Launched,
            node: None,
            labels: launch.labels.clone(),
            taints: Vec::new(),
            startup_taints: Vec::new(),
            disrupted: None,
            decision: None,
            template: None,
            drift: None,
            ends_at: None,
            asked_to_go: false,
            deleting: false,
            given_up: false,
            created_at: now,
            initialized_at: None,
            replaces: launch.replaces.clone(),
            pods: launch.pods.clone(),
        };
        Arc::make_mut(&mut self.snapshot.claims).insert(name.clone(), Arc::new(claim));
    }

    /// Has a claim's node be there, ready for pods.
    pub(super) fn stand(&mut self, name: &Text, now: Timestamp) {
        let Some(claim) = Arc::make_mut(&mut self.snapshot.claims).get_mut(name) else { return };
        let claim = Arc::make_mut(claim);
        let Some(launched) = claim.launched.clone() else { return };
        (claim.phase, claim.node, claim.initialized_at) =
            (ClaimPhase::Initialized, Some(name.clone()), Some(now));
        let node = Node {
            name: name.clone(),
            uid: format!("node-{name}").into(),
            provider_id: Some(launched.provider_id.clone()),
            labels: labels(claim, &launched),
            taints: Vec::new(),
            capacity: launched.capacity,
            allocatable: launched.allocatable.clone(),
            readiness: Readiness::Ready,
            conditions: Vec::new(),
            unschedulable: false,
            deleting: false,
            claim_uid: Some(claim.uid.clone()),
            provider: Some("bench".into()),
            held: true,
            stays_until: None,
            asked_to_go: false,
        };
        Arc::make_mut(&mut self.snapshot.nodes).insert(name.clone(), Arc::new(node));
        self.free.insert(name.clone(), launched.allocatable);
    }

    /// Closes a node to new pods, or opens it again.
    pub(super) fn close(&mut self, name: &Text, closed: bool) {
        if let Some(node) = Arc::make_mut(&mut self.snapshot.nodes).get_mut(name) {
            let node = Arc::make_mut(node);
            node.unschedulable = closed;
            node.taints.retain(|taint| &*taint.key != DISRUPTED);
            node.taints.extend(closed.then(|| Taint::new(DISRUPTED, "", Effect::NoSchedule)));
        }
    }

    /// Has a claim and all that was of it be no more.
    pub(super) fn give_back(&mut self, name: &Text, now: Timestamp) {
        let claim = Arc::make_mut(&mut self.snapshot.claims).remove(name);
        if claim.is_some_and(|claim| claim.disrupted == Some(DisruptionReason::Underutilized)) {
            Arc::make_mut(&mut self.snapshot.recent).consolidated = Some(now);
        }
        Arc::make_mut(&mut self.snapshot.nodes).remove(name);
        Arc::make_mut(&mut self.snapshot.last_pod_change).remove(name);
        self.free.remove(name);
    }
}

fn launched(name: &Text, way: &ClaimOffering) -> Launched {
    let ClaimOffering { key, price, capacity, allocatable } = way.clone();
    Launched { provider_id: format!("bench://{name}").into(), key, price, capacity, allocatable, at: None }
}

fn labels(claim: &Claim, launched: &Launched) -> Labels {
    let mut labels = claim.labels.clone();
    labels.set(well_known::INSTANCE_TYPE, launched.key.instance_type.clone());
    labels.set(well_known::ZONE, launched.key.zone.clone());
    labels.set(well_known::CAPACITY_TYPE, launched.key.capacity_type.clone());
    labels.set(well_known::POOL, claim.pool.clone());
    labels.set(well_known::HOSTNAME, claim.name.clone());
    labels
}
