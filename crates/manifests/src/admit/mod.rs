//! What the API server and the controllers behind it make of an object: what they refuse, and what they set.

mod claims;
mod node;
mod ours;
mod pod;
mod pool;
mod priority;

pub(crate) use claims::{Storage, ephemeral_claims};
pub(crate) use node::node;
pub(crate) use ours::{claim, provider};
pub(crate) use pod::{daemon_set, pod};
pub(crate) use pool::pool;
pub(crate) use priority::Priorities;

use kube::Resource;
use kube::api::ObjectMeta;

/// An object that says nothing of a namespace is in `default`.
pub(crate) fn in_namespace<K: Resource>(mut object: K) -> K {
    settle_namespace(object.meta_mut());
    object
}

fn settle_namespace(metadata: &mut ObjectMeta) {
    metadata.namespace.get_or_insert_with(|| "default".to_owned());
}
