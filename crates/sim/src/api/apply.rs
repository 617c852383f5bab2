//! Server-side apply: an object is merged with what someone declares to want, and what they no longer want goes.

use serde_json::Value;

use super::fields::{Element, FieldSet};
use super::owners::{Manager, Owners};
use super::schema::{List, Schema};
use super::typed::{element, fields_of};

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
    // What an object is called is nobody's, and still wanted by whoever calls it so.
    let mut owned = owners.owned();
    owned.add_all(&fields_of(configuration, schema));
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

/// Merges lists whose items have keys. Those of both lists come in the wanted order, and others about where they were.
fn merge_lists(live: Vec<Value>, wanted: &[Value], schema: &Schema) -> Vec<Value> {
    let key = |item: &Value| element(item, &schema.list);
    let wanted: Vec<(Element, &Value)> = wanted.iter().map(|item| (key(item), item)).collect();
    let is_wanted = |element: &Element| wanted.iter().any(|(known, _)| known == element);
    let mut live: Vec<(Element, Value)> = live.into_iter().map(|item| (key(&item), item)).collect();
    let known: Vec<Element> = live.iter().map(|(element, _)| element.clone()).collect();
    let mut shared =
        wanted.iter().map(|(element, _)| element).filter(|element| known.contains(element)).peekable();
    let (mut merged, mut taken) = (Vec::new(), Vec::new());
    let (mut at_live, mut at_wanted) = (0, 0);
    while at_live < known.len() || at_wanted < wanted.len() {
        let (here, there) = (known.get(at_live), wanted.get(at_wanted));
        if let (Some(here), Some((there, _))) = (here, there)
            && here != there
            && is_wanted(here)
            && shared.peek().is_some_and(|next| *next != here)
        {
            // It comes later, as the wanted order has it.
            at_live += 1;
            continue;
        }
        if let Some(here) = here {
            if !is_wanted(here) {
                merged.extend(take(&mut live, here));
                at_live += 1;
                continue;
            }
            if taken.contains(&here) || there.is_some_and(|(there, _)| there == here) {
                at_live += 1;
            }
        }
        if let Some((there, item)) = there {
            merged.push(match take(&mut live, there) {
                Some(before) => merge(before, item, schema.item()),
                None => (*item).clone(),
            });
            taken.push(there);
            at_wanted += 1;
            if shared.peek() == Some(&there) {
                shared.next();
            }
        }
    }
    merged
}

fn take(items: &mut Vec<(Element, Value)>, element: &Element) -> Option<Value> {
    let place = items.iter().position(|(known, _)| known == element)?;
    Some(items.remove(place).1)
}

/// Removes what was declared the last time and is nobody's any more. Of what loses all its parts null is left.
fn prune(value: &mut Value, last: &FieldSet, owned: &FieldSet, schema: &Schema) {
    let nobodys = FieldSet::default();
    let is_emptied = match value {
        Value::Object(map) => {
            let had_parts = !map.is_empty();
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
            had_parts && map.is_empty()
        }
        Value::Array(items) if schema.list != List::Whole => {
            let had_parts = !items.is_empty();
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
            had_parts && items.is_empty()
        }
        _ => false,
    };
    if is_emptied {
        *value = Value::Null;
    }
}
