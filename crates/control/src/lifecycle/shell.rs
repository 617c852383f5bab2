use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Node as ApiNode;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{debug, info, warn};
use windlass_api::{NodeClaim, NodeClaimStatus, conditions, labels};
use windlass_core::Text;
use windlass_core::model::{Node, Readiness, Taint};
use windlass_providers::{Clock, LaunchRequest, MachineTag, Provider, ProviderError};

use super::draft::machine_uid;
use super::drain::Drain;
use super::node::{cordoned_taints, opened_taints, wanted_labels};
use super::{Answer, Effect, Memory, Observation, Times, step};
use crate::Settings;
use crate::adapt;
use crate::catalogue::Providers;
use crate::controller::Bus;
use crate::index::Registrant;
use crate::kubernetes::{is_conflict, is_not_found};

/// More steps than any life takes in one go: a claim that wants more is looked at again in the next round, so that
/// it cannot keep others waiting.
const STEPS_AT_ONCE: usize = 20;

/// Carries out what [`step`] says, for all claims at once and each of them by itself.
pub struct Shell {
    client: Client,
    bus: Arc<Bus>,
    providers: Arc<Providers>,
    clock: Arc<dyn Clock>,
    settings: Arc<Settings>,
    times: Times,
    memories: Mutex<BTreeMap<Text, Memory>>,
}

impl Shell {
    pub(crate) fn new(
        client: Client,
        bus: Arc<Bus>,
        providers: Arc<Providers>,
        clock: Arc<dyn Clock>,
        settings: Arc<Settings>,
    ) -> Self {
        let times = Times::from(&*settings);
        Self { client, bus, providers, clock, settings, times, memories: Mutex::default() }
    }

    /// Looks after all claims, until told to stop; then it finishes what it is at.
    pub(crate) async fn run(&self, stopping: &watch::Sender<bool>) {
        // When the lease was lost, the claims that an earlier run was at were dropped in the middle of their work.
        self.bus.claims.abandon();
        let mut working = FuturesUnordered::new();
        let mut stop = stopping.subscribe();
        loop {
            let stopped = *stop.borrow_and_update();
            if stopped && working.is_empty() {
                return;
            }
            tokio::select! {
                _ = stop.changed() => {}
                name = self.bus.claims.next(), if !stopped && working.len() < self.settings.concurrency => {
                    working.push(async move {
                        let again_after = self.attend(&name).await;
                        (name, again_after)
                    });
                }
                Some((name, again_after)) = working.next() => {
                    self.bus.claims.done(&name);
                    if let Some(wait) = again_after {
                        self.bus.claims.add_at(name, Instant::now() + wait);
                    }
                }
            }
        }
    }

    /// Takes in a complete list of a provider's machines: which of its claims' machines are in it.
    pub(crate) fn listed(&self, claim: &NodeClaim, there: bool) {
        let now = self.clock.now();
        self.memory(claim, |memory| memory.listed(there, self.settings.absence_interval, now));
        if !there {
            self.bus.claims.add(claim.name_any().into());
        }
    }

    /// Moves one claim on as far as it goes now, and says when to look at it again.
    async fn attend(&self, name: &Text) -> Option<Duration> {
        for _ in 0..STEPS_AT_ONCE {
            if let Err(error) = self.look_closely_at_node(name).await {
                warn!(claim = %name, %error, "the claim's node could not be looked up");
                return Some(self.times.retry_after(1));
            }
            let Some((claim, seen)) = self.observe(name) else { return None };
            let next = step(&claim, &seen, &self.times, self.clock.now());
            for note in next.notes {
                self.bus.events.say(note);
            }
            self.remember_offerings(&claim, next.failed_offering.as_ref(), next.launched_offering.as_ref());
            if claim.status.as_ref() != Some(&next.status)
                && let Err(error) = self.write_status(&claim, &next.status).await
            {
                return self.cannot_write(&claim, &seen, &error).await;
            }
            let Some(effect) = next.effect else {
                // Its node may have come before it was known which machine is the claim's: nobody will tell again.
                let known = claim.status.as_ref().and_then(|status| status.provider_id.as_ref());
                if known != next.status.provider_id.as_ref() {
                    continue;
                }
                return next.again_after;
            };
            debug!(claim = %name, ?effect, "acting");
            let answer = self.carry_out(&claim, &seen.registrant, &effect).await;
            debug!(claim = %name, ?answer, "answered");
            let ended = effect == Effect::ReleaseClaim && answer == Answer::Written;
            let now = self.clock.now();
            self.memory(&claim, |memory| memory.take_in(answer, self.settings.absence_interval, now));
            if ended {
                self.forget(&claim);
                return None;
            }
        }
        Some(Duration::ZERO)
    }

