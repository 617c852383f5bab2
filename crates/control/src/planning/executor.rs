use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use futures::stream::{self, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::{info, warn};
use windlass_api::{NodeClaim, labels};
use windlass_core::model::{DisruptionReason, Driver};
use windlass_core::plan::{Cancellation, Disruption, Launch, LaunchPurpose, Removal};
use windlass_core::{Plan, Text};
use windlass_providers::Clock;

use super::Still;
use super::claim::launched_claim;
use super::room::Room;
use crate::Settings;
use crate::adapt;
use crate::controller::Bus;
use crate::events::{Note, about};
use crate::kubernetes::{is_conflict, is_not_found};
use crate::planted::{Mistake, is_planted};

/// How many claims are written at the same time.
const WRITES_AT_ONCE: usize = 16;

/// Turns decisions into claims: creates them, annotates them, deletes them, and does nothing else.
pub(crate) struct Executor {
    pub(crate) client: Client,
    pub(super) bus: Arc<Bus>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) settings: Arc<Settings>,
    pub(super) random: Arc<Mutex<fastrand::Rng>>,
    pub(super) writes: Semaphore,
}

impl Executor {
    pub(crate) fn new(
        client: Client,
        bus: Arc<Bus>,
        clock: Arc<dyn Clock>,
        settings: Arc<Settings>,
        random: Arc<Mutex<fastrand::Rng>>,
    ) -> Self {
        Self { client, bus, clock, settings, random, writes: Semaphore::new(WRITES_AT_ONCE) }
    }

    /// Carries out a plan. When it returns, everything written or about to be is in the index, so that the next plan
    /// counts it. Creations that the API server leaves without a definite answer go on in the background: trouble with
    /// one claim keeps nobody from planning for the others.
    pub(crate) async fn carry_out(self: &Arc<Self>, plan: &Plan, creations: &mut JoinSet<()>) {
        let names: Vec<String> = plan.launches.iter().map(|launch| self.name(&launch.pool)).collect();
        let needless = self.decide_all(plan, &names).await;
        let launches = plan.launches.iter().zip(names).enumerate();
        let needed = launches.filter(|(number, _)| !needless.contains(number)).map(|(_, launch)| launch);
        for (claim, pool_uid) in self.intend(needed.collect()) {
            let executor = self.clone();
            // Whoever planned it learns from the index what came of it.
            creations.spawn(async move { drop(executor.make(claim, &pool_uid).await) });
        }
        stream::iter(&plan.cancellations)
            .for_each_concurrent(WRITES_AT_ONCE, |cancellation| self.cancel(cancellation))
            .await;
        stream::iter(&plan.removals)
            .for_each_concurrent(WRITES_AT_ONCE, |removal| self.remove(removal))
            .await;
        if is_planted(Mistake::RemovesFirst) {
            creations.join_next().await;
            let api: Api<NodeClaim> = Api::all(self.client.clone());
            for (claim, _) in plan.disruptions.iter().flat_map(|disruption| &disruption.claims) {
                let _ = api.delete(claim, &DeleteParams::default()).await;
            }
        }
        let all = async { while creations.join_next().await.is_some() {} };
        if timeout(self.settings.write_patience, all).await.is_err() {
            warn!(claims = creations.len(), "the API server has given no definite answer about new claims");
        }
    }

    /// Writes down which claims are to go. Says which launches are not needed, because nothing could be written down that
    /// they are for.
    async fn decide_all(&self, plan: &Plan, names: &[String]) -> BTreeSet<usize> {
        let mut decisions = Vec::new();
        for disruption in &plan.disruptions {
            decisions.push(self.decide(disruption, names));
        }
        let decided = stream::iter(decisions).buffered(WRITES_AT_ONCE).collect::<Vec<bool>>().await;
        let replacements = |done: bool| {
            let such = plan.disruptions.iter().zip(&decided).filter(move |(_, decided)| **decided == done);
            such.flat_map(|(disruption, _)| disruption.replacements.iter().copied()).collect::<BTreeSet<_>>()
        };
        let only_replaces = |number: &usize| {
            plan.launches.get(*number).is_some_and(|launch| launch.purpose == LaunchPurpose::Replacement)
        };
        replacements(false).difference(&replacements(true)).copied().filter(only_replaces).collect()
    }

    /// Writes on claims that they are to go, and what takes their place. Says whether any of them is to: what cannot be
    /// written down is not done.
    async fn decide(&self, disruption: &Disruption, names: &[String]) -> bool {
        let replacements = disruption.replacements.iter().filter_map(|number| names.get(*number));
        let replacements = replacements.map(String::as_str).collect::<Vec<_>>().join(",");
        let annotations = json!({
            labels::DISRUPTION: format!("{}: {}", disruption.reason.as_str(), disruption.message),
            labels::DISRUPTED_AT: self.clock.now().to_string(),
            labels::REPLACED_BY: replacements,
        });
        let mut writes = Vec::new();
        for (claim, uid) in &disruption.claims {
            writes.push(self.annotate(claim, uid, &annotations));
        }
        let written = stream::iter(writes).buffered(WRITES_AT_ONCE).collect::<Vec<bool>>().await;
        for ((claim, _), _) in disruption.claims.iter().zip(&written).filter(|(_, written)| **written) {
            info!(%claim, reason = ?disruption.reason, why = disruption.message, "the claim is to go");
            let Some(claim) = self.bus.index.lock().claims.get(claim) else { continue };
            self.bus.metrics.disruption_decided(&claim.spec.pool_ref.name, disruption.reason.as_str());
            self.bus.events.say(told(&claim, "Disrupted", disruption.reason, &disruption.message));
        }
        written.contains(&true)
    }

