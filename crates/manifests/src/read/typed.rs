use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::unknown::unknown_field;
use crate::fault::Flaw;

/// An object of a kind, with no field that the kind does not have: a name with a slip in it would otherwise go unnoticed
/// and the plan be wrong.
pub(super) fn typed<K: DeserializeOwned + Serialize>(value: Value) -> Result<K, Flaw> {
    let object: K = serde_path_to_error::deserialize(&value).map_err(|error| {
        let path = error.path().to_string();
        Flaw::new(if path == "." { "" } else { &path }, error.inner().to_string())
    })?;
    let understood = serde_json::to_value(&object).map_err(|error| Flaw::new("", error.to_string()))?;
    match unknown_field(&value, &understood) {
        Some(field) => Err(Flaw::new(field, "there is no such field: look for a slip in its name")),
        None => Ok(object),
    }
}
