//! What happened, in the order in which it did: the resource versions of all kinds come from one counter.

use std::fmt::Debug;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::Instant;
use windlass_api::{NodeClaim, labels};
use windlass_testkit::eventually;

use crate::hands::PATIENCE;
use crate::lab::Lab;

/// How soon a watch that could not be begun is tried again.
const AGAIN: Duration = Duration::from_millis(200);

/// What is written down about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Claim,
    Node,
    Machine,
    Pod,
}

/// One change of one object.
#[derive(Clone, Debug)]
pub struct Entry {
    pub kind: Kind,
    pub name: String,
    pub version: u64,
    #[allow(dead_code, reason = "not every test binary is about time")]
    pub seen: Instant,
    pub added: bool,
    pub deleted: bool,
    pub object: Value,
}

impl Entry {
    /// The status of one of the object's conditions.
    pub fn condition(&self, kind: &str) -> &str {
        let all = self.object.pointer("/status/conditions").and_then(Value::as_array);
        let found = all.into_iter().flatten().find(|condition| condition["type"] == kind);
        found.and_then(|condition| condition["status"].as_str()).unwrap_or_default()
    }

    /// The entry in a line, for people.
    fn summary(&self) -> String {
        let metadata = &self.object["metadata"];
        format!(
            "{:?} {} at {}: added {}, deleted {}, leaving {}, finalizers {}, conditions {}",
            self.kind,
            self.name,
            self.version,
            self.added,
            self.deleted,
            self.is_leaving(),
            metadata["finalizers"],
            self.object["status"]["conditions"],
        )
    }

    pub fn is_leaving(&self) -> bool {
        !self.object["metadata"]["deletionTimestamp"].is_null()
    }
}

/// Everything that happens to the claims, nodes, machines and pods of a lab, from now on.
pub struct Diary {
    entries: Arc<Mutex<Vec<Entry>>>,
    _tasks: JoinSet<()>,
}

impl Diary {
    pub async fn of(lab: &Lab) -> Self {
        let entries = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        let ours = format!("{}={}", labels::SCOPE, lab.name);
        keep::<NodeClaim>(&entries, &mut tasks, Kind::Claim, lab.claim_api(), &ours).await;
        keep::<Node>(&entries, &mut tasks, Kind::Node, lab.node_api(), &format!("lab={}", lab.name)).await;
        let records = format!("windlass.dev/simulated-machine={}", lab.named("sim"));
        keep::<ConfigMap>(&entries, &mut tasks, Kind::Machine, lab.machine_api(), &records).await;
        keep::<Pod>(&entries, &mut tasks, Kind::Pod, lab.pod_api(), "").await;
        Self { entries, _tasks: tasks }
    }

    pub fn entries(&self) -> Vec<Entry> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone();
        entries.sort_by_key(|entry| entry.version);
        entries
    }

    /// The names of all objects of a kind that came to be.
    pub fn made(&self, kind: Kind) -> Vec<String> {
        let made = self.entries().into_iter().filter(|entry| entry.kind == kind && entry.added);
        made.map(|entry| entry.name).collect()
    }

    /// Waits for the first entry that is what is looked for.
    pub async fn first(&self, what: &str, is_it: impl Fn(&Entry) -> bool) -> Entry {
        eventually(what, PATIENCE, async || {
            let entries = self.entries();
            let last = entries.iter().rev().take(8).map(Entry::summary).collect::<Vec<_>>();
            entries.into_iter().find(&is_it).ok_or(format!("latest first: {last:#?}"))
        })
        .await
    }

    /// Waits until an object is gone.
    pub async fn gone(&self, kind: Kind, name: &str) -> Entry {
        let what = format!("{kind:?} {name} to be gone");
        eventually(&what, PATIENCE, async || {
            let about = |entry: &&Entry| entry.kind == kind && entry.name == name;
            let entries = self.entries();
            let last = entries.iter().rfind(about).map(Entry::summary);
            entries.iter().filter(about).find(|entry| entry.deleted).cloned().ok_or(format!("{last:?}"))
        })
        .await
    }
}

async fn keep<K>(
    entries: &Arc<Mutex<Vec<Entry>>>,
    tasks: &mut JoinSet<()>,
    kind: Kind,
    api: Api<K>,
    selector: &str,
) where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize + Send + 'static,
{
    let start = api.list(&ListParams::default().labels(selector)).await.unwrap();
    let (mut version, entries) = (start.metadata.resource_version.unwrap_or_default(), entries.clone());
    let parameters = WatchParams::default().labels(selector);
    tasks.spawn(async move {
        // A watch ends by itself after a while and may be cut while nothing happens; the next goes on where it ended.
        loop {
            let Ok(events) = api.watch(&parameters, &version).await else {
                tokio::time::sleep(AGAIN).await;
                continue;
            };
            let mut events = pin!(events);
            while let Some(Ok(event)) = events.next().await {
                let (added, deleted, object) = match event {
                    WatchEvent::Added(object) => (true, false, object),
                    WatchEvent::Modified(object) => (false, false, object),
                    WatchEvent::Deleted(object) => (false, true, object),
                    WatchEvent::Bookmark(bookmark) => {
                        version = bookmark.metadata.resource_version;
                        continue;
                    }
                    WatchEvent::Error(status) => panic!("the watch of {kind:?} cannot go on: {status:?}"),
                };
                version = object.resource_version().unwrap();
                let entry = Entry {
                    kind,
                    name: object.name_any(),
                    version: version.parse().unwrap(),
                    seen: Instant::now(),
                    added,
                    deleted,
                    object: serde_json::to_value(&object).unwrap(),
                };
                entries.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
            }
        }
    });
}
