//! Carrying out effects on a claim's node.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node as ApiNode;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::{DeleteParams, ListParams, Patch, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use windlass_api::{NodeClaim, labels};
use windlass_core::model::{Node, Taint};

use super::drain::{Drain, DrainProgress};
use super::node::{cordoned_taints, opened_taints, uncordoned_taints, wanted_labels, was_cordoned};
use super::nomination::nominate;
use super::{Answer, Effect, Shell};
use crate::adapt;
use crate::kubernetes::{is_conflict, is_not_found, is_outdated, is_still, patching, status_code, steps};

impl Shell {
    pub(super) async fn change_node(
        &self,
        claim: &NodeClaim,
        node: &Node,
        effect: &Effect,
    ) -> Result<Answer, kube::Error> {
        let api: Api<ApiNode> = Api::all(self.client.clone());
        match effect {
            Effect::Drain { deadline } => return Ok(Answer::Drained(self.drain(node, *deadline).await?)),
            Effect::Nominate(pods) => {
                nominate(&self.client, &self.bus, &*self.clock, pods, &node.name).await;
                return Ok(Answer::Written);
            }
            Effect::ListVolumes => return Ok(Answer::Volumes(self.volumes_on(&node.name).await?)),
            _ => {}
        }
        let written = match effect {
            Effect::MarkNode => {
                if node.provider_id.is_none() {
                    self.bind_node(&api, node, claim).await?;
                }
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
                api.patch(&node.name, &patching(), &Patch::Strategic(body)).await
            }
            Effect::OpenNode => self.open(&api, node, claim).await,
            Effect::CordonNode => self.set_taints(&api, node, cordoned_taints, Some(true)).await,
            Effect::UncordonNode => {
                let open = (!was_cordoned(node)).then_some(false);
                self.set_taints(&api, node, uncordoned_taints, open).await
            }
            _ => return self.delete_node(&api, node).await,
        };
        match written {
            Ok(written) => {
                let changed = self.bus.index.lock().saw_node(adapt::seen_node(&written));
                self.bus.announce_to_planner(&changed);
                Ok(Answer::Written)
            }
            Err(error) => {
                self.look_up_node(&api, node).await;
                Err(error)
            }
        }
    }

    /// Writes on a node whose kubelet does not say which machine it runs on that it is the claim's. It comes before our
    /// marks: the API server takes it once only, so that of several writers one gets the node, and from then on the node is
    /// found by its machine.
    async fn bind_node(&self, api: &Api<ApiNode>, node: &Node, claim: &NodeClaim) -> Result<(), kube::Error> {
        let id = claim.status.as_ref().and_then(|status| status.provider_id.as_deref());
        let patch = steps(vec![
            is_still(&node.uid),
            json!({"op": "test", "path": "/spec/providerID", "value": null}),
            json!({"op": "add", "path": "/spec/providerID", "value": id}),
        ])?;
        match api.patch(&node.name, &patching(), &patch).await {
            Ok(written) => {
                let changed = self.bus.index.lock().saw_node(adapt::seen_node(&written));
                self.bus.announce_to_planner(&changed);
                Ok(())
            }
            Err(error) => {
                self.look_up_node(api, node).await;
                Err(error)
            }
        }
    }

    /// Keeps new pods off a node that no claim stands for, and asks those there to leave.
    pub(crate) async fn clear(&self, node: &Node) -> Result<DrainProgress, kube::Error> {
        let api: Api<ApiNode> = Api::all(self.client.clone());
        self.set_taints(&api, node, cordoned_taints, Some(true)).await?;
        self.drain(node, None).await
    }

    async fn drain(&self, node: &Node, deadline: Option<Timestamp>) -> Result<DrainProgress, kube::Error> {
        let drain = Drain {
            client: &self.client,
            node: &node.name,
            node_is_ready: node.is_ready(),
            deadline,
            stuck_pod_grace: self.settings.stuck_pod_grace,
            now: self.clock.now(),
        };
        drain.round().await
    }

