//! RFC 6902 as Kubernetes has it: a test for null passes where there is nothing, and a replacement of what is not there
//! adds it.

use serde_json::Value;

use crate::api::refusal::StatusError;

/// Applies the operations one after the other; when one fails the object is of no use any more.
pub(super) fn apply(object: &mut Value, patch: &Value) -> Result<(), StatusError> {
    let Some(operations) = patch.as_array() else {
        return Err(StatusError::bad_request("error decoding patch: it is no list of operations"));
    };
    for operation in operations {
        step(object, operation).map_err(|_| {
            let message = "the server rejected our request due to an error in our request";
            StatusError::new(422, "Invalid", message)
        })?;
    }
    Ok(())
}

/// That an operation does not apply.
struct Misfit;

fn step(object: &mut Value, operation: &Value) -> Result<(), Misfit> {
    let path = operation["path"].as_str().ok_or(Misfit)?;
    let value = || operation.get("value").cloned().unwrap_or(Value::Null);
    match operation["op"].as_str() {
        Some("add") => add(object, path, value()),
        Some("remove") => remove(object, path).map(drop),
        Some("replace") => replace(object, path, value()),
        Some("test") => {
            let found = find(object, path)?;
            if found.unwrap_or(&Value::Null) == &value() { Ok(()) } else { Err(Misfit) }
        }
        Some("move") => {
            let moved = remove(object, operation["from"].as_str().ok_or(Misfit)?)?;
            add(object, path, moved)
        }
        Some("copy") => {
            let from = operation["from"].as_str().ok_or(Misfit)?;
            let copied = find(object, from)?.cloned().unwrap_or(Value::Null);
            add(object, path, copied)
        }
        _ => Err(Misfit),
    }
}

fn add(object: &mut Value, path: &str, value: Value) -> Result<(), Misfit> {
    let (parent, key) = parent(object, path)?;
    match parent {
        Value::Object(map) => drop(map.insert(key, value)),
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => {
            let place = place(&key, items.len() + 1)?;
            items.insert(place, value);
        }
        _ => return Err(Misfit),
    }
    Ok(())
}

fn remove(object: &mut Value, path: &str) -> Result<Value, Misfit> {
    let (parent, key) = parent(object, path)?;
    match parent {
        Value::Object(map) => map.remove(&key).ok_or(Misfit),
        Value::Array(items) => {
            let place = place(&key, items.len())?;
            Ok(items.remove(place))
        }
        _ => Err(Misfit),
    }
}

fn replace(object: &mut Value, path: &str, value: Value) -> Result<(), Misfit> {
    let (parent, key) = parent(object, path)?;
    match parent {
        Value::Object(map) => drop(map.insert(key, value)),
        Value::Array(items) => {
            let place = place(&key, items.len())?;
            items[place] = value;
        }
        _ => return Err(Misfit),
    }
    Ok(())
}

/// What is at a path, or nothing where a map lacks its last step.
fn find<'a>(object: &'a mut Value, path: &str) -> Result<Option<&'a Value>, Misfit> {
    let (parent, key) = parent(object, path)?;
    match parent {
        Value::Object(map) => Ok(map.get(&key)),
        Value::Array(items) => {
            let place = place(&key, items.len())?;
            Ok(items.get(place))
        }
        _ => Err(Misfit),
    }
}

fn parent<'a>(object: &'a mut Value, path: &str) -> Result<(&'a mut Value, String), Misfit> {
    let (way, last) = path.rsplit_once('/').ok_or(Misfit)?;
    let mut here = object;
    for step in way.split('/').skip(1) {
        let step = unescaped(step);
        here = match here {
            Value::Object(map) => map.get_mut(&step).ok_or(Misfit)?,
            Value::Array(items) => {
                let place = place(&step, items.len())?;
                items.get_mut(place).ok_or(Misfit)?
            }
            _ => return Err(Misfit),
        };
    }
    Ok((here, unescaped(last)))
}

fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// A place in a list; places from its end are negative.
fn place(step: &str, length: usize) -> Result<usize, Misfit> {
    let place: i64 = step.parse().map_err(|_| Misfit)?;
    let length = i64::try_from(length).map_err(|_| Misfit)?;
    let place = if place < 0 { place + length } else { place };
    if (0..length).contains(&place) { usize::try_from(place).map_err(|_| Misfit) } else { Err(Misfit) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::apply;

    fn patched(patch: &Value) -> Option<Value> {
        let mut object = json!({"a": [1, 2], "b": {"c/d": 1}});
        apply(&mut object, patch).ok().map(|()| object)
    }

    #[test]
    fn operations_do_what_they_say() {
        let add =
            json!([{"op": "add", "path": "/a/1", "value": 9}, {"op": "add", "path": "/a/-", "value": 3}]);
        assert_eq!(patched(&add).unwrap()["a"], json!([1, 9, 2, 3]));
        let remove = json!([{"op": "remove", "path": "/b/c~1d"}]);
        assert_eq!(patched(&remove).unwrap()["b"], json!({}));
        let shift = json!([{"op": "move", "from": "/a/0", "path": "/x"}]);
        assert_eq!(patched(&shift).unwrap(), json!({"a": [2], "b": {"c/d": 1}, "x": 1}));
    }

    #[test]
    fn a_test_for_null_passes_where_there_is_nothing() {
        assert!(patched(&json!([{"op": "test", "path": "/x", "value": null}])).is_some());
        assert!(patched(&json!([{"op": "test", "path": "/a", "value": null}])).is_none());
        assert!(patched(&json!([{"op": "test", "path": "/x/y", "value": null}])).is_none());
    }

    #[test]
    fn what_does_not_fit_fails() {
        assert!(patched(&json!([{"op": "remove", "path": "/x"}])).is_none());
        assert!(patched(&json!([{"op": "add", "path": "/a/5", "value": 1}])).is_none());
        assert!(patched(&json!([{"op": "test", "path": "/a/0", "value": 2}])).is_none());
        assert!(patched(&json!([{"op": "replace", "path": "/new", "value": 2}])).is_some());
    }
}
