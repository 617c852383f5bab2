//! Strategic merge, in which built-in kinds say how their lists are merged.

use serde_json::{Map, Value};

use crate::api::refusal::StatusError;

/// How a list is merged.
enum Merging {
    /// It is replaced.
    Replace,
    /// Its items are those of both.
    Union,
    /// Items with the same value of this field are merged.
    ByKey(&'static str),
}

/// The lists of the kinds that are served here.
fn merging(path: &[String]) -> Merging {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let path = path.strip_prefix(&["spec", "template"]).unwrap_or(&path);
    match path {
        ["metadata", "finalizers"] | ["spec", "finalizers" | "podCIDRs"] => Merging::Union,
        ["metadata", "ownerReferences"] => Merging::ByKey("uid"),
        ["status", "conditions" | "addresses"] => Merging::ByKey("type"),
        ["status", "podIPs" | "hostIPs"] => Merging::ByKey("ip"),
        [
            "spec",
            "containers"
            | "initContainers"
            | "ephemeralContainers"
            | "volumes"
            | "schedulingGates"
            | "imagePullSecrets"
            | "drivers",
        ]
        | ["spec", "containers" | "initContainers", "env"] => Merging::ByKey("name"),
        ["spec", "containers" | "initContainers", "ports"] => Merging::ByKey("containerPort"),
        ["spec", "containers" | "initContainers", "volumeMounts"] => Merging::ByKey("mountPath"),
        ["spec", "topologySpreadConstraints"] => Merging::ByKey("topologyKey"),
        _ => Merging::Replace,
    }
}

pub(super) fn merge(object: &mut Value, patch: Value) -> Result<(), StatusError> {
    let Value::Object(patch) = patch else {
        return Err(StatusError::bad_request("the patch is no object"));
    };
    merge_maps(object, patch, &mut Vec::new())
}

fn merge_maps(
    target: &mut Value,
    mut patch: Map<String, Value>,
    path: &mut Vec<String>,
) -> Result<(), StatusError> {
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { return Ok(()) };
    match patch.remove("$patch").as_ref().map(|directive| directive.as_str()) {
        None => {}
        Some(Some("replace")) => {
            *target = patch;
            return Ok(());
        }
        Some(Some("delete")) => {
            target.clear();
            return Ok(());
        }
        Some(other) => {
            return Err(StatusError::new(
                500,
                "",
                format!("unknown patch type: {}", other.unwrap_or_default()),
            ));
        }
    }
    for (key, value) in patch {
        if let Some(list) = key.strip_prefix("$deleteFromPrimitiveList/") {
            let leaving = value.as_array().cloned().unwrap_or_default();
            if let Some(items) = target.get_mut(list).and_then(Value::as_array_mut) {
                items.retain(|item| !leaving.contains(item));
            }
            continue;
        }
        // In which order a list's items come is of no interest to anyone here.
        if key.starts_with("$setElementOrder/") || key.starts_with("$retainKeys") {
            continue;
        }
        if value.is_null() {
            target.remove(&key);
            continue;
        }
        // What is not there cannot be replaced or deleted.
        if value.get("$patch").is_some() && !target.contains_key(&key) {
            continue;
        }
        path.push(key.clone());
        let slot = target.entry(key).or_insert(Value::Null);
        match value {
            Value::Object(patch) => merge_maps(slot, patch, path)?,
            Value::Array(patch) => merge_lists(slot, patch, path)?,
            value => *slot = value,
        }
        path.pop();
    }
    Ok(())
}

fn merge_lists(slot: &mut Value, patch: Vec<Value>, path: &mut Vec<String>) -> Result<(), StatusError> {
    let key = match merging(path) {
        Merging::Replace => {
            *slot = Value::Array(patch);
            return Ok(());
        }
        Merging::Union => {
            let known = slot.as_array().cloned().unwrap_or_default();
            let mut others: Vec<Value> = Vec::new();
            for item in &known {
                if !patch.contains(item) && !others.contains(item) {
                    others.push(item.clone());
                }
            }
            *slot =
                Value::Array(interleave(others, patch, |item| known.iter().position(|other| other == item)));
            return Ok(());
        }
        Merging::ByKey(key) => key,
    };
    let is_replacement =
        |item: &Value| item["$patch"] == "replace" && item.as_object().is_some_and(|map| map.len() == 1);
    if patch.iter().any(is_replacement) {
        *slot = Value::Array(patch.into_iter().filter(|item| !is_replacement(item)).collect());
        return Ok(());
    }
    let mut items = slot.as_array().cloned().unwrap_or_default();
    let order: Vec<Value> = items.iter().map(|item| item[key].clone()).collect();
    let mut patched: Vec<Value> = Vec::new();
    for item in patch {
        let Some(name) = item.get(key).cloned() else {
            let message = format!("map: {item} does not contain declared merge key: {key}");
            return Err(StatusError::new(500, "", message));
        };
        if item["$patch"] == "delete" {
            items.retain(|known| known[key] != name);
            continue;
        }
        let Value::Object(item) = item else { continue };
        let found = items.iter().position(|known| known[key] == name);
        let mut merged = found.map_or(Value::Null, |place| items.remove(place));
        merge_maps(&mut merged, item, path)?;
        patched.push(merged);
    }
    let place = |item: &Value| order.iter().position(|name| *name == item[key]);
    *slot = Value::Array(interleave(items, patched, place));
    Ok(())
}

/// Puts the items that the patch does not name between those that it does, each before the first that it was before.
fn interleave(
    others: Vec<Value>,
    patched: Vec<Value>,
    place: impl Fn(&Value) -> Option<usize>,
) -> Vec<Value> {
    let mut all = Vec::with_capacity(others.len() + patched.len());
    let mut others = others.into_iter().peekable();
    for item in patched {
        let here = place(&item);
        while let Some(other) = others.next_if(|other| here.is_some_and(|here| place(other) < Some(here))) {
            all.push(other);
        }
        all.push(item);
    }
    all.extend(others);
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::merge;

    #[test]
    fn finalizers_are_added_and_taken_out_one_by_one() {
        let mut node = json!({"metadata": {"finalizers": ["a"]}});
        merge(&mut node, json!({"metadata": {"finalizers": ["b"]}})).unwrap();
        assert_eq!(node["metadata"]["finalizers"], json!(["b", "a"]));
        merge(&mut node, json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", "c"]}})).unwrap();
        assert_eq!(node["metadata"]["finalizers"], json!(["b"]));
    }

    #[test]
    fn conditions_are_merged_by_type_and_taints_replaced() {
        let conditions = json!([{"type": "Ready", "status": "True", "reason": "x"}]);
        let mut node = json!({"spec": {"taints": [{"key": "a"}]}, "status": {"conditions": conditions}});
        let change = json!([{"type": "Ready", "status": "False"}, {"type": "Disk", "status": "True"}]);
        merge(&mut node, json!({"spec": {"taints": [{"key": "b"}]}, "status": {"conditions": change}}))
            .unwrap();
        assert_eq!(node["spec"]["taints"], json!([{"key": "b"}]));
        let merged =
            json!([{"type": "Ready", "status": "False", "reason": "x"}, {"type": "Disk", "status": "True"}]);
        assert_eq!(node["status"]["conditions"], merged);
    }
}
