//! Server-side apply: an object is merged with what someone declares to want, and what they no longer want goes.

use serde_json::Value;

use super::fields::{Element, FieldSet};
use super::owners::{Manager, Owners};
use super::schema::{List, Schema};
use super::typed::element;

/// The object as it is after `configuration` was applied, with `owners` brought up to it; or who would lose a field.
pub(super) fn apply(
    live: &Value,
    configuration: &Value,
    schema: &Schema,
    owners: &mut Owners,
    by: &Manager,
    force: bool,
) -> Result<Value, String> {
    let mut merged = merge(live.clone(), configuration, schema);
    let last = owners.declared(configuration, schema, by);
    let owned = owners.owned();
    prune(&mut merged, &last, &owned, schema);
    owners.taken_over(live, &merged, schema, by, force)?;
    Ok(merged)
}

fn merge(live: Value, wanted: &Value, schema: &Schema) -> Value {
    match (live, wanted) {
        (Value::Object(mut live), Value::Object(wanted)) => {
            for (name, value) in wanted {
                let schema = schema.field(name);
                let merged = match live.remove(name) {
                    Some(before) => merge(before, value, schema),
                    None => value.clone(),
                };
                live.insert(name.clone(), merged);
            }
            Value::Object(live)
        }
        (Value::Array(live), Value::Array(wanted)) if schema.list != List::Whole => {
            Value::Array(merge_lists(live, wanted, schema))
        }
        // Who wants null of something that has parts says nothing of the parts.
        (Value::Object(live), Value::Null) if !live.is_empty() => Value::Object(live),
        (Value::Array(live), Value::Null) if !live.is_empty() && schema.list != List::Whole => {
            Value::Array(live)
        }
        (_, wanted) => wanted.clone(),
    }
}

/// Merges lists whose items have keys. Those of both lists come in the wanted order, and others where they were.
fn merge_lists(live: Vec<Value>, wanted: &[Value], schema: &Schema) -> Vec<Value> {
    let key = |item: &Value| element(item, &schema.list);
    let mut live: Vec<(Element, Option<Value>)> =
        live.into_iter().map(|item| (key(&item), Some(item))).collect();
    let mut merged = Vec::new();
    let mut place = 0;
    for item in wanted {
        let this = key(item);
        let Some(found) = live.iter().position(|(known, _)| *known == this) else {
            while let Some((known, before)) = live.get_mut(place)
                && !wanted.iter().any(|each| key(each) == *known)
            {
                merged.extend(before.take());
                place += 1;
            }
            merged.push(item.clone());
            continue;
        };
        while place < found {
            let is_wanted = wanted.iter().any(|each| key(each) == live[place].0);
            if !is_wanted {
                merged.extend(live[place].1.take());
            }
            place += 1;
        }
        place = place.max(found + 1);
        merged.push(match live[found].1.take() {
            Some(before) => merge(before, item, schema.item()),
            None => item.clone(),
        });
    }
    for (known, before) in live.into_iter().skip(place) {
        if !wanted.iter().any(|each| key(each) == known) {
            merged.extend(before);
        }
    }
    merged
}

/// Removes what was declared the last time and is nobody's any more.
fn prune(value: &mut Value, last: &FieldSet, owned: &FieldSet, schema: &Schema) {
    let nobodys = FieldSet::default();
    match value {
        Value::Object(map) => {
            for element in last.elements() {
                let Element::Field(name) = element else { continue };
                let Some(inner) = map.get_mut(name) else { continue };
                let below = last.below(element).unwrap_or(&nobodys);
                match owned.below(element) {
                    Some(owned) => prune(inner, below, owned, schema.field(name)),
                    None if last.has(element) || schema.properties.contains_key(name) => {
                        drop(map.remove(name))
                    }
                    None => prune(inner, below, &nobodys, schema.field(name)),
                }
            }
        }
        Value::Array(items) if schema.list != List::Whole => {
            items.retain_mut(|item| {
                let element = element(item, &schema.list);
                let Some(below) = last.below(&element) else { return true };
                match owned.below(&element) {
                    Some(owned) => {
                        prune(item, below, owned, schema.item());
                        true
                    }
                    None => !last.has(&element),
                }
            });
        }
        _ => {}
    }
}
