use serde_json::{Value, json};

use super::builtin;
use super::kind::ResourceKind;
use super::metadata;
use super::owners::Owners;
use super::refusal::StatusError;
use super::schema::Schema;
use super::stored::{entry, remove, text};

/// What an object is to become, in a form that can be read.
#[derive(Debug)]
pub(super) struct Proposal {
    pub value: Value,
    /// Whose its fields are then, where the proposal has settled that.
    pub owners: Option<Owners>,
}

impl Proposal {
    /// A whole object from a client.
    pub fn sent(kind: &ResourceKind, mut value: Value) -> Result<Self, StatusError> {
        read(kind, &mut value, Nulls::Dropped).map_err(StatusError::bad_request)?;
        // A custom resource under another name is well-formed, and nonsense.
        if value["kind"] != kind.kind {
            let why = format!("kind: Invalid value: {}: must be {}", value["kind"], kind.kind);
            return Err(StatusError::invalid(kind, text(&value, "name"), why));
        }
        Ok(Self { value, owners: None })
    }

    /// What a patch has made of the object.
    pub fn patched(kind: &ResourceKind, mut value: Value) -> Result<Self, StatusError> {
        read(kind, &mut value, Nulls::Dropped).map_err(|why| StatusError::invalid(kind, "", why))?;
        Ok(Self { value, owners: None })
    }

    /// What server-side apply has made of the object.
    pub fn applied(kind: &ResourceKind, mut value: Value, owners: Owners) -> Result<Self, StatusError> {
        read(kind, &mut value, Nulls::Kept).map_err(StatusError::bad_request)?;
        Ok(Self { value, owners: Some(owners) })
    }
}

/// What becomes of nulls where a custom resource may have none: who applies one is refused.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    Dropped,
    Kept,
}

/// Reads an object as the server does: nonsense is refused, what is not known left out, and defaults put in.
fn read(kind: &ResourceKind, value: &mut Value, nulls: Nulls) -> Result<(), String> {
    if !value.is_object() {
        return Err("it is no object".to_owned());
    }
    for (field, expected) in [("apiVersion", kind.api_version), ("kind", kind.kind)] {
        match value[field].as_str().filter(|found| !found.is_empty()) {
            Some(found) if found != expected && !(kind.custom && field == "kind") => {
                return Err(format!(
                    "the {field} in the data ({found}) does not match the expected ({expected})"
                ));
            }
            Some(_) => {}
            None if kind.custom => return Err(format!("Object '{field}' is missing")),
            None => value[field] = json!(expected),
        }
    }
    metadata::read(value)?;
    match Schema::of(kind) {
        Some(schema) => {
            if nulls == Nulls::Dropped {
                schema.drop_nulls(value);
            }
            schema.complete(value);
        }
        None => builtin::read(kind, value),
    }
    Ok(())
}

/// An object is in the namespace that the request names.
pub(super) fn settle_namespace(
    kind: &ResourceKind,
    value: &mut Value,
    namespace: &str,
) -> Result<(), StatusError> {
    let found = text(value, "namespace");
    if !kind.namespaced || found == namespace {
        if !kind.namespaced {
            remove(entry(value, "metadata"), "namespace");
        }
        return Ok(());
    }
    if !found.is_empty() {
        return Err(StatusError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    entry(value, "metadata")["namespace"] = json!(namespace);
    Ok(())
}

pub(super) fn check_name(value: &Value, name: &str) -> Result<(), StatusError> {
    let found = text(value, "name");
    if found.is_empty() {
        let message =
            format!("the name of the object ({name} based on URL) was undeterminable: name must be provided");
        return Err(StatusError::bad_request(message));
    }
    if found == name {
        return Ok(());
    }
    let message = format!("the name of the object ({found}) does not match the name on the URL ({name})");
    Err(StatusError::bad_request(message))
}
