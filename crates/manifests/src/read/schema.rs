//! What the schema of our own kinds says about a value. The rules that the schema cannot say are in `admit`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use regex::Regex;
use serde_json::Value;

use crate::fault::{Flaw, join};

/// Holds an object of one of our own kinds to its schema.
pub(super) fn check(kind: &str, value: &Value) -> Result<(), Flaw> {
    match schemas().get(kind) {
        Some(schema) => follow(schema, value, ""),
        None => Ok(()),
    }
}

/// The schemas by kind, as they are in the custom resource definitions.
fn schemas() -> &'static BTreeMap<String, Value> {
    static SCHEMAS: OnceLock<BTreeMap<String, Value>> = OnceLock::new();
    SCHEMAS.get_or_init(|| {
        let definitions = windlass_api::crds().into_iter();
        let schema = |definition: k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition| {
            let version = definition.spec.versions.first()?;
            let schema = version.schema.as_ref()?.open_api_v3_schema.as_ref()?;
            Some((definition.spec.names.kind.clone(), serde_json::to_value(schema).ok()?))
        };
        definitions.filter_map(schema).collect()
    })
}

fn follow(schema: &Value, value: &Value, path: &str) -> Result<(), Flaw> {
    if value.is_null() {
        return Ok(());
    }
    own(schema, value).map_err(|message| Flaw::new(path, message))?;
    match value {
        Value::Object(fields) => {
            if let Some(Value::Array(required)) = schema.get("required") {
                let absent = |name: &&str| fields.get(*name).is_none_or(Value::is_null);
                if let Some(name) = required.iter().filter_map(Value::as_str).find(absent) {
                    return Err(Flaw::new(join(path, name), "is missing"));
                }
            }
            let properties = schema.get("properties");
            let others = schema.get("additionalProperties");
            for (name, value) in fields {
                if let Some(schema) = properties.and_then(|all| all.get(name)).or(others) {
                    follow(schema, value, &join(path, name))?;
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for (number, item) in items.iter().enumerate() {
                    follow(schema, item, &join(path, &format!("[{number}]")))?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// What a schema says about a value itself, not about its parts.
fn own(schema: &Value, value: &Value) -> Result<(), String> {
    let number = |name: &str| schema.get(name).and_then(Value::as_f64);
    let count = |name: &str| schema.get(name).and_then(Value::as_u64);
    if let Some(Value::Array(choices)) = schema.get("enum")
        && !choices.contains(value)
    {
        let named: Vec<String> = choices.iter().filter(|choice| !choice.is_null()).map(shown).collect();
        return Err(format!("{} is none of {}", shown(value), named.join(", ")));
    }
    if let Some(amount) = value.as_f64() {
        if let Some(least) = number("minimum").filter(|least| amount < *least) {
            return Err(format!("{value} is too small: write {least} or more"));
        }
        if let Some(most) = number("maximum").filter(|most| amount > *most) {
            return Err(format!("{value} is too large: write {most} or less"));
        }
    }
    let (length, least, most, unit) = match value {
        Value::String(text) => (text.chars().count(), "minLength", "maxLength", "characters"),
        Value::Array(items) => (items.len(), "minItems", "maxItems", "entries"),
        Value::Object(fields) => (fields.len(), "minProperties", "maxProperties", "entries"),
        _ => return Ok(()),
    };
    if let Some(least) = count(least).filter(|least| (length as u64) < *least) {
        return Err(format!("has {length} {unit}: write at least {least}"));
    }
    if let Some(most) = count(most).filter(|most| length as u64 > *most) {
        return Err(format!("has {length} {unit}: write at most {most}"));
    }
    if let (Value::String(text), Some(pattern)) = (value, schema.get("pattern").and_then(Value::as_str)) {
        let pattern = Regex::new(pattern).map_err(|error| error.to_string())?;
        if !pattern.is_match(text) {
            return Err(format!("{text:?} is not written as it must be: {pattern}"));
        }
    }
    Ok(())
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}