    /// Reads a claim's node from the API server where what follows from the index is grave: the node is not there, or it
    /// has been not ready for too long. The watch may be held up: a claim that an earlier leader registered is then newer
    /// than what this process knows of the nodes, and neither may it be given up for want of its node, nor its machine be
    /// ended under the pods on that.
    async fn look_closely_at_node(&self, name: &Text) -> Result<(), kube::Error> {
        let now = self.clock.now();
        let doubtful = {
            let index = self.bus.index.lock();
            let claim = index.claims.get(name).filter(|_| index.is_synced());
            let status = claim.as_ref().and_then(|claim| claim.status.as_ref());
            let there = status.filter(|status| {
                status.provider_id.is_some()
                    && !conditions::is_true(&status.conditions, conditions::TERMINATED)
            });
            let node = there.and_then(|status| status.node_name.clone());
            let judged =
                status.is_some_and(|status| conditions::is_true(&status.conditions, conditions::DISRUPTED));
            node.filter(|node| match index.node(node).map(|node| node.readiness) {
                None => true,
                Some(Readiness::Ready) => false,
                Some(Readiness::NotReady { since }) => {
                    let passed = now.duration_since(since).max(SignedDuration::ZERO).unsigned_abs();
                    passed >= self.times.repair_after && !judged
                }
            })
        };
        let Some(node) = doubtful else { return Ok(()) };
        let api: Api<ApiNode> = Api::all(self.client.clone());
        if let Some(found) = api.get_opt(&node).await? {
            let changed = self.bus.index.lock().saw_node(adapt::node(&found));
            self.bus.announce_to_planner(&changed);
        }
        Ok(())
    }

    fn observe(&self, name: &Text) -> Option<(Arc<NodeClaim>, Observation)> {
        let index = self.bus.index.lock();
        if !index.is_synced() {
            return None;
        }
        let claim = index.claims.get(name)?;
        let registrant = index.registrant(&claim);
        drop(index);
        let (absence, errors, answer) =
            self.memory(&claim, |memory| (memory.absence, memory.errors, memory.answer.take()));
        Some((claim, Observation { registrant, absence, answer, errors }))
    }

    fn memory<T>(&self, claim: &NodeClaim, use_it: impl FnOnce(&mut Memory) -> T) -> T {
        let mut memories = self.memories.lock().unwrap_or_else(PoisonError::into_inner);
        use_it(memories.entry(claim.uid().unwrap_or_default().into()).or_default())
    }

    fn forget(&self, claim: &NodeClaim) {
        self.memories
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(claim.uid().unwrap_or_default().as_str());
    }

    fn remember_offerings(
        &self,
        claim: &NodeClaim,
        failed: Option<&windlass_core::model::OfferingKey>,
        launched: Option<&windlass_core::model::OfferingKey>,
    ) {
        let provider: Text = claim.spec.provider_ref.name.as_str().into();
        if let Some(key) = failed {
            self.bus.metrics.launch_failed(&provider, "OfferingFailed");
            let changed = self.bus.index.lock().avoid(&provider, key, &self.settings, self.clock.now());
            self.bus.announce(changed);
        }
        if let Some(key) = launched {
            self.bus.index.lock().had(&provider, key);
        }
    }

