use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use futures::{StreamExt, pin_mut};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::ObjectMeta;
use kube::core::DeserializeGuard;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tracing::{debug, warn};
use windlass_api::{NodeClaim, NodePool, NodeProvider};
use windlass_core::model::PodId;
use windlass_providers::Clock;

use crate::adapt;
use crate::controller::Bus;
use crate::index::{Changed, Index, Kind};
use crate::kubernetes::{is_not_found, version};

/// A kind of object that the index is kept up with.
pub(crate) trait Watched:
    Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static
{
    const KIND: Kind;
    fn seen(self, index: &mut Index, now: Timestamp) -> Changed;
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
    let api: Api<DeserializeGuard<K>> = Api::all(client);
    let events = watcher(api, config).default_backoff();
    pin_mut!(events);
    let mut listing: BTreeSet<String> = BTreeSet::new();
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                if is_unknown(&error) {
                    warn!(kind = ?K::KIND, "the API server does not know this kind: install the custom resources with \"windlass crds | kubectl apply --server-side -f -\"");
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
                    let mut changed = K::retain(&mut index, &std::mem::take(&mut listing), now);
                    changed |= index.listed(K::KIND);
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

fn readable<K: Watched>(object: DeserializeGuard<K>) -> Option<K> {
    match object.0 {
        Ok(object) => Some(object),
        Err(invalid) => {
            let name = invalid.metadata.name.as_deref().unwrap_or("?");
            warn!(kind = ?K::KIND, name, error = %invalid.error, "an object cannot be read and is left out");
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

impl Watched for Pod {
    const KIND: Kind = Kind::Pod;

    fn seen(self, index: &mut Index, now: Timestamp) -> Changed {
        match adapt::pod(&self) {
            Some(pod) => index.saw_pod(pod, now),
            None => index.lost_pod(&namespaced(&self.metadata), now),
        }
    }

    fn lost(gone: &ObjectMeta, index: &mut Index, now: Timestamp) -> Changed {
        index.lost_pod(&namespaced(gone), now)
    }

    fn retain(index: &mut Index, seen: &BTreeSet<String>, now: Timestamp) -> Changed {
        index.retain_pods(seen, now)
    }
}

impl Watched for Node {
    const KIND: Kind = Kind::Node;

    fn seen(self, index: &mut Index, _: Timestamp) -> Changed {
        let version = version(self.metadata.resource_version.as_deref());
        index.saw_node(adapt::node(&self), version)
    }

    fn lost(gone: &ObjectMeta, index: &mut Index, _: Timestamp) -> Changed {
        index.lost_node(name(gone))
    }

    fn retain(index: &mut Index, seen: &BTreeSet<String>, _: Timestamp) -> Changed {
        index.retain_nodes(seen)
    }
}

impl Watched for DaemonSet {
    const KIND: Kind = Kind::DaemonSet;

    fn seen(self, index: &mut Index, _: Timestamp) -> Changed {
        adapt::daemon_set(&self).map_or_else(Changed::nothing, |set| index.saw_daemon_set(set))
    }

    fn lost(gone: &ObjectMeta, index: &mut Index, _: Timestamp) -> Changed {
        index.lost_daemon_set(&namespaced(gone))
    }

    fn retain(index: &mut Index, seen: &BTreeSet<String>, _: Timestamp) -> Changed {
        index.retain_daemon_sets(seen)
    }
}

impl Watched for NodeProvider {
    const KIND: Kind = Kind::NodeProvider;

    fn seen(self, index: &mut Index, _: Timestamp) -> Changed {
        index.saw_provider(self)
    }

    fn lost(gone: &ObjectMeta, index: &mut Index, _: Timestamp) -> Changed {
        index.lost_provider(name(gone))
    }

    fn retain(index: &mut Index, seen: &BTreeSet<String>, _: Timestamp) -> Changed {
        index.retain_providers(seen)
    }
}

impl Watched for NodePool {
    const KIND: Kind = Kind::NodePool;

    fn seen(self, index: &mut Index, _: Timestamp) -> Changed {
        index.saw_pool(adapt::pool(&self))
    }

    fn lost(gone: &ObjectMeta, index: &mut Index, _: Timestamp) -> Changed {
        index.lost_pool(name(gone))
    }

    fn retain(index: &mut Index, seen: &BTreeSet<String>, _: Timestamp) -> Changed {
        index.retain_pools(seen)
    }
}

impl Watched for NodeClaim {
    const KIND: Kind = Kind::NodeClaim;

    fn seen(self, index: &mut Index, _: Timestamp) -> Changed {
        index.claims.saw(self)
    }

    fn lost(gone: &ObjectMeta, index: &mut Index, now: Timestamp) -> Changed {
        index.claims.lost(name(gone), gone.uid.as_deref().unwrap_or_default(), now)
    }

    fn retain(index: &mut Index, seen: &BTreeSet<String>, now: Timestamp) -> Changed {
        index.claims.retain(seen, now)
    }
}
