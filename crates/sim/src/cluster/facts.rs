//! What the cluster's controllers keep of pods and nodes.

use serde_json::Value;
use tokio::time::Instant;
use windlass_api::labels;

use crate::api::Commit;

/// What is known of a pod.
#[derive(Clone, Debug)]
pub(crate) struct PodFact {
    pub(crate) name: String,
    pub(crate) app: String,
    /// Millicores.
    pub(crate) cpu: i64,
    /// Mebibytes.
    pub(crate) memory: i64,
    /// The pool that it asks for.
    pub(crate) pool: Option<String>,
    pub(crate) node: Option<String>,
    pub(crate) nominated: Option<String>,
    /// Whether the scheduler has said that there is no node for it.
    pub(crate) unschedulable: bool,
    pub(crate) ready: bool,
    /// Since when it has been as it is: waiting, bound, or being deleted.
    pub(crate) since: Instant,
    pub(crate) deleting: bool,
}

impl PodFact {
    pub(crate) fn read(commit: &Commit, before: Option<&Self>) -> Self {
        let value = commit.object.value();
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(ToOwned::to_owned);
        let amount = |pointer: &str, unit: &str| {
            let amount = value.pointer(pointer).and_then(Value::as_str)?;
            amount.trim_end_matches(unit).parse().ok()
        };
        let requests = "/spec/containers/0/resources/requests";
        let fact = Self {
            name: text("/metadata/name").unwrap_or_default(),
            app: text("/metadata/labels/app").unwrap_or_default(),
            cpu: amount(&format!("{requests}/cpu"), "m").unwrap_or(0),
            memory: amount(&format!("{requests}/memory"), "Mi").unwrap_or(0),
            pool: text("/spec/nodeSelector/windlass.dev~1pool"),
            node: text("/spec/nodeName"),
            nominated: text("/status/nominatedNodeName"),
            unschedulable: condition(value, "PodScheduled").is_some_and(|found| found["status"] == "False"),
            ready: condition(value, "Ready").is_some_and(|found| found["status"] == "True"),
            since: commit.seen_from,
            deleting: value.pointer("/metadata/deletionTimestamp").is_some(),
        };
        let same = before.filter(|before| before.node == fact.node && before.deleting == fact.deleting);
        Self { since: same.map_or(fact.since, |before| before.since), ..fact }
    }
}

/// What is known of a node.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct NodeFact {
    pub(crate) name: String,
    pub(crate) provider_id: Option<String>,
    pub(crate) pool: Option<String>,
    /// Whether pods that tolerate nothing may come to it.
    pub(crate) open: bool,
    pub(crate) ready: bool,
    pub(crate) deleting: bool,
    /// Since when it has been ready, or not.
    pub(crate) since: Instant,
    /// Whether Windlass has taken it on: the finalizer holds it.
    pub(crate) ours: bool,
}

impl NodeFact {
    pub(crate) fn read(value: &Value, before: Option<&Self>) -> Self {
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(ToOwned::to_owned);
        let list = |pointer: &str| value.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
        let closed = list("/spec/taints").any(|taint| taint["effect"] != "PreferNoSchedule")
            || value.pointer("/spec/unschedulable").is_some_and(|cordoned| cordoned == true);
        let ready = condition(value, "Ready").is_some_and(|found| found["status"] == "True");
        let same = before.filter(|before| before.ready == ready);
        Self {
            name: text("/metadata/name").unwrap_or_default(),
            provider_id: text("/spec/providerID"),
            pool: text("/metadata/labels/windlass.dev~1pool"),
            open: !closed,
            ready,
            deleting: value.pointer("/metadata/deletionTimestamp").is_some(),
            since: same.map_or_else(Instant::now, |before| before.since),
            ours: list("/metadata/finalizers").any(|finalizer| finalizer == labels::FINALIZER),
        }
    }
}

/// The condition of this type.
pub(crate) fn condition<'a>(value: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = value.pointer("/status/conditions").and_then(Value::as_array)?;
    conditions.iter().find(|condition| condition["type"] == kind)
}
