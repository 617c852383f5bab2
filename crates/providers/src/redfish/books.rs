//! The ledger in the cluster: one `ConfigMap` for each provider, with what is known of a host under the host's name.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::PostParams;
use tokio::sync::Mutex;
use windlass_api::labels::{CLUSTER_ID, FIELD_MANAGER};
use windlass_core::Text;

use super::ledger::{Ledger, Record};
use super::naming::ledger_name;
use crate::ProviderError;
use crate::api_error::{already_exists, conflict, not_found, provider_error};

/// On ledgers: the provider whose hosts they are about.
const PROVIDER_LABEL: &str = "windlass.dev/redfish";
/// How often a change is made anew because somebody else was faster.
const TRIES: usize = 20;

/// The ledger of one provider in one cluster. Every read is one that the API server answers with its latest state, and
/// every write is of what was read: of two writers one looks again.
#[derive(Debug)]
pub(super) struct Books {
    api: Api<ConfigMap>,
    provider: Text,
    cluster_id: Text,
    /// Whose turn it is to write in this process.
    turn: Mutex<()>,
}

/// A ledger as it was read.
struct Book {
    ledger: Ledger,
    version: Option<String>,
}

impl Books {
    pub fn new(api: Api<ConfigMap>, provider: Text, cluster_id: Text) -> Self {
        Self { api, provider, cluster_id, turn: Mutex::default() }
    }

    /// The ledger as it is now.
    pub async fn read(&self) -> Result<Ledger, ProviderError> {
        Ok(self.open().await?.ledger)
    }

    /// Changes the ledger. What is to be changed is decided on the ledger as it is, as often as somebody else writes it at the
    /// same time; what was decided is in the cluster when this returns.
    pub async fn change<T>(&self, mut change: impl FnMut(&mut Ledger) -> T) -> Result<T, ProviderError> {
        let _turn = self.turn.lock().await;
        for _ in 0..TRIES {
            let Book { ledger: before, version } = self.open().await?;
            let mut ledger = before.clone();
            let outcome = change(&mut ledger);
            if ledger == before || self.write(&ledger, version).await? {
                return Ok(outcome);
            }
        }
        let message = format!("others keep writing to ConfigMap {}", self.name());
        Err(ProviderError::transient(message))
    }

    fn name(&self) -> String {
        ledger_name(&self.provider, &self.cluster_id)
    }

    async fn open(&self) -> Result<Book, ProviderError> {
        let name = self.name();
        let found = self.api.get_opt(&name).await;
        let found = found.map_err(|error| provider_error(&format!("reading ConfigMap {name}"), &error))?;
        let Some(config_map) = found else { return Ok(Book { ledger: Ledger::default(), version: None }) };
        let mut records = BTreeMap::new();
        for (host, text) in config_map.data.unwrap_or_default() {
            let record: Record = serde_json::from_str(&text).map_err(|error| {
                ProviderError::transient(format!(
                    "host {host} in ConfigMap {name}, which says whose hosts are, cannot be read; restore it: {error}"
                ))
            })?;
            records.insert(host.into(), record);
        }
        Ok(Book { ledger: Ledger::new(records), version: config_map.metadata.resource_version })
    }

    /// Whether nobody else has written in the meantime.
    async fn write(&self, ledger: &Ledger, version: Option<String>) -> Result<bool, ProviderError> {
        let name = self.name();
        let labels = [(PROVIDER_LABEL, &self.provider), (CLUSTER_ID, &self.cluster_id)];
        let mut data = BTreeMap::new();
        for (host, record) in ledger.records() {
            let text = serde_json::to_string(record).map_err(ProviderError::transient)?;
            data.insert(host.to_string(), text);
        }
        let config_map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                labels: Some(labels.map(|(key, value)| (key.to_owned(), value.to_string())).into()),
                resource_version: version.clone(),
                ..ObjectMeta::default()
            },
            data: Some(data),
            ..ConfigMap::default()
        };
        let parameters =
            PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let answer = match version {
            None => self.api.create(&parameters, &config_map).await,
            Some(_) => self.api.replace(&name, &parameters, &config_map).await,
        };
        match answer {
            Ok(_) => Ok(true),
            Err(error) if already_exists(&error) || conflict(&error) || not_found(&error) => Ok(false),
            Err(error) => Err(provider_error(&format!("writing ConfigMap {name}"), &error)),
        }
    }
}
