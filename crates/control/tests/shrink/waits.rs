//! How long pods waited for a node.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use windlass_api::conditions;

use crate::diary::{Entry, Kind};

/// A pod that was made while the cluster shrank.
#[derive(Clone, Debug)]
pub struct Wait {
    /// From when it was made until it was bound.
    pub time: Duration,
    /// Whether the scheduler found no node for it at first.
    pub refused: bool,
}

/// The pods that were made, each with how long it waited. Fails where one was not bound.
pub fn of_new_pods(entries: &[Entry]) -> Vec<Wait> {
    let of_pods = || entries.iter().filter(|entry| entry.kind == Kind::Pod);
    let made = of_pods().filter(|entry| entry.added && !is_bound(entry));
    made.map(|made| {
        let own: Vec<&Entry> = of_pods().filter(|entry| entry.name == made.name).collect();
        let Some(bound) = own.iter().find(|entry| is_bound(entry)) else {
            panic!("pod {} was never bound", made.name);
        };
        let refused = own.iter().any(|entry| entry.condition("PodScheduled") == "False");
        Wait { time: bound.seen - made.seen, refused }
    })
    .collect()
}

/// How long each new claim took until its node took pods.
pub fn of_new_nodes(entries: &[Entry]) -> BTreeMap<String, Duration> {
    let of_claims = || entries.iter().filter(|entry| entry.kind == Kind::Claim);
    let made = of_claims().filter(|entry| entry.added);
    made.filter_map(|made| {
        let stands = of_claims()
            .find(|entry| entry.name == made.name && entry.condition(conditions::INITIALIZED) == "True")?;
        Some((made.name.clone(), stands.seen - made.seen))
    })
    .collect()
}

fn is_bound(entry: &Entry) -> bool {
    entry.object.pointer("/spec/nodeName").is_some_and(Value::is_string)
}
