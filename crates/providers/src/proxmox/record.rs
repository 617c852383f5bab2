//! What a machine's notes say about it: whose it is and what it was made as.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use windlass_core::Price;
use windlass_core::model::{Labels, OfferingKey, Resources};

use crate::MachineTag;

const INTRODUCTION: &str = "This machine belongs to Windlass, which ends it when it is no longer needed. Leave its name, tags and these notes as they are.";

/// What is written down with a machine when it is made, and never changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    pub provider: String,
    #[serde(flatten)]
    pub tag: MachineTag,
    pub offering: OfferingKey,
    pub price: Price,
    pub capacity: Resources,
    pub allocatable: Resources,
    pub labels: Labels,
    pub created_at: Timestamp,
    /// What it was made of.
    pub source: String,
    /// The volume by which it is told how to join, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<String>,
}

impl Record {
    /// As the notes of a machine.
    pub fn notes(&self) -> Result<String, serde_json::Error> {
        Ok(format!("{INTRODUCTION}\n\n{}", serde_json::to_string(self)?))
    }

    /// From the notes of a machine, if they have such.
    pub fn read(notes: &str) -> Option<Self> {
        notes.lines().rev().find_map(|line| serde_json::from_str(line.trim()).ok())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use windlass_core::Price;
    use windlass_core::model::{Labels, OfferingKey, Resources};

    use super::Record;
    use crate::MachineTag;

    pub fn record(claim: &str) -> Record {
        Record {
            provider: "rack".to_owned(),
            tag: MachineTag {
                cluster_id: "cluster".into(),
                claim_uid: format!("uid-of-{claim}").into(),
                claim_name: claim.into(),
                pool: "pool".into(),
            },
            offering: OfferingKey {
                instance_type: "2cpu-4gi".into(),
                zone: "pve1".into(),
                capacity_type: "on-demand".into(),
            },
            price: Price::from_micros(50_000),
            capacity: Resources::new().with("cpu", 2000),
            allocatable: Resources::new().with("cpu", 2000),
            labels: Labels::new().with("a", "b"),
            created_at: "2026-01-01T00:00:00Z".parse().unwrap(),
            source: "template debian".to_owned(),
            drive: None,
        }
    }

    #[test]
    fn notes_are_read_as_they_were_written_and_with_a_line_added() {
        let notes = record("web").notes().unwrap();
        assert_eq!(Record::read(&notes), Some(record("web")));
        assert_eq!(Record::read(&format!("{notes}\nrestarted by me\n")), Some(record("web")));
        assert_eq!(Record::read("nothing of ours\n{}"), None);
    }
}
