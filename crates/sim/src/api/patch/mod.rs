//! The ways in which a part of an object is changed.

mod json;
mod strategic;

use serde_json::Value;

use super::kind::ResourceKind;
use super::refusal::StatusError;

/// Whether an object of this kind can be patched in this way.
pub(super) fn check(kind: &ResourceKind, content_type: &str) -> Result<(), StatusError> {
    let known = match content_type {
        "application/json-patch+json" | "application/merge-patch+json" => true,
        "application/strategic-merge-patch+json" => !kind.custom,
        "application/apply-patch+yaml" => kind.custom,
        _ => false,
    };
    if known {
        return Ok(());
    }
    let message = format!("the body of the request was in an unknown format: {content_type}");
    Err(StatusError::new(415, "UnsupportedMediaType", message))
}

/// The object as a patch of this content type makes it.
pub(super) fn patched(content_type: &str, patch: Value, mut object: Value) -> Result<Value, StatusError> {
    match content_type {
        "application/json-patch+json" => json::apply(&mut object, &patch)?,
        "application/strategic-merge-patch+json" => strategic::merge(&mut object, patch)?,
        _ if !patch.is_object() => {
            return Err(StatusError::bad_request("error decoding patch: it is no object"));
        }
        _ => merge(&mut object, patch),
    }
    Ok(object)
}

/// RFC 7386: maps are merged, null removes, and everything else replaces.
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let Value::Object(target) = target else { return };
    for (key, value) in patch {
        if value.is_null() {
            target.remove(&key);
        } else {
            merge(target.entry(key).or_insert(Value::Null), value);
        }
    }
}
