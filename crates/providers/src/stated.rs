//! What users state about machines: amounts and labels.

use std::collections::BTreeMap;

use windlass_api::ApiQuantity;
use windlass_core::model::{Labels, Resources, well_known};

use crate::names::{is_label_value, is_qualified_name};

/// How many pods a machine takes that does not say.
pub(crate) const DEFAULT_PODS: i64 = 110;

/// Amounts as users write them. The error names the field.
pub(crate) fn amounts(field: &str, given: &BTreeMap<String, ApiQuantity>) -> Result<Resources, String> {
    if let Some(name) = given.keys().find(|name| !is_qualified_name(name)) {
        return Err(format!("{field}: {name:?} is not the name of a resource"));
    }
    let list = given.iter().map(|(name, amount)| (name.as_str(), amount.as_str()));
    let amounts = Resources::parse(list).map_err(|(name, error)| format!("{field}: {name}: {error}"))?;
    if let Some((name, _)) = amounts.iter().find(|(_, amount)| *amount < 0) {
        return Err(format!("{field}: {name}: it cannot be negative"));
    }
    Ok(amounts)
}

/// What is left for pods; a system that wants more than there is leaves nothing.
pub(crate) fn less(capacity: &Resources, overhead: &Resources) -> Resources {
    capacity
        .iter()
        .map(|(name, amount)| (&**name, amount.saturating_sub(overhead.get(name)).max(0)))
        .collect()
}

/// The labels of a machine, with those that it has unless it says otherwise.
pub(crate) fn labels(given: &BTreeMap<String, String>) -> Result<Labels, String> {
    let mut labels = plain_labels();
    for (key, value) in given {
        if !is_qualified_name(key) || !is_label_value(value) {
            return Err(format!("labels: {key}: {value:?} is not a label that Kubernetes takes"));
        }
        labels.set(key.as_str(), value.as_str());
    }
    Ok(labels)
}

/// The labels of a machine that says nothing about itself.
pub(crate) fn plain_labels() -> Labels {
    Labels::new().with(well_known::ARCH, "amd64").with(well_known::OS, "linux")
}
