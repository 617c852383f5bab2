//! The machines' records in the cluster, which are all that a simulated provider knows of them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, ListParams, Patch, Preconditions};
use kube::{Api, Client};
use serde_json::json;
use windlass_api::labels::{CAPACITY_TYPE, CLUSTER_ID, INSTANCE_TYPE, ZONE};
use windlass_core::Text;
use windlass_core::model::OfferingKey;

use super::naming::provider_id;
use super::record::{PROVIDER_LABEL, REGISTERED_AT, Record, RecordError, Stored};
use super::writer::{patching, posting};
use crate::api_error::{already_exists, not_found, provider_error};
use crate::{ProviderError, Termination};

/// The records of one provider's machines in one cluster. Every read is one that the API server answers with its
/// latest state.
#[derive(Clone, Debug)]
pub(super) struct Records {
    pub api: Api<ConfigMap>,
    namespaces: Api<Namespace>,
    namespace: String,
    provider: Text,
    cluster_id: Text,
}

impl Records {
    pub fn new(client: Client, namespace: String, provider: Text, cluster_id: Text) -> Self {
        let api = Api::namespaced(client.clone(), &namespace);
        Self { api, namespaces: Api::all(client), namespace, provider, cluster_id }
    }

    /// What selects the records of this provider in this cluster.
    pub fn selector(&self) -> String {
        format!("{PROVIDER_LABEL}={},{CLUSTER_ID}={}", self.provider, self.cluster_id)
    }

    /// Writes a new record, and makes their namespace if there is none yet. None says that there is something of this
    /// name already: as with a cloud's client token it is the API server that makes a second launch impossible.
    pub async fn create(&self, name: &str, record: &Record) -> Result<Option<Stored>, ProviderError> {
        let doing = format!("launching machine {name}");
        let config_map = record.to_config_map(name, &self.provider).map_err(ProviderError::transient)?;
        let mut created = self.api.create(&posting(), &config_map).await;
        if created.as_ref().is_err_and(not_found) {
            self.create_namespace().await?;
            created = self.api.create(&posting(), &config_map).await;
        }
        match created {
            Ok(created) => Ok(Some(self.read(&created)?)),
            Err(error) if already_exists(&error) => Ok(None),
            Err(error) => Err(provider_error(&doing, &error)),
        }
    }

    async fn create_namespace(&self) -> Result<(), ProviderError> {
        let metadata = ObjectMeta { name: Some(self.namespace.clone()), ..ObjectMeta::default() };
        let namespace = Namespace { metadata, ..Namespace::default() };
        match self.namespaces.create(&posting(), &namespace).await {
            Err(error) if !already_exists(&error) => {
                let doing = format!("creating namespace {} for the machines' records", self.namespace);
                Err(provider_error(&doing, &error))
            }
            _ => Ok(()),
        }
    }

    /// Reads one record. What has its name and is no record of this provider is not ours.
    pub async fn get(&self, name: &str) -> Result<Option<Stored>, ProviderError> {
        let found = self.api.get_opt(name).await;
        let found = found.map_err(|error| provider_error(&format!("reading machine {name}"), &error))?;
        found.map(|config_map| self.read(&config_map)).transpose()
    }

    /// Whether there is a record, or anything else in its place.
    pub async fn exists(&self, name: &str) -> Result<bool, kube::Error> {
        Ok(self.api.get_opt(name).await?.is_some())
    }

    /// Reads all records, or none: one that cannot be read stands for a machine that must not be overlooked.
    pub async fn list(&self) -> Result<Vec<Stored>, ProviderError> {
        self.select(&self.selector()).await?.iter().map(|config_map| self.read(config_map)).collect()
    }

    /// How many machines each offering has, for all clusters.
    pub async fn count(&self) -> Result<BTreeMap<OfferingKey, u32>, ProviderError> {
        let mut counts = BTreeMap::new();
        for config_map in self.select(&format!("{PROVIDER_LABEL}={}", self.provider)).await? {
            let labels = config_map.metadata.labels.unwrap_or_default();
            let label = |key| labels.get(key).map_or("", String::as_str).into();
            let key = OfferingKey {
                instance_type: label(INSTANCE_TYPE),
                zone: label(ZONE),
                capacity_type: label(CAPACITY_TYPE),
            };
            *counts.entry(key).or_default() += 1;
        }
        Ok(counts)
    }

    /// How many machines one offering has, for all clusters.
    pub async fn count_of(&self, key: &OfferingKey) -> Result<usize, ProviderError> {
        let OfferingKey { instance_type, zone, capacity_type } = key;
        let selector = format!(
            "{PROVIDER_LABEL}={},{INSTANCE_TYPE}={instance_type},{ZONE}={zone},{CAPACITY_TYPE}={capacity_type}",
            self.provider
        );
        Ok(self.select(&selector).await?.len())
    }

    async fn select(&self, selector: &str) -> Result<Vec<ConfigMap>, ProviderError> {
        let list = self.api.list(&ListParams::default().labels(selector)).await;
        Ok(list.map_err(|error| provider_error("listing machines", &error))?.items)
    }

    /// Deletes this very record.
    pub async fn delete(&self, stored: &Stored) -> Result<Termination, ProviderError> {
        let same = Preconditions { uid: Some(stored.uid.clone()), ..Preconditions::default() };
        match self.api.delete(&stored.name, &DeleteParams::default().preconditions(same)).await {
            Ok(answer) => {
                let finalizers = answer.left().and_then(|left| left.metadata.finalizers).unwrap_or_default();
                Ok(if finalizers.is_empty() { Termination::Gone } else { Termination::UnderWay })
            }
            Err(error) if not_found(&error) => Ok(Termination::Gone),
            Err(error) => Err(provider_error(&format!("terminating machine {}", stored.name), &error)),
        }
    }

    /// Notes in this very record that the machine has become a node.
    pub async fn note_registration(&self, stored: &Stored, at: Timestamp) -> Result<(), kube::Error> {
        let note = json!({"metadata": {"uid": stored.uid}, "data": {REGISTERED_AT: at}});
        let parameters = patching();
        self.api.patch(&stored.name, &parameters, &Patch::Merge(note)).await?;
        Ok(())
    }

    fn read(&self, config_map: &ConfigMap) -> Result<Stored, ProviderError> {
        Stored::read(config_map, &self.provider).map_err(|error| match error {
            RecordError::NotARecord(ref name) => ProviderError::NotOurs {
                provider_id: provider_id(&self.provider, name).to_string(),
                message: error.to_string(),
            },
            RecordError::Contradicts(_) | RecordError::Unreadable { .. } => ProviderError::transient(error),
        })
    }
}
