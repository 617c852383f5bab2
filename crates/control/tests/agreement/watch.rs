//! Waiting for objects to be as they should, by watching them.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::pin::Pin;
use std::time::Duration;

use futures::stream::{Stream, StreamExt};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

/// Objects of one kind, by name, as they change.
pub struct Watch<K> {
    events: Pin<Box<dyn Stream<Item = watcher::Result<watcher::Event<K>>>>>,
    objects: BTreeMap<String, K>,
    complete: bool,
}

impl<K> Watch<K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    pub fn new(api: Api<K>, which: watcher::Config) -> Self {
        let events = Box::pin(watcher(api, which).default_backoff());
        Self { events, objects: BTreeMap::new(), complete: false }
    }

    /// The objects once they have been listed, and then whenever something has happened to one.
    pub async fn next(&mut self) -> &BTreeMap<String, K> {
        loop {
            // An error is no end: the watch is taken up again.
            let Some(Ok(event)) = self.events.next().await else { continue };
            match event {
                watcher::Event::Init => self.objects.clear(),
                watcher::Event::InitDone => self.complete = true,
                watcher::Event::InitApply(object) | watcher::Event::Apply(object) => {
                    self.objects.insert(object.name_any(), object);
                }
                watcher::Event::Delete(object) => {
                    self.objects.remove(&object.name_any());
                }
            }
            if self.complete {
                return &self.objects;
            }
        }
    }

    /// Waits until the objects are as they should. When time is up, the error says how they were instead.
    pub async fn until(
        &mut self,
        patience: Duration,
        look: impl Fn(&BTreeMap<String, K>) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut instead =
            if self.complete { look(&self.objects) } else { Err("nothing was seen".to_owned()) };
        let waiting = async {
            while instead.is_err() {
                instead = look(self.next().await);
            }
        };
        let _ = timeout(patience, waiting).await;
        instead
    }
}
