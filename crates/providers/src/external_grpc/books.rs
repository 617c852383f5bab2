//! The ledgers in the cluster: one `ConfigMap` for each group.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::{ListParams, PostParams};
use windlass_api::labels::{CLUSTER_ID, FIELD_MANAGER};
use windlass_core::Text;

use super::ledger::Ledger;
use super::naming::ledger_name;
use crate::ProviderError;
use crate::api_error::{already_exists, conflict, not_found, provider_error};

/// On ledgers: the provider whose groups they are about.
const PROVIDER_LABEL: &str = "windlass.dev/external-grpc";
const GROUP: &str = "group";
const LEDGER: &str = "ledger";

/// The ledgers of one provider's groups in one cluster. Every read is one that the API server answers with its latest
/// state, and every write is of what was read: of two writers one finds that it has to look again.
#[derive(Clone, Debug)]
pub(super) struct Books {
    pub api: Api<ConfigMap>,
    pub provider: Text,
    pub cluster_id: Text,
}

/// A ledger, and what it was when it was read.
#[derive(Clone, Debug)]
pub(super) struct Book {
    pub group: Text,
    pub ledger: Ledger,
    /// The name of its `ConfigMap`.
    pub name: String,
    written: Option<Written>,
}

#[derive(Clone, Debug)]
struct Written {
    ledger: Ledger,
    version: Option<String>,
}

/// Whether a ledger was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Save {
    /// It is as it should be.
    Done,
    /// Somebody else has written it since it was read.
    Overtaken,
}

impl Books {
    /// All ledgers, or none: one that cannot be read stands for machines that must not be overlooked.
    pub async fn list(&self) -> Result<Vec<Book>, ProviderError> {
        let selector = format!("{PROVIDER_LABEL}={},{CLUSTER_ID}={}", self.provider, self.cluster_id);
        let list = self.api.list(&ListParams::default().labels(&selector)).await;
        let list = list.map_err(|error| provider_error("listing the ledgers of node groups", &error))?;
        list.items.into_iter().map(|config_map| self.read(config_map)).collect()
    }

    /// The ledger of a group, which is empty if there is none.
    pub async fn get(&self, group: &str) -> Result<Book, ProviderError> {
        let name = ledger_name(&self.provider, &self.cluster_id, group);
        let found = self.api.get_opt(&name).await;
        match found.map_err(|error| provider_error(&format!("reading ConfigMap {name}"), &error))? {
            Some(config_map) => self.read(config_map),
            None => Ok(Book { group: group.into(), ledger: Ledger::default(), name, written: None }),
        }
    }

    /// Writes a ledger if it was changed, and if nobody else has written it since it was read.
    pub async fn save(&self, book: &mut Book) -> Result<Save, ProviderError> {
        if book.written.as_ref().map_or(&Ledger::default(), |written| &written.ledger) == &book.ledger {
            return Ok(Save::Done);
        }
        let config_map = self.config_map(book)?;
        let parameters =
            PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let answer = match &book.written {
            None => self.api.create(&parameters, &config_map).await,
            Some(_) => self.api.replace(&book.name, &parameters, &config_map).await,
        };
        match answer {
            Ok(written) => {
                let version = written.metadata.resource_version;
                book.written = Some(Written { ledger: book.ledger.clone(), version });
                Ok(Save::Done)
            }
            Err(error) if already_exists(&error) || conflict(&error) => Ok(Save::Overtaken),
            Err(error) if book.written.is_some() && not_found(&error) => Ok(Save::Overtaken),
            Err(error) => Err(provider_error(&format!("writing ConfigMap {}", book.name), &error)),
        }
    }

    fn config_map(&self, book: &Book) -> Result<ConfigMap, ProviderError> {
        let labels = [(PROVIDER_LABEL, &self.provider), (CLUSTER_ID, &self.cluster_id)];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_string()));
        let ledger = serde_json::to_string(&book.ledger).map_err(ProviderError::transient)?;
        Ok(ConfigMap {
            metadata: ObjectMeta {
                name: Some(book.name.clone()),
                labels: Some(labels.into()),
                resource_version: book.written.as_ref().and_then(|written| written.version.clone()),
                ..ObjectMeta::default()
            },
            data: Some(BTreeMap::from([
                (GROUP.to_owned(), book.group.to_string()),
                (LEDGER.to_owned(), ledger),
            ])),
            ..ConfigMap::default()
        })
    }

    fn read(&self, config_map: ConfigMap) -> Result<Book, ProviderError> {
        let name = config_map.metadata.name.unwrap_or_default();
        let unreadable = |what: &dyn ToString| {
            let what = what.to_string();
            ProviderError::transient(format!(
                "ConfigMap {name}, which says whose instances are, cannot be read; restore it: {what}"
            ))
        };
        let data = config_map.data.unwrap_or_default();
        let part = |key: &str| data.get(key).ok_or_else(|| unreadable(&format!("it has no {key}")));
        let group: Text = part(GROUP)?.as_str().into();
        let ledger: Ledger = serde_json::from_str(part(LEDGER)?).map_err(|error| unreadable(&error))?;
        if ledger_name(&self.provider, &self.cluster_id, &group) != name {
            return Err(unreadable(&format!("it is not about group {group}")));
        }
        let written = Written { ledger: ledger.clone(), version: config_map.metadata.resource_version };
        Ok(Book { group, ledger, name, written: Some(written) })
    }
}
