use std::sync::OnceLock;

use bytes::Bytes;
use serde_json::{Value, json};

use super::owners::Owners;
use super::refusal::bytes;

/// One version of an object. Its bytes are made once, however many lists and watches show it.
#[derive(Debug)]
pub struct Stored {
    value: Value,
    version: u64,
    bytes: OnceLock<Bytes>,
    pub(super) owners: Owners,
}

impl Stored {
    /// `value` must carry `version` as its resource version.
    pub(super) fn new(value: Value, version: u64, owners: Owners) -> Self {
        Self { value, version, bytes: OnceLock::new(), owners }
    }

    /// The object.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The object as it goes over the wire.
    pub fn bytes(&self) -> &Bytes {
        self.bytes.get_or_init(|| bytes(&self.value))
    }

    /// Its resource version.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Its name.
    pub fn name(&self) -> &str {
        text(&self.value, "name")
    }

    /// Its namespace; empty for what lives in none.
    pub fn namespace(&self) -> &str {
        text(&self.value, "namespace")
    }

    /// Its UID.
    pub fn uid(&self) -> &str {
        text(&self.value, "uid")
    }

    /// Whether it is being deleted.
    pub fn is_leaving(&self) -> bool {
        is_leaving(&self.value)
    }
}

/// A text of an object's metadata; empty where there is none.
pub(super) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

pub(super) fn is_leaving(object: &Value) -> bool {
    object["metadata"].get("deletionTimestamp").is_some()
}

pub(super) fn finalizers(object: &Value) -> &[Value] {
    object["metadata"]["finalizers"].as_array().map_or(&[], Vec::as_slice)
}

/// The map under a key of an object, made where there is none.
pub(super) fn entry<'a>(object: &'a mut Value, key: &str) -> &'a mut Value {
    if !object.is_object() {
        *object = json!({});
    }
    let under = &mut object[key];
    if !under.is_object() {
        *under = json!({});
    }
    under
}

/// Takes a key out of a map.
pub(super) fn remove(map: &mut Value, key: &str) -> Option<Value> {
    map.as_object_mut().and_then(|map| map.remove(key))
}

/// Sets a key of a map, or removes it where there is nothing to set.
pub(super) fn put(map: &mut Value, key: &str, value: Option<&Value>) {
    match value {
        Some(value) => map[key] = value.clone(),
        None => drop(remove(map, key)),
    }
}
