//! What a plan leads to: claims appear, machines are launched, nodes join and become ready, pods are bound.

use std::sync::Arc;

use windlass_core::Plan;
use windlass_core::model::{Claim, ClaimPhase, Decision, Effect, PodState, Taint, well_known};
use windlass_core::plan::Target;

use crate::cluster::{Cluster, NOW, stand};
use crate::shapes::{at, claim, joined, launched};

impl Cluster {
    /// The cluster right after the plan has been executed: there are claims and no machines, and pods wait as before.
    pub fn after(mut self, plan: &Plan) -> Self {
        let names = self.names_of(plan);
        for (launch, name) in plan.launches.iter().zip(&names) {
            let pool = self.0.pools[&launch.pool].clone();
            self = self.claim(Claim {
                offerings: launch.offerings.clone(),
                labels: launch.labels.clone(),
                taints: pool.taints.clone(),
                startup_taints: pool.startup_taints.clone(),
                created_at: at(NOW),
                replaces: launch.replaces.clone(),
                pods: launch.pods.clone(),
                ..claim(name, &launch.pool, &[])
            });
        }
        for disruption in &plan.disruptions {
            let replacements = disruption.replacements.iter().map(|number| names[*number].as_str().into());
            let decision = Decision {
                since: at(NOW),
                replacements: replacements.collect(),
                message: disruption.message.as_str().into(),
            };
            let claims = Arc::make_mut(&mut self.0.claims);
            for (name, _) in &disruption.claims {
                let claim = Arc::make_mut(claims.get_mut(name).unwrap());
                claim.disrupted = Some(disruption.reason);
                claim.decision = Some(decision.clone());
            }
        }
        for cancellation in &plan.cancellations {
            let claims = Arc::make_mut(&mut self.0.claims);
            let claim = Arc::make_mut(claims.get_mut(&cancellation.claim).unwrap());
            (claim.disrupted, claim.decision) = (None, None);
        }
        for removal in &plan.removals {
            let claims = Arc::make_mut(&mut self.0.claims);
            Arc::make_mut(claims.get_mut(&removal.claim).unwrap()).deleting = true;
        }
        self
    }

    /// The node of a claim is closed to new pods.
    pub fn closed(mut self, claim: &str) -> Self {
        let node = Arc::make_mut(&mut self.0.nodes).get_mut(format!("node-of-{claim}").as_str()).unwrap();
        let node = Arc::make_mut(node);
        node.unschedulable = true;
        node.taints.push(Taint::new("windlass.dev/disrupted", "", Effect::NoSchedule));
        self
    }

    /// The claims that were to take the place of a claim.
    pub fn names_of_replacements(&self, claim: &str) -> Vec<String> {
        let decision = self.0.claims[claim].decision.as_ref().unwrap();
        decision.replacements.iter().map(ToString::to_string).collect()
    }

    /// The claims that a plan's launches become, named against their order, for nothing may depend on names.
    pub fn names_of(&self, plan: &Plan) -> Vec<String> {
        let last = self.0.claims.len() + plan.launches.len();
        let numbered = plan.launches.iter().enumerate();
        numbered.map(|(number, launch)| format!("{}-{:05}", launch.pool, last - number)).collect()
    }

    fn advance(mut self, phase: ClaimPhase, to: impl Fn(Cluster, Claim) -> Cluster) -> Self {
        for claim in self.0.claims.clone().values().filter(|claim| claim.phase == phase && !claim.deleting) {
            self = to(self, (**claim).clone());
        }
        self
    }

    /// All claims that wait for a machine get the one of this number among their ways.
    pub fn machines_launched(self, way: usize) -> Self {
        self.advance(ClaimPhase::Pending, |cluster, claim| cluster.claim(launched(claim, way)))
    }

    /// All machines have joined; their nodes are neither ready nor labelled.
    pub fn nodes_joined(self) -> Self {
        self.advance(ClaimPhase::Launched, |cluster, claim| {
            let node = joined(&claim, at(NOW));
            cluster.node(node).claim(Claim { phase: ClaimPhase::Registered, ..claim })
        })
    }

    pub fn nodes_ready(self) -> Self {
        self.advance(ClaimPhase::Registered, |cluster, claim| {
            let (claim, mut node) = stand(claim, NOW);
            let kind = node.labels.get(well_known::INSTANCE_TYPE).cloned();
            let types =
                cluster.0.pools.get(&claim.pool).map(|pool| pool.instance_types.clone()).unwrap_or_default();
            if let Some(kind) = types.iter().find(|each| Some(&each.name) == kind.as_ref()) {
                node.labels.extend(&kind.labels);
            }
            cluster.node(node).claim(claim)
        })
    }

    /// Pods are bound where the plan expects them.
    pub fn pods_bound(mut self, plan: &Plan) -> Self {
        let pods = Arc::make_mut(&mut self.0.pods);
        for placement in &plan.placements {
            if let Target::Node(node) = &placement.target {
                Arc::make_mut(pods.get_mut(&placement.pod).unwrap()).state = PodState::Bound(node.clone());
            }
        }
        self
    }
}
