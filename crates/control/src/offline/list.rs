use std::fmt::Debug;

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::{CSINode, StorageClass};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt as _};
use windlass_api::{NodeClaim, NodePool, NodeProvider};

use super::Cluster;
use crate::buffers;
use crate::index::Kind;
use crate::kubernetes::{is_forbidden, is_not_found};
use crate::readable::Readable;
use crate::watch::Watched;

/// How many objects are asked for at once.
const PAGE: u32 = 500;

/// Why the objects of a cluster could not be listed.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The API server does not let us.
    #[error("objects of kind {kind:?} may not be listed: grant list on them, or no plan can be made")]
    Forbidden {
        /// The kind.
        kind: Kind,
        /// The API server's words.
        source: kube::Error,
    },
    /// Anything else.
    #[error("objects of kind {kind:?} could not be listed")]
    Failed {
        /// The kind.
        kind: Kind,
        /// What happened.
        source: kube::Error,
    },
}

impl Cluster {
    /// Takes in all that a live cluster has, of our own kinds only what this selector of labels selects. Says what was left
    /// out.
    pub async fn list(&mut self, client: &Client, ours: &str) -> Result<Vec<String>, ListError> {
        let selector = ours;
        let (all, ours) = (ListParams::default().limit(PAGE), ListParams::default().limit(PAGE).labels(ours));
        let mut notes = Vec::new();
        self.list_kind::<Namespace>(client, &all, &mut notes, Self::saw).await?;
        self.list_kind::<PodDisruptionBudget>(client, &all, &mut notes, Self::saw).await?;
        self.list_kind::<StorageClass>(client, &all, &mut notes, Self::saw).await?;
        self.list_kind::<PersistentVolume>(client, &all, &mut notes, Self::saw).await?;
        self.list_kind::<PersistentVolumeClaim>(client, &all, &mut notes, Self::saw).await?;
        self.list_kind::<CSINode>(client, &all, &mut notes, Self::saw).await?;
        self.list_kind::<Node>(client, &all, &mut notes, Self::saw).await?;
        self.list_kind::<DaemonSet>(client, &all, &mut notes, Self::saw).await?;
        self.list_kind::<NodeProvider>(client, &ours, &mut notes, Self::saw).await?;
        self.list_kind::<NodePool>(client, &ours, &mut notes, Self::saw).await?;
        self.list_kind::<NodeClaim>(client, &ours, &mut notes, Self::saw).await?;
        self.list_kind::<Pod>(client, &all, &mut notes, Self::saw_pod).await?;
        self.read_buffers(client, selector, &mut notes).await;
        Ok(notes)
    }

    /// Takes in what `CapacityBuffer`s ask for. They are an addition that few have the permission to read, so a plan is made
    /// without them too.
    async fn read_buffers(&mut self, client: &Client, selector: &str, notes: &mut Vec<String>) {
        match buffers::wanted(client, selector).await {
            Ok((pods, left_out)) => {
                self.index.saw_buffered(pods);
                notes.extend(left_out);
            }
            Err(error) => notes.push(format!(
                "CapacityBuffers cannot be read, so nodes that are kept for them may be shown as going: {error}"
            )),
        }
    }

    async fn list_kind<K: Watched>(
        &mut self,
        client: &Client,
        parameters: &ListParams,
        notes: &mut Vec<String>,
        take: impl Fn(&mut Self, K),
    ) -> Result<(), ListError> {
        let api: Api<Readable<K>> = Api::all(client.clone());
        let mut parameters = parameters.clone();
        loop {
            let page = match api.list(&parameters).await {
                Ok(page) => page,
                Err(error) if is_not_found(&error) => {
                    notes.push(format!(
                        "the cluster does not know objects of kind {:?}: none of them are taken into account",
                        K::KIND
                    ));
                    return Ok(());
                }
                Err(source) if is_forbidden(&source) => {
                    return Err(ListError::Forbidden { kind: K::KIND, source });
                }
                Err(source) => return Err(ListError::Failed { kind: K::KIND, source }),
            };
            for object in page.items {
                let name = object.name_any();
                match object.0 {
                    Ok(object) => take(self, object),
                    Err(unreadable) => notes.push(format!(
                        "{:?} {name} of the cluster cannot be read and is left out: {}",
                        K::KIND,
                        unreadable.why
                    )),
                }
            }
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => parameters = parameters.continue_token(&token),
                None => return Ok(()),
            }
        }
    }
}
