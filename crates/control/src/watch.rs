mod cluster;
mod ours;
mod volumes;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use futures::{StreamExt, pin_mut};
use jiff::Timestamp;
use kube::api::ObjectMeta;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tracing::{debug, warn};
use windlass_core::model::PodId;
use windlass_providers::{Clock, WatchRetries};

use crate::controller::Bus;
use crate::index::{Changed, Index, Kind};
use crate::kubernetes::{is_forbidden, is_not_found};
use crate::planted::{Mistake, is_planted};
use crate::readable::Readable;

/// A kind of object that the index is kept up with. Nobody outside of this crate can make another.
pub trait Watched: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static {
    /// The kind.
    const KIND: Kind;
    /// Takes in an object.
    fn seen(self, index: &mut Index, now: Timestamp) -> Changed;
    /// Takes in that an object is gone.
    fn lost(gone: &ObjectMeta, index: &mut Index, now: Timestamp) -> Changed;
    /// Takes in that only these objects, named as by [`key`], exist.
    fn retain(index: &mut Index, seen: &BTreeSet<String>, now: Timestamp) -> Changed;
}

/// Keeps the index up with one kind of object, for ever. An object that cannot be read is left out and said to be so;
/// it does not stop the others.
pub(crate) async fn watch<K: Watched>(
    client: Client,
    config: watcher::Config,
    bus: Arc<Bus>,
    clock: Arc<dyn Clock>,
) {
    let api: Api<Readable<K>> = Api::all(client);
    let events = watcher(api, config).backoff(WatchRetries::default());
    pin_mut!(events);
    let mut listing: BTreeSet<String> = BTreeSet::new();
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                if is_unknown(&error) {
                    warn!(kind = ?K::KIND, "the API server does not know this kind: install the custom resources with \"windlass crds | kubectl apply --server-side -f -\"");
                } else if is_closed(&error) {
                    warn!(kind = ?K::KIND, %error, "this kind may not be read, and nothing is decided without it: grant list and watch on it");
                } else {
                    warn!(kind = ?K::KIND, %error, "a watch was interrupted and is taken up again");
                }
                bus.metrics.watch_interrupted(K::KIND);
                bus.index.lock().watch_failed(K::KIND, &error, Instant::now());
                continue;
            }
        };
        let now = clock.now();
        let changed = {
            let mut index = bus.index.lock();
            index.watch_goes_on(K::KIND);
            match event {
                watcher::Event::Init => {
                    listing.clear();
                    Changed::nothing()
                }
                watcher::Event::InitApply(object) => {
                    listing.insert(key(&object));
                    readable(object).map_or_else(Changed::nothing, |object| object.seen(&mut index, now))
                }
                watcher::Event::InitDone => {
                    debug!(kind = ?K::KIND, count = listing.len(), "listed");
                    let listed = std::mem::take(&mut listing);
                    let mut changed = index.listed(K::KIND);
                    if !is_planted(Mistake::KeepsGone) {
                        changed |= K::retain(&mut index, &listed, now);
                    }
                    changed
                }
                watcher::Event::Apply(object) => {
                    readable(object).map_or_else(Changed::nothing, |object| object.seen(&mut index, now))
                }
                watcher::Event::Delete(object) => K::lost(object.meta(), &mut index, now),
            }
        };
        bus.announce(changed);
    }
}

/// Whether the API server has no such kind of object.
fn is_unknown(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::InitialListFailed(error) if is_not_found(error))
}

/// Whether the API server does not let us read this kind.
fn is_closed(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) => {
            is_forbidden(error)
        }
        _ => false,
    }
}

fn readable<K: Watched>(object: Readable<K>) -> Option<K> {
    match object.0 {
        Ok(object) => Some(object),
        Err(unreadable) => {
            let name = unreadable.metadata.name.as_deref().unwrap_or("?");
            warn!(kind = ?K::KIND, name, error = %unreadable.why, "an object cannot be read and is left out");
            None
        }
    }
}

fn key<K: Resource>(object: &K) -> String {
    match &object.meta().namespace {
        Some(namespace) => format!("{namespace}/{}", object.name_any()),
        None => object.name_any(),
    }
}

fn name(object: &ObjectMeta) -> &str {
    object.name.as_deref().unwrap_or_default()
}

fn namespaced(object: &ObjectMeta) -> PodId {
    PodId::new(object.namespace.as_deref().unwrap_or_default(), name(object))
}

#[cfg(test)]
mod tests {
    use kube::Error;
    use kube::core::Status;
    use kube::runtime::watcher;

    use super::{is_closed, is_unknown};

    #[test]
    fn a_kind_that_may_not_be_read_is_told_from_one_that_does_not_exist() {
        let answer = |code| Error::Api(Box::new(Status::failure("no", "No").with_code(code)));
        assert!(is_closed(&watcher::Error::InitialListFailed(answer(403))));
        assert!(is_closed(&watcher::Error::WatchStartFailed(answer(403))));
        assert!(!is_closed(&watcher::Error::InitialListFailed(answer(404))));
        assert!(is_unknown(&watcher::Error::InitialListFailed(answer(404))));
        assert!(!is_unknown(&watcher::Error::InitialListFailed(answer(403))));
    }
}
