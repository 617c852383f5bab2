use kube::ResourceExt as _;
use kube::core::DynamicObject;
use serde_json::Value;
use windlass_api::labels;

use super::super::event::{JournalEntry, Kind, ObjectName};
use super::label;

/// The label of the simulated provider's machine records, whose value is the provider's name.
pub(in super::super) const RECORD: &str = "windlass.dev/simulated-machine";
/// The label with the cluster that a machine belongs to.
const CLUSTER_ID: &str = "windlass.dev/cluster-id";

/// What is known of a machine.
#[derive(Debug)]
pub(in super::super) struct Machine {
    pub(in super::super) provider_id: String,
    /// What it goes by in messages and in the history.
    pub(in super::super) name: ObjectName,
    pub(in super::super) cluster_id: String,
    /// The claim it was launched for.
    pub(in super::super) claim_uid: String,
    /// Whether it is there to stay: one that is being ended does not count as a second machine, nor as an orphan.
    pub(in super::super) live: bool,
    /// Whether it was decided at its launch that it will cease to exist by itself, so that its end is nobody's doing.
    pub(in super::super) vanishes: bool,
}

impl Machine {
    /// Reads a record of the simulated provider.
    pub(in super::super) fn read(object: &DynamicObject) -> Self {
        let provider = label(object, RECORD).unwrap_or_default();
        Self {
            provider_id: format!("simulated://{provider}/{}", object.name_any()),
            name: ObjectName::of(Kind::Machine, object),
            cluster_id: label(object, CLUSTER_ID).unwrap_or_default(),
            claim_uid: label(object, labels::CLAIM_UID).unwrap_or_default(),
            live: object.metadata.deletion_timestamp.is_none(),
            vanishes: vanishes(object),
        }
    }

    /// The machine that a journal reports as launched.
    pub(in super::super) fn launched(entry: &JournalEntry) -> Option<Self> {
        let JournalEntry::Launched { provider_id, cluster_id, claim_uid } = entry else {
            return None;
        };
        Some(Self {
            provider_id: provider_id.clone(),
            name: ObjectName::new(Kind::Machine, provider_id),
            cluster_id: cluster_id.clone(),
            claim_uid: claim_uid.clone(),
            live: true,
            vanishes: false,
        })
    }
}

fn vanishes(object: &DynamicObject) -> bool {
    let written = object.data.pointer("/data/machine").and_then(Value::as_str);
    let record: Option<Value> = written.and_then(|written| serde_json::from_str(written).ok());
    record.is_some_and(|record| record.pointer("/fate/vanish").is_some_and(|after| !after.is_null()))
}