    /// Lets pods in. Nodes that are opened together are to be open at nearly the same moment, so what is known of the node
    /// is taken for true, and it is looked at anew only if its taints turn out to be others.
    async fn open(&self, api: &Api<ApiNode>, node: &Node, claim: &NodeClaim) -> Result<ApiNode, kube::Error> {
        let known = node.taints.iter().map(as_json).collect();
        let wanted = opened_taints(node, claim).iter().map(as_json).collect();
        match self.replace_taints(api, node, known, wanted, None).await {
            Err(error) if status_code(&error) == Some(422) => {
                self.set_taints(api, node, |now| opened_taints(now, claim), None).await
            }
            outcome => outcome,
        }
    }

    /// Replaces the taints by what follows from those that the node has at this moment: one that somebody has removed
    /// since the node was last looked at must not come back.
    async fn set_taints(
        &self,
        api: &Api<ApiNode>,
        node: &Node,
        taints: impl Fn(&Node) -> Vec<Taint>,
        cordon: Option<bool>,
    ) -> Result<ApiNode, kube::Error> {
        let current = api.get(&node.name).await?;
        let seen = adapt::node(&current);
        let before = current.spec.as_ref().and_then(|spec| spec.taints.as_ref());
        let wanted = taints(&seen).into_iter().map(|taint| {
            let there = before.into_iter().flatten().find(|there| {
                there.key == *taint.key
                    && there.effect == format!("{:?}", taint.effect)
                    && there.value.as_deref().unwrap_or_default() == &*taint.value
            });
            there.map_or_else(|| as_json(&taint), |there| json!(there))
        });
        let wanted = wanted.collect();
        let before = before.into_iter().flatten().map(|taint| json!(taint)).collect();
        let cordon = cordon.filter(|cordon| *cordon != seen.unschedulable);
        self.replace_taints(api, node, before, wanted, cordon).await
    }

    /// Replaces the taints if they are still these.
    async fn replace_taints(
        &self,
        api: &Api<ApiNode>,
        node: &Node,
        before: Vec<Value>,
        wanted: Vec<Value>,
        cordon: Option<bool>,
    ) -> Result<ApiNode, kube::Error> {
        let mut patch = vec![is_still(&node.uid)];
        if before.is_empty() {
            patch.push(json!({"op": "test", "path": "/spec/taints", "value": null}));
            patch.push(json!({"op": "add", "path": "/spec/taints", "value": wanted}));
        } else {
            patch.push(json!({"op": "test", "path": "/spec/taints", "value": before}));
            patch.push(json!({"op": "replace", "path": "/spec/taints", "value": wanted}));
        }
        if let Some(cordon) = cordon {
            patch.push(json!({"op": "add", "path": "/spec/unschedulable", "value": cordon}));
        }
        api.patch(&node.name, &patching(), &steps(patch)?).await
    }

    async fn delete_node(&self, api: &Api<ApiNode>, node: &Node) -> Result<Answer, kube::Error> {
        delete_node(api, &node.name, &node.uid).await?;
        let changed = self.bus.index.lock().lost_node(&node.name);
        self.bus.announce_to_planner(&changed);
        Ok(Answer::Written)
    }

    async fn look_up_node(&self, api: &Api<ApiNode>, node: &Node) {
        let changed = match api.get_opt(&node.name).await {
            Ok(Some(found)) => self.bus.index.lock().saw_node(adapt::seen_node(&found)),
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
}

/// A taint as the API server writes it.
fn as_json(taint: &Taint) -> Value {
    json!(adapt::api_taint(taint))
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
    let parameters = patching();
    match api.patch(name, &parameters, &Patch::Strategic(release)).await {
        Ok(_) => Ok(()),
        Err(error) if is_outdated(&error) => Ok(()),
        Err(error) => Err(error),
    }
}
