//! From API objects to the model, one object at a time. What planning does not look at is dropped here, so that a
//! hundred thousand pods fit in memory.

mod budget;
mod claim;
mod node;
mod node_affinity;
mod pod;
mod pod_affinity;
mod pod_budget;
mod pool;
mod ports;
mod repair;
mod requests;
mod requirement;
mod selector;
mod shape;
mod spread;
mod steadfast;
mod template;
mod volume;

pub use claim::claim;
pub use node::{SeenNode, node, seen_node};
pub use pod::{daemon_set, pod, reserve};
pub use pod_budget::pod_budget;
pub use pool::{PoolDefinition, pool};
pub use repair::Repair;
pub(crate) use requests::requests;
pub use volume::{attach_limits, storage_class, volume, volume_claim};

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use windlass_api::ApiQuantity;
use windlass_core::Text;
use windlass_core::model::{Effect, Labels, Resources, Taint};

/// The labels of a namespace from the API, by which pods may mean the pods in it.
pub fn namespace(namespace: &Namespace) -> Labels {
    labels(namespace.metadata.labels.iter().flatten())
}

/// Amounts from a Kubernetes resource list. The API server has checked them; one that it let through and that makes no
/// sense to us counts as nothing.
fn resources(list: Option<&BTreeMap<String, Quantity>>) -> Resources {
    let amounts = list.into_iter().flatten().filter_map(|(name, quantity)| {
        let parsed = Resources::parse([(name.as_str(), quantity.0.as_str())]).ok()?;
        Some((name.as_str(), parsed.get(name)))
    });
    amounts.collect()
}

/// The same for the lists in our own resources.
pub(crate) fn api_resources(list: &BTreeMap<String, ApiQuantity>) -> Resources {
    let amounts = list.iter().filter_map(|(name, quantity)| {
        let parsed = Resources::parse([(name.as_str(), quantity.as_str())]).ok()?;
        Some((name.as_str(), parsed.get(name)))
    });
    amounts.collect()
}

/// Amounts as our own resources write them.
pub(crate) fn quantities(resources: &Resources) -> BTreeMap<String, ApiQuantity> {
    resources.iter().map(|(name, amount)| (name.to_string(), Resources::show(name, amount).into())).collect()
}

fn labels<'a>(map: impl IntoIterator<Item = (&'a String, &'a String)>) -> Labels {
    map.into_iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
}

/// A taint from our own resources.
pub(crate) fn taint(taint: &windlass_api::Taint) -> Taint {
    let effect = match taint.effect {
        windlass_api::TaintEffect::NoSchedule => Effect::NoSchedule,
        windlass_api::TaintEffect::PreferNoSchedule => Effect::PreferNoSchedule,
        windlass_api::TaintEffect::NoExecute => Effect::NoExecute,
    };
    Taint::new(&taint.key, taint.value.as_deref().unwrap_or(""), effect)
}

fn taints(taints: &[windlass_api::Taint]) -> Vec<Taint> {
    taints.iter().map(taint).collect()
}

/// A taint as our own resources write it.
pub(crate) fn api_taint(taint: &Taint) -> windlass_api::Taint {
    windlass_api::Taint {
        key: taint.key.to_string(),
        value: (!taint.value.is_empty()).then(|| taint.value.to_string()),
        effect: match taint.effect {
            Effect::NoSchedule => windlass_api::TaintEffect::NoSchedule,
            Effect::PreferNoSchedule => windlass_api::TaintEffect::PreferNoSchedule,
            Effect::NoExecute => windlass_api::TaintEffect::NoExecute,
        },
    }
}

fn effect_named(name: &str) -> Option<Effect> {
    match name {
        "NoSchedule" => Some(Effect::NoSchedule),
        "PreferNoSchedule" => Some(Effect::PreferNoSchedule),
        "NoExecute" => Some(Effect::NoExecute),
        _ => None,
    }
}

fn text(option: Option<&String>) -> Text {
    option.map_or("", String::as_str).into()
}
