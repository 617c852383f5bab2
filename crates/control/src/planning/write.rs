//! Writing one claim: made once, however often its creation has to be asked for, annotated, deleted.

use std::sync::PoisonError;

use kube::api::{DeleteParams, Patch, PostParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::time::sleep;
use tracing::{info, warn};
use windlass_api::{NodeClaim, labels};

use super::Executor;
use crate::events::{Note, about_ours};
use crate::kubernetes::{is_conflict, is_not_found, is_refusal, patching};
use crate::planted::{Mistake, is_planted};

/// What a claim must still be for it to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Still {
    /// The same claim, whatever has become of it.
    There,
    /// As it was looked at: nobody has written anything since.
    Unchanged,
}

impl Executor {
    /// Creates a claim that was counted already, and tells what came of it.
    pub(crate) async fn make(&self, claim: NodeClaim, pool_uid: &str) -> Result<(), kube::Error> {
        let (name, pool, why) =
            (claim.name_any(), claim.spec.pool_ref.name.clone(), claim.spec.reason.clone());
        let about_pool = about_ours("NodePool", &pool, pool_uid);
        match self.create(claim).await {
            Ok(_) => {
                info!(claim = name, pool, why = why.message, "claim made");
                self.bus.metrics.claim_created(&pool, &why.purpose);
                let message = format!("claim {name}: {}", why.message);
                self.bus.events.say(Note { about: about_pool, warning: false, reason: "ScaleUp", message });
                Ok(())
            }
            Err(error) => {
                warn!(pool, %error, "the claim was refused");
                let changed = self.bus.index.lock().claims.refused(&name);
                self.bus.announce(changed);
                let message = format!("the API server refused a claim: {error}");
                self.bus.events.say(Note {
                    about: about_pool,
                    warning: true,
                    reason: "ClaimRefused",
                    message,
                });
                Err(error)
            }
        }
    }

    /// Creates a claim, once. An answer that was lost leaves open whether the claim exists, so the same name is tried
    /// until the API server gives a definite answer.
    pub(crate) async fn create(&self, claim: NodeClaim) -> Result<NodeClaim, kube::Error> {
        let api: Api<NodeClaim> = Api::all(self.client.clone());
        let parameters =
            PostParams { field_manager: Some(labels::FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let mut errors = 0;
        loop {
            let turn = self.writes.acquire().await;
            let outcome = match api.create(&parameters, &claim).await {
                Err(error) if is_conflict(&error) => match api.get(&claim.name_any()).await {
                    Ok(existing) if existing.spec == claim.spec => Ok(existing),
                    Ok(_) => return Err(error),
                    Err(other) => Err(other),
                },
                outcome => outcome,
            };
            drop(turn);
            match outcome {
                Ok(created) => {
                    let changed = self.bus.index.lock().claims.wrote(created.clone(), self.clock.now());
                    self.bus.announce(changed);
                    return Ok(created);
                }
                Err(error) if is_planted(Mistake::TakesSilenceForNo) => return Err(error),
                Err(error) if is_refusal(&error) && !is_not_found(&error) => return Err(error),
                Err(error) => {
                    errors += 1;
                    warn!(claim = claim.name_any(), %error, "it is unknown whether the claim was made; asking again");
                    sleep(self.settings.retry_after(errors)).await;
                }
            }
        }
    }

    /// Changes annotations of a claim if it is still this one; whether it was.
    pub(super) async fn annotate(&self, name: &str, uid: &str, annotations: &Value) -> bool {
        let api: Api<NodeClaim> = Api::all(self.client.clone());
        let body = json!({"metadata": {"uid": uid, "annotations": annotations}});
        let turn = self.writes.acquire().await;
        let outcome = api.patch(name, &patching(), &Patch::Merge(body)).await;
        drop(turn);
        match outcome {
            Ok(written) => {
                let changed = self.bus.index.lock().claims.wrote(written, self.clock.now());
                self.bus.announce(changed);
                true
            }
            Err(error) => {
                warn!(claim = name, %error, "the claim could not be annotated");
                false
            }
        }
    }

    /// Writes down why a claim goes, and deletes it.
    pub(crate) async fn delete(
        &self,
        claim: &NodeClaim,
        why: Option<String>,
        still: Still,
    ) -> Result<(), kube::Error> {
        let api: Api<NodeClaim> = Api::all(self.client.clone());
        let (name, turn) = (claim.name_any(), self.writes.acquire().await);
        let same = |version: Option<String>| version.filter(|_| still == Still::Unchanged);
        let mut version = same(claim.resource_version());
        if why.is_some() && claim.annotations().get(labels::DISRUPTION) != why.as_ref() {
            let mut metadata = json!({"uid": claim.uid(), "annotations": {labels::DISRUPTION: why}});
            if let Some(version) = &version {
                metadata["resourceVersion"] = json!(version);
            }
            let body = Patch::Merge(json!({"metadata": metadata}));
            version = same(api.patch(&name, &patching(), &body).await?.resource_version());
        }
        let this_one = Preconditions { uid: claim.uid(), resource_version: version };
        let parameters = DeleteParams { preconditions: Some(this_one), ..DeleteParams::default() };
        let deleted = api.delete(&name, &parameters).await?.left();
        drop(turn);
        if let Some(deleted) = deleted {
            let changed = self.bus.index.lock().claims.wrote(deleted, self.clock.now());
            self.bus.announce(changed);
        }
        Ok(())
    }

    /// A name for a new claim.
    pub(crate) fn name(&self, pool: &str) -> String {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        // No vowels and no digits that look like letters: such names spell nothing and are easy to read out.
        let alphabet: Vec<char> = "bcdfghjklmnpqrstvwxz2456789".chars().collect();
        let suffix: String = (0..6).filter_map(|_| random.choice(&alphabet)).collect();
        format!("{pool}-{suffix}")
    }
}
