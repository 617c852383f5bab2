//! An object's fields one by one, as its schema divides it.

use serde_json::Value;

use super::fields::{Element, FieldSet};
use super::schema::{List, Schema, Type};

/// The fields that an object has.
pub(super) fn fields_of(value: &Value, schema: &Schema) -> FieldSet {
    let mut set = FieldSet::default();
    collect(value, schema, &mut Vec::new(), &mut set);
    set
}

fn collect(value: &Value, schema: &Schema, path: &mut Vec<Element>, set: &mut FieldSet) {
    match (value, &schema.list) {
        (Value::Object(map), _) => {
            for (name, value) in map {
                path.push(Element::Field(name.clone()));
                collect(value, schema.field(name), path, set);
                let is_named = schema.properties.contains_key(name);
                let is_empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
                if is_empty || !is_named {
                    set.insert(path);
                }
                path.pop();
            }
        }
        (Value::Array(items), List::ByKey(_) | List::Set) => {
            for item in items {
                path.push(element(item, &schema.list));
                collect(item, schema.item(), path, set);
                set.insert(path);
                path.pop();
            }
        }
        _ => set.insert(path),
    }
}

/// What in a declaration is of no field, or not of its field's type.
pub(super) fn misfit(value: &Value, schema: &Schema) -> Option<String> {
    let is_scalar = !value.is_object() && !value.is_array();
    let fits = match schema.type_ {
        _ if value.is_null() => true,
        Type::Any => true,
        Type::Object => value.is_object(),
        Type::Array => value.is_array(),
        Type::Text => value.is_string(),
        Type::Integer | Type::Number => value.is_number(),
        Type::Boolean => value.is_boolean(),
        Type::IntegerOrText => is_scalar,
    };
    if !fits {
        return Some(format!("{value} is of another type"));
    }
    match value {
        Value::Object(map) => map.iter().find_map(|(name, value)| {
            let is_known = schema.open || schema.additional.is_some() || schema.properties.contains_key(name);
            if is_known {
                misfit(value, schema.field(name))
            } else {
                Some(format!("{name}: field not declared in schema"))
            }
        }),
        Value::Array(items) => items.iter().find_map(|item| misfit(item, schema.item())),
        _ => None,
    }
}

/// What differs between two states of an object.
#[derive(Debug, Default)]
pub(super) struct Difference {
    /// The fields that are new or other than before.
    pub set: FieldSet,
    /// The fields that are there no more.
    pub removed: FieldSet,
}

pub(super) fn compare(before: &Value, after: &Value, schema: &Schema) -> Difference {
    let mut difference = Difference::default();
    let mut path = Vec::new();
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            maps(Some(before), Some(after), schema, &mut path, &mut difference);
        }
        _ => difference.set = fields_of(after, schema),
    }
    difference
}

type Fields = serde_json::Map<String, Value>;

fn maps(
    before: Option<&Fields>,
    after: Option<&Fields>,
    schema: &Schema,
    path: &mut Vec<Element>,
    difference: &mut Difference,
) {
    let old = before.into_iter().flatten();
    let new =
        after.into_iter().flatten().filter(|(name, _)| before.is_none_or(|old| !old.contains_key(*name)));
    for (name, _) in old.chain(new) {
        path.push(Element::Field(name.clone()));
        let (old, new) = (before.and_then(|map| map.get(name)), after.and_then(|map| map.get(name)));
        step(old, new, schema.field(name), path, difference);
        path.pop();
    }
}

fn step(
    before: Option<&Value>,
    after: Option<&Value>,
    schema: &Schema,
    path: &mut Vec<Element>,
    difference: &mut Difference,
) {
    if before == after {
        return;
    }
    let (old_map, new_map) = (before.and_then(Value::as_object), after.and_then(Value::as_object));
    let (old_list, new_list) = (before.and_then(Value::as_array), after.and_then(Value::as_array));
    let is_map = (old_map.is_some_and(|map| !map.is_empty()) || new_map.is_some_and(|map| !map.is_empty()))
        && can_be_looked_into(before, after, Value::is_object);
    let is_list = schema.list != List::Whole
        && (old_list.is_some_and(|list| !list.is_empty()) || new_list.is_some_and(|list| !list.is_empty()))
        && can_be_looked_into(before, after, Value::is_array);
    if is_map {
        maps(old_map, new_map, schema, path, difference);
    } else if is_list {
        let (old, new) = (keyed(old_list, &schema.list), keyed(new_list, &schema.list));
        let added = new.iter().filter(|(key, _)| old.iter().all(|(known, _)| known != key));
        for (key, _) in old.iter().chain(added) {
            path.push(key.clone());
            step(find(&old, key), find(&new, key), schema.item(), path, difference);
            path.pop();
        }
    } else if before.is_some() && after.is_some() {
        difference.set.insert(path);
    }
    // Of what comes or goes as a whole the whole is noted too.
    if before.is_none() {
        difference.set.insert(path);
    } else if after.is_none() {
        difference.removed.insert(path);
    }
}

/// Whether both states, where they are there at all, can be looked into.
fn can_be_looked_into(before: Option<&Value>, after: Option<&Value>, fits: fn(&Value) -> bool) -> bool {
    [before, after].into_iter().flatten().all(|value| fits(value) || value.is_null())
}

fn keyed<'a>(list: Option<&'a Vec<Value>>, kind: &List) -> Vec<(Element, &'a Value)> {
    list.into_iter().flatten().map(|item| (element(item, kind), item)).collect()
}

fn find<'a>(list: &[(Element, &'a Value)], key: &Element) -> Option<&'a Value> {
    list.iter().find(|(known, _)| known == key).map(|(_, item)| *item)
}

/// How an item of a list is called.
pub(super) fn element(item: &Value, kind: &List) -> Element {
    match kind {
        List::ByKey(key) => Element::Item(item[key.as_str()].to_string()),
        List::Set | List::Whole => Element::Item(item.to_string()),
    }
}
