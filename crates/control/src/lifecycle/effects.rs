//! Carrying out effects on the provider and on the claim itself.

use kube::api::{DeleteParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::json;
use tracing::{info, warn};
use windlass_api::{NodeClaim, labels};
use windlass_providers::{Join, LaunchRequest, MachineTag, Provider, ProviderError};

use super::draft::machine_uid;
use super::node::first_taints;
use super::{Answer, Effect, Shell};
use crate::adapt;
use crate::events::{Note, about};
use crate::index::Registrant;
use crate::joining::PoolWord;
use crate::kubernetes::{is_not_found, is_outdated, is_refusal, is_still, patching, steps};
use crate::planted::{Mistake, is_planted};

impl Shell {
    pub(super) async fn carry_out(
        &self,
        claim: &NodeClaim,
        registrant: &Registrant,
        effect: &Effect,
    ) -> Answer {
        let provider = self.providers.get(&claim.spec.provider_ref.name);
        match effect {
            Effect::Launch(number) => {
                let join = match self.joining.join(claim, self.pool_word(claim)).await {
                    Ok(join) => join,
                    Err(error) => {
                        warn!(claim = claim.name_any(), %error, "the machine cannot be told how to join");
                        return Answer::Unprepared(error.to_string());
                    }
                };
                let request = self.launch_request(claim, *number, join);
                let launched = match request {
                    Ok(request) => match provider {
                        Ok(provider) => provider.launch(&request).await,
                        Err(error) => Err(error),
                    },
                    Err(error) => Err(error),
                };
                match &launched {
                    Ok(machine) => {
                        info!(claim = claim.name_any(), machine = %machine.provider_id, "launched");
                    }
                    Err(error) => {
                        self.bus.metrics.launch_failed(&claim.spec.provider_ref.name, error.kind().as_str());
                        warn!(claim = claim.name_any(), %error, "the launch failed");
                    }
                }
                self.bus.providers.notify_one();
                Answer::Launched(launched)
            }
            Effect::RevokeToken => self.revoke_token(claim).await,
            Effect::Get(id) => Answer::Got(match provider {
                Ok(provider) => provider.get(id).await,
                Err(error) => Err(error),
            }),
            Effect::Find => Answer::Found(match provider {
                Ok(provider) => {
                    let uid = machine_uid(claim);
                    let machines = provider.list().await;
                    machines.map(|all| all.into_iter().find(|machine| machine.tag.claim_uid == uid))
                }
                Err(error) => Err(error),
            }),
            Effect::Terminate(id) => Answer::Terminated(match provider {
                Ok(provider) => match self.machine_tag(claim, id, &*provider).await {
                    Ok(tag) => provider.terminate(id, &tag).await,
                    Err(error) => Err(error),
                },
                Err(error) => Err(error),
            }),
            Effect::HoldClaim | Effect::DeleteClaim | Effect::ReleaseClaim => self
                .change_claim(claim, effect)
                .await
                .unwrap_or_else(|error| Answer::Failed(error.to_string())),
            _ => {
                let Registrant::Node(node) = registrant else { return Answer::Written };
                self.change_node(claim, node, effect)
                    .await
                    .unwrap_or_else(|error| Answer::Failed(error.to_string()))
            }
        }
    }

    fn pool_word(&self, claim: &NodeClaim) -> PoolWord {
        let index = self.bus.index.lock();
        let Some(pool) = index.definition(&claim.spec.pool_ref.name) else { return PoolWord::Gone };
        match (&pool.error, &pool.user_data) {
            (Some(flaw), _) => PoolWord::Invalid(flaw.clone()),
            (None, Some(user_data)) => PoolWord::UserData(user_data.clone()),
            (None, None) => PoolWord::Image,
        }
    }

    /// A token that Windlass may not delete must not keep it from anything: it ends when it expires.
    async fn revoke_token(&self, claim: &NodeClaim) -> Answer {
        match self.joining.revoke(claim).await {
            Ok(()) => Answer::TokenRevoked,
            Err(error) if is_refusal(&error) => {
                let message =
                    format!("the bootstrap token could not be deleted and ends when it expires: {error}");
                warn!(claim = claim.name_any(), %error, "the bootstrap token could not be deleted");
                self.bus.events.say(Note {
                    about: about(claim),
                    warning: true,
                    reason: "TokenLeft",
                    message,
                });
                Answer::TokenRevoked
            }
            Err(error) => Answer::Failed(error.to_string()),
        }
    }

    fn tag(&self, claim: &NodeClaim) -> MachineTag {
        MachineTag {
            cluster_id: self.settings.cluster_id.clone(),
            claim_uid: machine_uid(claim),
            claim_name: claim.name_any().into(),
            pool: claim.spec.pool_ref.name.as_str().into(),
        }
    }

    /// What the claim's machine is tagged with. One that was taken over bears the name of the claim it was launched for,
    /// which only the machine knows.
    async fn machine_tag(
        &self,
        claim: &NodeClaim,
        id: &str,
        provider: &dyn Provider,
    ) -> Result<MachineTag, ProviderError> {
        let tag = self.tag(claim);
        if claim.spec.adopt.is_none() {
            return Ok(tag);
        }
        let found = provider.get(id).await?.tag;
        if found.cluster_id == tag.cluster_id && found.claim_uid == tag.claim_uid {
            return Ok(found);
        }
        let message = format!("it is tagged {found:?} and not {tag:?}");
        Err(ProviderError::NotOurs { provider_id: id.to_owned(), message })
    }

    fn launch_request(
        &self,
        claim: &NodeClaim,
        number: usize,
        join: Option<Join>,
    ) -> Result<LaunchRequest, ProviderError> {
        let model = adapt::claim(claim);
        let Some(offering) = model.offerings.get(number) else {
            return Err(ProviderError::InvalidConfiguration {
                message: format!("the claim has no offering {number}"),
            });
        };
        let mut tag = self.tag(claim);
        if is_planted(Mistake::ForgetsKey) {
            tag.claim_uid = format!("{}-{}", tag.claim_uid, self.clock.now()).into();
        }
        Ok(LaunchRequest {
            tag,
            offering: offering.key.clone(),
            capacity: offering.capacity.clone(),
            allocatable: offering.allocatable.clone(),
            price: offering.price,
            labels: model.labels,
            taints: first_taints(claim),
            join,
        })
    }

    async fn change_claim(&self, claim: &NodeClaim, effect: &Effect) -> Result<Answer, kube::Error> {
        let api: Api<NodeClaim> = Api::all(self.client.clone());
        let (name, uid) = (claim.name_any(), claim.uid().unwrap_or_default());
        let outcome = match effect {
            Effect::HoldClaim => {
                // Without a resource version: someone who keeps writing to the claim could keep us from it for ever.
                let added = if claim.finalizers().is_empty() {
                    vec![
                        json!({"op": "test", "path": "/metadata/finalizers", "value": null}),
                        json!({"op": "add", "path": "/metadata/finalizers", "value": [labels::FINALIZER]}),
                    ]
                } else {
                    vec![json!({"op": "add", "path": "/metadata/finalizers/-", "value": labels::FINALIZER})]
                };
                let patch = steps(std::iter::once(is_still(&uid)).chain(added).collect())?;
                api.patch(&name, &patching(), &patch).await.map(Some)
            }
            Effect::ReleaseClaim => {
                let Some(place) =
                    claim.finalizers().iter().position(|finalizer| finalizer == labels::FINALIZER)
                else {
                    return Ok(Answer::Written);
                };
                let ours = format!("/metadata/finalizers/{place}");
                let patch = steps(vec![
                    is_still(&uid),
                    json!({"op": "test", "path": ours, "value": labels::FINALIZER}),
                    json!({"op": "remove", "path": ours}),
                ])?;
                api.patch(&name, &patching(), &patch).await.map(Some)
            }
            _ => {
                let this_one = Preconditions { uid: Some(uid.clone()), resource_version: None };
                let parameters = DeleteParams { preconditions: Some(this_one), ..DeleteParams::default() };
                let answer = api.delete(&name, &parameters).await;
                answer.map(|held_or_gone| held_or_gone.left())
            }
        };
        match outcome {
            Ok(written) => {
                let held = written.filter(|left| {
                    !left.finalizers().is_empty() || left.metadata.deletion_timestamp.is_none()
                });
                let now = self.clock.now();
                let mut index = self.bus.index.lock();
                let changed = match held {
                    Some(left) => index.claims.wrote(left, now),
                    None => index.claims.lost(&name, &uid, now),
                };
                drop(index);
                self.bus.announce_to_planner(&changed);
                Ok(Answer::Written)
            }
            Err(error) if is_outdated(&error) => {
                self.look_up(claim).await;
                if is_not_found(&error) { Ok(Answer::Written) } else { Err(error) }
            }
            Err(error) => Err(error),
        }
    }
}