    /// Takes back that a claim is to go.
    async fn cancel(&self, cancellation: &Cancellation) {
        let annotations =
            json!({labels::DISRUPTION: null, labels::DISRUPTED_AT: null, labels::REPLACED_BY: null});
        if self.annotate(&cancellation.claim, &cancellation.uid, &annotations).await {
            info!(claim = %cancellation.claim, why = cancellation.message, "the claim stays after all");
            if let Some(claim) = self.bus.index.lock().claims.get(&cancellation.claim) {
                self.bus.metrics.disruption_taken_back(&claim.spec.pool_ref.name);
                let message = format!("stays after all: {}", cancellation.message);
                self.bus.events.say(Note { about: about(&*claim), warning: false, reason: "Stays", message });
            }
        }
    }

    /// Counts the claims for launches from now on: what is returned is to be created. Since the plan was made others may
    /// have got machines under the same limits, or may decide about a pool; what is left out for that is planned anew.
    fn intend(&self, launches: Vec<(&Launch, String)>) -> Vec<(NodeClaim, Text)> {
        let (mut index, now) = (self.bus.index.lock(), self.clock.now());
        let mut room = Room::new(&index, &self.settings.plan, now);
        let mut intended = Vec::new();
        for (launch, name) in launches {
            let Some(pool) = index.definition(&launch.pool).cloned() else { continue };
            let again = is_planted(Mistake::MakesTwice).then(|| format!("{name}-again"));
            for name in [name].into_iter().chain(again) {
                let claim = launched_claim(name, launch, &pool, self.settings.scope.as_deref());
                let counted = adapt::claim(&claim).counted();
                if pool.pool.driver == Driver::Windlass && room.take(&pool.pool, &counted) {
                    index.claims.intend(&claim, now);
                    intended.push((claim, pool.uid.clone()));
                } else {
                    info!(pool = %launch.pool, "what was to be launched is planned anew");
                    self.bus.plan.notify_one();
                }
            }
        }
        intended
    }

    async fn remove(&self, removal: &Removal) {
        let Some(claim) = self.bus.index.lock().claims.get(&removal.claim) else { return };
        if claim.uid().as_deref() != Some(&*removal.uid) {
            return;
        }
        match self.delete_if_so(&claim, removal).await {
            Ok(true) => {
                info!(claim = %removal.claim, reason = ?removal.reason, why = removal.message, "claim deleted");
                // It is counted by its lifecycle, once its machine is gone.
                self.bus.events.say(told(&claim, "ScaleDown", removal.reason, &removal.message));
            }
            Ok(false) => {
                info!(claim = %removal.claim, "the claim is not deleted: a pod has come to its node");
            }
            Err(error) if is_not_found(&error) || is_conflict(&error) => {
                info!(claim = %removal.claim, "the claim has changed since the plan and is not deleted");
            }
            Err(error) => warn!(claim = %removal.claim, %error, "the claim could not be deleted"),
        }
    }

    /// Deletes a claim if what the plan saw still holds; whether it did.
    async fn delete_if_so(&self, claim: &NodeClaim, removal: &Removal) -> Result<bool, kube::Error> {
        if removal.reason == DisruptionReason::Empty && !self.is_empty(claim).await? {
            return Ok(false);
        }
        let why = format!("{}: {}", removal.reason.as_str(), removal.message);
        // The UID makes sure that it is this very claim. Its resource version would not make it safer, since what matters
        // is what is on the node, and would let anyone who keeps writing to the claim keep it for ever.
        self.delete(claim, Some(why), Still::There).await?;
        Ok(true)
    }

    /// Asks the API server itself, since what the watch has shown may be old.
    async fn is_empty(&self, claim: &NodeClaim) -> Result<bool, kube::Error> {
        let Some(node) = claim.status.as_ref().and_then(|status| status.node_name.as_deref()) else {
            return Ok(true);
        };
        let api: Api<Pod> = Api::all(self.client.clone());
        let pods = api.list(&ListParams::default().fields(&format!("spec.nodeName={node}"))).await?;
        let keeps = |pod: &Pod| adapt::pod(pod).is_some_and(|pod| !pod.shape.belongs_to_node());
        Ok(!pods.items.iter().any(keeps))
    }
}

/// What is told of a claim that is to go or goes.
fn told(claim: &NodeClaim, what: &'static str, why: DisruptionReason, message: &str) -> Note {
    let message = format!("{}: {message}", why.as_str());
    Note { about: about(claim), warning: false, reason: what, message }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_core::model::DisruptionReason;

    use super::told;

    #[test]
    fn every_reason_is_told_by_its_name() {
        let claim = serde_json::from_value(json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "NodeClaim", "metadata": {"name": "c", "uid": "u"},
            "spec": {"poolRef": {"name": "p"}, "providerRef": {"name": "s"}, "reason": {"purpose": "MinNodes"}},
        }));
        let claim = claim.unwrap();
        for reason in DisruptionReason::ALL {
            let note = told(&claim, "Disrupted", reason, "because");
            assert_eq!(note.message, format!("{}: because", reason.as_str()));
            assert_eq!(
                (note.about.kind.as_deref(), note.about.name.as_deref()),
                (Some("NodeClaim"), Some("c"))
            );
        }
    }
}