    /// The status is applied as a whole by its one writer and without a resource version, so that someone who keeps
    /// writing to the claim cannot keep us from it.
    async fn write_status(&self, claim: &NodeClaim, status: &NodeClaimStatus) -> Result<(), kube::Error> {
        let api: Api<NodeClaim> = Api::all(self.client.clone());
        let body = json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "NodeClaim",
            "metadata": {"name": claim.name_any(), "uid": claim.uid()},
            "status": status,
        });
        let parameters = PatchParams::apply(labels::FIELD_MANAGER).force();
        let written = api.patch_status(&claim.name_any(), &parameters, &Patch::Apply(body)).await?;
        let changed = self.bus.index.lock().claims.wrote(written, self.clock.now());
        self.bus.announce_to_planner(&changed);
        Ok(())
    }

    async fn cannot_write(
        &self,
        claim: &NodeClaim,
        seen: &Observation,
        error: &kube::Error,
    ) -> Option<Duration> {
        // What was answered has not been written down yet: look at it again.
        self.memory(claim, |memory| {
            memory.errors = memory.errors.saturating_add(1);
            memory.answer.clone_from(&seen.answer);
        });
        if is_not_found(error) || is_conflict(error) {
            self.look_up(claim).await;
        }
        warn!(claim = claim.name_any(), %error, "the claim's status could not be written");
        Some(self.times.retry_after(seen.errors + 1))
    }

    /// Reads a claim anew where the index and the API server disagree.
    pub(crate) async fn look_up(&self, claim: &NodeClaim) {
        let api: Api<NodeClaim> = Api::all(self.client.clone());
        let (name, uid) = (claim.name_any(), claim.uid().unwrap_or_default());
        let now = self.clock.now();
        let changed = match api.get_opt(&name).await {
            Ok(Some(found)) if found.uid().as_deref() == Some(uid.as_str()) => {
                self.bus.index.lock().claims.saw(found)
            }
            Ok(found) => {
                let mut index = self.bus.index.lock();
                let mut changed = index.claims.lost(&name, &uid, now);
                if let Some(found) = found {
                    changed |= index.claims.saw(found);
                }
                changed
            }
            Err(_) => return,
        };
        self.bus.announce(changed);
    }

    async fn carry_out(&self, claim: &NodeClaim, registrant: &Registrant, effect: &Effect) -> Answer {
        let provider = self.providers.get(&claim.spec.provider_ref.name);
        match effect {
            Effect::Launch(number) => {
                let request = self.launch_request(claim, *number);
                let launched = match request {
                    Ok(request) => match provider {
                        Ok(provider) => provider.launch(&request).await,
                        Err(error) => Err(error),
                    },
                    Err(error) => Err(error),
                };
                match &launched {
                    Ok(machine) => {
                        info!(claim = claim.name_any(), machine = %machine.provider_id, "launched")
                    }
                    Err(error) => {
                        self.bus.metrics.launch_failed(&claim.spec.provider_ref.name, error.kind().as_str());
                        warn!(claim = claim.name_any(), %error, "the launch failed");
                    }
                }
                self.bus.providers.notify_one();
                Answer::Launched(launched)
            }
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

    fn launch_request(&self, claim: &NodeClaim, number: usize) -> Result<LaunchRequest, ProviderError> {
        let model = adapt::claim(claim);
        let Some(offering) = model.offerings.get(number) else {
            return Err(ProviderError::InvalidConfiguration {
                message: format!("the claim has no offering {number}"),
            });
        };
        let unregistered =
            Taint::new(labels::UNREGISTERED_TAINT, "", windlass_core::model::Effect::NoExecute);
        let mut taints = model.taints.clone();
        taints.extend(model.startup_taints.iter().cloned());
        taints.push(unregistered);
        Ok(LaunchRequest {
            tag: self.tag(claim),
            offering: offering.key.clone(),
            capacity: offering.capacity.clone(),
            allocatable: offering.allocatable.clone(),
            price: offering.price,
            labels: model.labels,
            taints,
        })
    }

    async fn change_claim(&self, claim: &NodeClaim, effect: &Effect) -> Result<Answer, kube::Error> {
        let api: Api<NodeClaim> = Api::all(self.client.clone());
        let name = claim.name_any();
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
                let this_one = json!({"op": "test", "path": "/metadata/uid", "value": claim.uid()});
                let patch: Vec<_> = std::iter::once(this_one).chain(added).collect();
                let patch = serde_json::from_value(json!(patch)).map_err(kube::Error::SerdeError)?;
                api.patch(&name, &self.patching(), &Patch::Json::<()>(patch)).await.map(Some)
            }
            Effect::ReleaseClaim => {
                let Some(place) =
                    claim.finalizers().iter().position(|finalizer| finalizer == labels::FINALIZER)
                else {
                    return Ok(Answer::Written);
                };
                let ours = format!("/metadata/finalizers/{place}");
                let patch = json!([
                    {"op": "test", "path": "/metadata/uid", "value": claim.uid()},
                    {"op": "test", "path": ours, "value": labels::FINALIZER},
                    {"op": "remove", "path": ours},
                ]);
                let patch = serde_json::from_value(patch).map_err(kube::Error::SerdeError)?;
                api.patch(&name, &self.patching(), &Patch::Json::<()>(patch)).await.map(Some)
            }
            _ => {
                let this_one = Preconditions { uid: claim.uid(), resource_version: None };
                let parameters = DeleteParams { preconditions: Some(this_one), ..DeleteParams::default() };
                api.delete(&name, &parameters).await.map(|answer| answer.left())
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
                    None => index.claims.lost(&name, &claim.uid().unwrap_or_default(), now),
                };
                drop(index);
                self.bus.announce_to_planner(&changed);
                Ok(Answer::Written)
            }
            Err(error) if is_not_found(&error) || is_conflict(&error) => {
                self.look_up(claim).await;
                if is_not_found(&error) { Ok(Answer::Written) } else { Err(error) }
            }
            Err(error) => Err(error),
        }
    }

    async fn change_node(
        &self,
        claim: &NodeClaim,
        node: &Node,
        effect: &Effect,
    ) -> Result<Answer, kube::Error> {
        let api: Api<ApiNode> = Api::all(self.client.clone());
        match effect {
            Effect::Drain { deadline } => {
                let drain = Drain {
                    client: &self.client,
                    node: &node.name,
                    node_is_ready: node.is_ready(),
                    deadline: *deadline,
                    stuck_pod_grace: self.settings.stuck_pod_grace,
                    now: self.clock.now(),
                };
                return Ok(Answer::Drained(drain.round().await?));
            }
            Effect::ListVolumes => return Ok(Answer::Volumes(self.volumes_on(&node.name).await?)),
            _ => {}
        }
        let written = match effect {
            Effect::MarkNode => {
                let labels_wanted: BTreeMap<&str, &str> = wanted_labels(claim).collect();
                let uid = claim.uid().unwrap_or_default();
                let mut annotations: BTreeMap<&str, &str> = claim
                    .spec
                    .annotations
                    .iter()
                    .map(|(key, value)| (key.as_str(), value.as_str()))
                    .collect();
                annotations.insert(labels::CLAIM_UID, &uid);
                annotations.insert(labels::PROVIDER, &claim.spec.provider_ref.name);
                // Strategic merge adds to maps and to the set of finalizers, so nobody else's entries are touched.
                let body = json!({"metadata": {
                    "uid": &*node.uid, "labels": labels_wanted, "annotations": annotations,
                    "finalizers": [labels::FINALIZER],
                }});
                api.patch(&node.name, &self.patching(), &Patch::Strategic(body)).await
            }
            Effect::OpenNode => self.set_taints(&api, node, |now| opened_taints(now, claim), false).await,
            Effect::CordonNode => self.set_taints(&api, node, cordoned_taints, true).await,
            _ => return self.delete_node(&api, node).await,
        };
        match written {
            Ok(written) => {
                let changed = self.bus.index.lock().saw_node(adapt::node(&written));
                self.bus.announce_to_planner(&changed);
                Ok(Answer::Written)
            }
            Err(error) => {
                self.look_up_node(&api, node).await;
                Err(error)
            }
        }
    }

    /// Replaces the taints by what follows from those that the node has at this moment: one that somebody has removed
    /// since the node was last looked at must not come back.
    async fn set_taints(
        &self,
        api: &Api<ApiNode>,
        node: &Node,
        taints: impl Fn(&Node) -> Vec<Taint>,
        cordon: bool,
    ) -> Result<ApiNode, kube::Error> {
        let current = api.get(&node.name).await?;
        let seen = adapt::node(&current);
        let before = current.spec.as_ref().and_then(|spec| spec.taints.as_ref());
        let mut wanted: Vec<serde_json::Value> = Vec::new();
        for taint in taints(&seen) {
            let effect = format!("{:?}", taint.effect);
            let there = before.into_iter().flatten().find(|there| {
                there.key == *taint.key
                    && there.effect == effect
                    && there.value.as_deref().unwrap_or_default() == &*taint.value
            });
            wanted.push(match there {
                Some(there) => json!(there),
                None => json!({"key": taint.key, "value": taint.value, "effect": effect}),
            });
        }
        let mut patch = vec![json!({"op": "test", "path": "/metadata/uid", "value": &*node.uid})];
        match before {
            Some(before) => {
                patch.push(json!({"op": "test", "path": "/spec/taints", "value": before}));
                patch.push(json!({"op": "replace", "path": "/spec/taints", "value": wanted}));
            }
            None => {
                patch.push(json!({"op": "test", "path": "/spec/taints", "value": null}));
                patch.push(json!({"op": "add", "path": "/spec/taints", "value": wanted}));
            }
        }
        if cordon && !seen.unschedulable {
            patch.push(json!({"op": "add", "path": "/spec/unschedulable", "value": true}));
        }
        let patch = serde_json::from_value(json!(patch)).map_err(kube::Error::SerdeError)?;
        api.patch(&node.name, &self.patching(), &Patch::Json::<()>(patch)).await
    }

    async fn delete_node(&self, api: &Api<ApiNode>, node: &Node) -> Result<Answer, kube::Error> {
        delete_node(api, &node.name, &node.uid).await?;
        let changed = self.bus.index.lock().lost_node(&node.name);
        self.bus.announce_to_planner(&changed);
        Ok(Answer::Written)
    }

    async fn look_up_node(&self, api: &Api<ApiNode>, node: &Node) {
        let changed = match api.get_opt(&node.name).await {
            Ok(Some(found)) => self.bus.index.lock().saw_node(adapt::node(&found)),
            Ok(None) => self.bus.index.lock().lost_node(&node.name),
            Err(_) => return,
        };
        self.bus.announce(changed);
    }

    async fn volumes_on(&self, node: &str) -> Result<Vec<String>, kube::Error> {
        let api: Api<VolumeAttachment> = Api::all(self.client.clone());
        let attachments = api.list(&ListParams::default()).await?.items;
        let here = attachments.iter().filter(|attachment| attachment.spec.node_name == node);
        Ok(here
            .map(|attachment| {
                let volume = attachment.spec.source.persistent_volume_name.clone();
                volume.unwrap_or_else(|| attachment.name_any())
            })
            .collect())
    }

    fn patching(&self) -> PatchParams {
        PatchParams { field_manager: Some(labels::FIELD_MANAGER.to_owned()), ..PatchParams::default() }
    }
}

/// Deletes a node and takes our finalizer off it. The finalizer goes last: a crash in between leaves a node that is
/// still held and still found.
pub(crate) async fn delete_node(api: &Api<ApiNode>, name: &str, uid: &str) -> Result<(), kube::Error> {
    let this_one = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
    let parameters = DeleteParams { preconditions: Some(this_one), ..DeleteParams::default() };
    match api.delete(name, &parameters).await {
        Ok(_) => {}
        Err(error) if is_not_found(&error) || is_conflict(&error) => return Ok(()),
        Err(error) => return Err(error),
    }
    let release =
        json!({"metadata": {"uid": uid, "$deleteFromPrimitiveList/finalizers": [labels::FINALIZER]}});
    let parameters =
        PatchParams { field_manager: Some(labels::FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    match api.patch(name, &parameters, &Patch::Strategic(release)).await {
        Ok(_) => Ok(()),
        Err(error) if is_not_found(&error) || is_conflict(&error) => Ok(()),
        Err(error) => Err(error),
    }
}
