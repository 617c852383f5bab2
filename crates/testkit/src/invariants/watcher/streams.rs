use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures::{StreamExt as _, pin_mut};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt as _};
use tokio::time::sleep;
use windlass_api::{NodeClaim, NodePool, NodeProvider};

use super::super::event::Kind;
use super::super::facts::RECORD;
use super::court::Court;
use super::{INTERVAL, lock, now};

/// Hands everything that a watch says to the court, for ever.
pub(super) async fn follow(client: Client, kind: Kind, court: Arc<Mutex<Court>>) {
    let config = watcher::Config { label_selector: selector(kind), ..watcher::Config::default() };
    let stream = watcher(api(client, kind), config);
    pin_mut!(stream);
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => lock(&court).watched(kind, event, now()),
            Err(error) => {
                lock(&court).known(kind).problem = Some(error.to_string());
                sleep(INTERVAL).await;
            }
        }
    }
}

/// Whether the watch has seen everything that the API server has now. One that does not answer, as after a restart, is
/// asked again.
pub(super) async fn is_caught_up(client: &Client, kind: Kind, court: &Mutex<Court>) -> bool {
    let params = ListParams { label_selector: selector(kind), ..ListParams::default() };
    let list = api(client.clone(), kind).list_metadata(&params).await;
    let mut court = lock(court);
    let known = court.known(kind);
    match list {
        Ok(list) => {
            let version = list.metadata.resource_version.as_deref();
            let version = version.and_then(|version| version.parse().ok());
            let listed: BTreeMap<String, u64> = list.items.iter().map(name_and_version).collect();
            known.covers(&listed, version.unwrap_or_default())
        }
        Err(error) => {
            known.problem = Some(error.to_string());
            false
        }
    }
}

fn name_and_version(object: &PartialObjectMeta<DynamicObject>) -> (String, u64) {
    let name = object.name_any();
    let name = object.namespace().map_or_else(|| name.clone(), |namespace| format!("{namespace}/{name}"));
    let version = object.resource_version().and_then(|version| version.parse().ok());
    (name, version.unwrap_or_default())
}

fn selector(kind: Kind) -> Option<String> {
    (kind == Kind::Machine).then(|| RECORD.to_owned())
}

fn api(client: Client, kind: Kind) -> Api<DynamicObject> {
    let resource = match kind {
        Kind::NodeClaim => ApiResource::erase::<NodeClaim>(&()),
        Kind::NodePool => ApiResource::erase::<NodePool>(&()),
        Kind::NodeProvider => ApiResource::erase::<NodeProvider>(&()),
        Kind::Node => ApiResource::erase::<Node>(&()),
        Kind::Pod => ApiResource::erase::<Pod>(&()),
        Kind::PodDisruptionBudget => ApiResource::erase::<PodDisruptionBudget>(&()),
        Kind::Machine => ApiResource::erase::<ConfigMap>(&()),
    };
    Api::all_with(client, &resource)
}
