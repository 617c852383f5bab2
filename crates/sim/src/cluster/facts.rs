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
        let (metadata, spec) = (&value["metadata"], &value["spec"]);
        let amount = |name: &str, unit: &str| {
            let amount = spec["containers"][0]["resources"]["requests"][name].as_str()?;
            amount.trim_end_matches(unit).parse().ok()
        };
        let fact = Self {
            name: text(&metadata["name"]).unwrap_or_default(),
            app: text(&metadata["labels"]["app"]).unwrap_or_default(),
            cpu: amount("cpu", "m").unwrap_or(0),
            memory: amount("memory", "Mi").unwrap_or(0),
            pool: text(&spec["nodeSelector"][labels::POOL]),
            node: text(&spec["nodeName"]),
            nominated: text(&value["status"]["nominatedNodeName"]),
            unschedulable: condition(value, "PodScheduled").is_some_and(|found| found["status"] == "False"),
            ready: condition(value, "Ready").is_some_and(|found| found["status"] == "True"),
            since: commit.seen_from,
            deleting: metadata.get("deletionTimestamp").is_some(),
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
        let (metadata, spec) = (&value["metadata"], &value["spec"]);
        let closed = spec["unschedulable"] == true
            || items(&spec["taints"]).any(|taint| taint["effect"] != "PreferNoSchedule");
        let ready = condition(value, "Ready").is_some_and(|found| found["status"] == "True");
        let same = before.filter(|before| before.ready == ready);
        Self {
            name: text(&metadata["name"]).unwrap_or_default(),
            provider_id: text(&spec["providerID"]),
            pool: text(&metadata["labels"][labels::POOL]),
            open: !closed,
            ready,
            deleting: metadata.get("deletionTimestamp").is_some(),
            since: same.map_or_else(Instant::now, |before| before.since),
            ours: items(&metadata["finalizers"]).any(|finalizer| finalizer == labels::FINALIZER),
        }
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(ToOwned::to_owned)
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The condition of this type.
pub(crate) fn condition<'a>(value: &'a Value, kind: &str) -> Option<&'a Value> {
    items(&value["status"]["conditions"]).find(|condition| condition["type"] == kind)
}
