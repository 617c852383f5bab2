use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tracing::debug;
use windlass_api::labels::FIELD_MANAGER;
use windlass_providers::Clock;

use crate::Metrics;
use crate::kubernetes::is_refusal;

/// How much there is to say at once before the rest is dropped: events are for people, and must never hold up the work.
const BACKLOG: usize = 1000;
/// The same thing is not said again within this time.
const REPEAT_AFTER: Duration = Duration::from_secs(5 * 60);

/// How often an event is tried to be written, and how long apart.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// Something to tell a person about an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// The object.
    pub about: ObjectReference,
    /// Whether something is wrong.
    pub warning: bool,
    /// The reason in one word.
    pub reason: &'static str,
    /// What was decided or happened, and why.
    pub message: String,
}

/// Writes Kubernetes events, in the background and without ever failing anyone.
#[derive(Debug)]
pub(crate) struct Events {
    queue: mpsc::Sender<Note>,
    said: Mutex<BTreeMap<(String, &'static str, String), Instant>>,
    metrics: Metrics,
}

/// The other end of [`Events`].
pub(crate) struct EventWriter {
    queue: tokio::sync::Mutex<mpsc::Receiver<Note>>,
    client: Client,
    clock: Arc<dyn Clock>,
    identity: String,
}

pub(crate) fn events(
    client: Client,
    clock: Arc<dyn Clock>,
    identity: String,
    metrics: Metrics,
) -> (Events, EventWriter) {
    let (sender, receiver) = mpsc::channel(BACKLOG);
    let events = Events { queue: sender, said: Mutex::default(), metrics };
    (events, EventWriter { queue: tokio::sync::Mutex::new(receiver), client, clock, identity })
}

impl Events {
    /// Says something, unless the same was said a short while ago.
    pub(crate) fn say(&self, note: Note) {
        let now = Instant::now();
        let object = note.about.uid.clone().unwrap_or_else(|| note.about.name.clone().unwrap_or_default());
        let key = (object, note.reason, note.message.clone());
        {
            let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            if said.len() > 10 * BACKLOG {
                said.retain(|_, at| now.duration_since(*at) < REPEAT_AFTER);
            }
            if said.get(&key).is_some_and(|at| now.duration_since(*at) < REPEAT_AFTER) {
                return;
            }
            said.insert(key, now);
        }
        if self.queue.try_send(note).is_err() {
            self.metrics.event_dropped();
        }
    }
}

impl EventWriter {
    /// Writes what is said, for ever.
    pub(crate) async fn run(&self) {
        let mut queue = self.queue.lock().await;
        while let Some(note) = queue.recv().await {
            let namespace = note.about.namespace.clone().unwrap_or_else(|| "default".to_owned());
            let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
            let parameters =
                PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
            let event = self.event(note, namespace);
            for _ in 0..TRIES {
                match api.create(&parameters, &event).await {
                    // A moment without the lease or without an answer must not cost an event that is not said again.
                    Err(error) if !is_refusal(&error) => {
                        debug!(%error, "an event could not be written");
                        sleep(PAUSE).await;
                    }
                    _ => break,
                }
            }
        }
    }

    fn event(&self, note: Note, namespace: String) -> Event {
        let (prefix, now) = (note.about.name.clone().unwrap_or_default(), self.clock.now());
        let mut message = note.message;
        if let Some((cut, _)) = message.char_indices().nth(1000) {
            message.truncate(cut);
        }
        Event {
            metadata: ObjectMeta {
                name: Some(format!("{prefix}.{:x}", now.as_nanosecond())),
                namespace: Some(namespace),
                ..ObjectMeta::default()
            },
            action: Some(note.reason.to_owned()),
            event_time: Some(MicroTime(now)),
            note: Some(message),
            reason: Some(note.reason.to_owned()),
            regarding: Some(note.about),
            reporting_controller: Some("windlass.dev/controller".to_owned()),
            reporting_instance: Some(self.identity.chars().take(128).collect()),
            type_: Some(if note.warning { "Warning" } else { "Normal" }.to_owned()),
            ..Event::default()
        }
    }
}

/// A reference to an object of one of our kinds, or to a node or pod.
pub(crate) fn about<K: kube::Resource<DynamicType = ()>>(object: &K) -> ObjectReference {
    object.object_ref(&())
}

/// A reference to a pod.
pub(crate) fn about_pod(pod: &windlass_core::model::Pod) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Pod".to_owned()),
        namespace: Some(pod.id.namespace.to_string()),
        name: Some(pod.id.name.to_string()),
        uid: Some(pod.uid.to_string()),
        ..ObjectReference::default()
    }
}

/// A reference to one of our cluster-scoped objects.
pub(crate) fn about_ours(kind: &str, name: &str, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some(format!("{}/v1alpha1", windlass_api::labels::GROUP)),
        kind: Some(kind.to_owned()),
        name: Some(name.to_owned()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    }
}
