//! What every object has in common.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::kind::ResourceKind;
use super::stored::{entry, finalizers, is_leaving, put, remove, text};

const FIELDS: [&str; 13] = [
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
];

/// A time of day as metadata has it, in whole seconds.
pub(super) fn time(at: Timestamp) -> Value {
    json!(Timestamp::from_second(at.as_second()).unwrap_or(at).to_string())
}

/// Reads an object's metadata: what is not known is left out, and what is empty too. Managed fields are the server's
/// own business, so what a client says of them counts for nothing.
pub(super) fn read(object: &mut Value) -> Result<(), String> {
    let metadata = entry(object, "metadata");
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.retain(|field, value| {
            let is_empty = match value {
                Value::Null => true,
                Value::String(text) => text.is_empty(),
                Value::Array(items) => items.is_empty(),
                Value::Object(map) => map.is_empty(),
                Value::Bool(_) | Value::Number(_) => false,
            };
            !is_empty && FIELDS.contains(&field.as_str())
        });
    }
    for field in ["labels", "annotations"] {
        let texts = metadata.get_mut(field).and_then(Value::as_object_mut);
        for value in texts.into_iter().flat_map(|texts| texts.values_mut()) {
            match value {
                Value::String(_) => {}
                // As Go reads a null into a text.
                Value::Null => *value = json!(""),
                _ => return Err(format!("metadata.{field}: only texts are allowed")),
            }
        }
    }
    let are_texts = |list: &Value| list.as_array().is_some_and(|items| items.iter().all(Value::is_string));
    if metadata.get("finalizers").is_some_and(|list| !are_texts(list)) {
        return Err("metadata.finalizers: only texts are allowed".to_owned());
    }
    let is_text = |field: &str| metadata.get(field).is_none_or(Value::is_string);
    match ["name", "namespace", "uid", "resourceVersion"].into_iter().find(|field| !is_text(field)) {
        Some(field) => Err(format!("metadata.{field}: must be a text")),
        None => Ok(()),
    }
}

/// What an update may not change is as it was before.
pub(super) fn keep(object: &mut Value, before: &Value) {
    let known = &before["metadata"];
    let metadata = entry(object, "metadata");
    if metadata.get("uid").is_none() {
        put(metadata, "uid", known.get("uid"));
    }
    put(metadata, "creationTimestamp", known.get("creationTimestamp"));
    if known.get("deletionTimestamp").is_some() {
        put(metadata, "deletionTimestamp", known.get("deletionTimestamp"));
    }
    if metadata.get("deletionGracePeriodSeconds").is_none() {
        put(metadata, "deletionGracePeriodSeconds", known.get("deletionGracePeriodSeconds"));
    }
}

/// Counts a change of what is wanted of an object.
pub(super) fn count_generation(object: &mut Value) {
    let generation = object["metadata"]["generation"].as_i64().unwrap_or(0);
    object["metadata"]["generation"] = json!(generation + 1);
}

/// What is wrong with an object's metadata.
pub(super) fn fault(kind: &ResourceKind, object: &Value) -> Option<String> {
    let name = text(object, "name");
    if name.is_empty() {
        return Some("metadata.name: Required value: name or generateName is required".to_owned());
    }
    let is_name = match kind.kind {
        "Namespace" => is_label(name),
        "PodDisruptionBudget" => !name.contains(['/', '%']) && name != "." && name != "..",
        _ => name.len() <= 253 && name.split('.').all(is_label),
    };
    if !is_name {
        return Some(format!("metadata.name: Invalid value: \"{name}\""));
    }
    let metadata = &object["metadata"];
    for (key, value) in metadata["labels"].as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        if !is_qualified(key) || !(value.is_empty() || is_short_name(value)) {
            return Some(format!("metadata.labels: Invalid value: \"{key}={value}\""));
        }
    }
    for key in metadata["annotations"].as_object().into_iter().flatten().map(|(key, _)| key) {
        if !is_qualified(&key.to_lowercase()) {
            return Some(format!("metadata.annotations: Invalid value: \"{key}\""));
        }
    }
    // Of built-in kinds only the standard finalizers may do without a domain.
    let is_finalizer = |name: &str| {
        let standard = ["orphan", "foregroundDeletion", "kubernetes"];
        is_qualified(name) && (kind.custom || name.contains('/') || standard.contains(&name))
    };
    let bad = finalizers(object).iter().filter_map(Value::as_str).find(|name| !is_finalizer(name));
    bad.map(|name| format!("metadata.finalizers: Invalid value: \"{name}\""))
}

/// What is wrong with a change of an object's metadata.
pub(super) fn fault_in_change(object: &Value, before: &Value) -> Option<String> {
    if is_leaving(before) {
        let known = finalizers(before);
        if finalizers(object).iter().any(|finalizer| !known.contains(finalizer)) {
            return Some(
                "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted"
                    .to_owned(),
            );
        }
    }
    let fields = ["name", "namespace", "uid", "deletionTimestamp", "deletionGracePeriodSeconds"];
    let changed =
        fields.iter().find(|field| object["metadata"].get(**field) != before["metadata"].get(**field));
    changed.map(|field| format!("metadata.{field}: Invalid value: field is immutable"))
}

/// Takes out what a client may not say of an object that is to be.
pub(super) fn wipe(object: &mut Value) {
    let metadata = entry(object, "metadata");
    for field in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        remove(metadata, field);
    }
}

fn is_label(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= 63
        && name.bytes().all(|byte| plain(byte) || byte == b'-')
        && name.bytes().next().is_some_and(plain)
        && name.bytes().last().is_some_and(plain)
}

fn is_short_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    name.len() <= 63
        && name.bytes().all(|byte| plain(byte) || b"-_.".contains(&byte))
        && name.bytes().next().is_some_and(plain)
        && name.bytes().last().is_some_and(plain)
}

fn is_qualified(name: &str) -> bool {
    match name.split_once('/') {
        None => is_short_name(name),
        Some((domain, name)) => domain.len() <= 253 && domain.split('.').all(is_label) && is_short_name(name),
    }
}
