//! What the judge keeps of each object: the few facts that the rules ask for, read from the JSON itself so that
//! nothing of the controller's own code stands between the API and the judgement.

mod budget;
mod claim;
mod machine;
mod node;
mod pod;

pub(super) use budget::Budget;
pub(super) use claim::{Amounts, Claim, amounts};
pub(super) use machine::{Machine, RECORD};
pub(super) use node::Node;
pub(super) use pod::Pod;

use kube::core::DynamicObject;
use serde_json::Value;

fn text(object: &DynamicObject, pointer: &str) -> Option<String> {
    at(&object.data, pointer).and_then(Value::as_str).map(str::to_owned)
}

fn items<'a>(object: &'a DynamicObject, pointer: &str) -> impl Iterator<Item = &'a Value> {
    at(&object.data, pointer).and_then(Value::as_array).into_iter().flatten()
}

/// What is at a place of an object, named as in RFC 6901 but for escapes, on which `Value::pointer` spends most of its time.
fn at<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    pointer.split('/').skip(1).try_fold(value, |value, key| value.get(key))
}

/// The condition of this type, if it is true.
fn true_condition<'a>(object: &'a DynamicObject, kind: &str) -> Option<&'a Value> {
    condition(object, kind).filter(|condition| condition["status"] == "True")
}

fn condition<'a>(object: &'a DynamicObject, kind: &str) -> Option<&'a Value> {
    items(object, "/status/conditions").find(|condition| condition["type"] == kind)
}

fn label(object: &DynamicObject, key: &str) -> Option<String> {
    object.metadata.labels.as_ref()?.get(key).cloned()
}
