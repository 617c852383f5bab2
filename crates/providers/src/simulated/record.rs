//! A machine's record: what there is of a simulated machine, kept in a `ConfigMap`.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};
use windlass_api::labels::{CAPACITY_TYPE, CLAIM_UID, CLUSTER_ID, INSTANCE_TYPE, ZONE};
use windlass_core::model::{Labels, OfferingKey, Resources, Taint};
use windlass_core::{Price, Text};

use super::naming::provider_id;
use crate::{Machine, MachineState, MachineTag};

/// On records and nodes: the simulated provider that the machine is of.
pub(super) const PROVIDER_LABEL: &str = "windlass.dev/simulated-machine";

const MACHINE: &str = "machine";
/// In a record's data: when the machine became a node. The rest of a record never changes.
pub(super) const REGISTERED_AT: &str = "registeredAt";

/// What is decided about a machine when it is launched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    pub tag: MachineTag,
    pub offering: OfferingKey,
    pub price: Price,
    pub capacity: Resources,
    pub allocatable: Resources,
    /// The labels that the machine has by itself.
    pub labels: Labels,
    /// The labels that its node was asked to register with.
    pub node_labels: Labels,
    /// The taints that its node was asked to register with.
    pub taints: Vec<Taint>,
    pub created_at: Timestamp,
    pub fate: Fate,
    /// When the provider ends the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<Timestamp>,
    /// What the machine runs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub image: String,
}

/// What will become of a machine. It is decided at the launch, so that it survives restarts and later changes of the
/// provider's faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fate {
    /// From the launch to the registration as a node; none means never.
    pub boot: Option<Duration>,
    /// From the registration until the node turns `NotReady`; none means never.
    pub not_ready: Option<Duration>,
    /// From the registration until the machine ceases to exist; none means never.
    pub vanish: Option<Duration>,
}

/// A record as it is in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    /// The name of the record, the machine and its node.
    pub name: String,
    /// The UID of the record.
    pub uid: String,
    /// Whether the record is being deleted.
    pub deleting: bool,
    /// When the machine became a node.
    pub registered_at: Option<Timestamp>,
    pub record: Record,
}

/// Why a `ConfigMap` is not the record of a machine.
#[derive(Debug, thiserror::Error)]
pub(super) enum RecordError {
    #[error("ConfigMap {0} is not the record of a simulated machine")]
    NotARecord(String),
    #[error("the record of machine {0} was changed by hand; restore it, or delete ConfigMap {0}")]
    Contradicts(String),
    #[error("the record of machine {name} is unreadable; restore it, or delete ConfigMap {name}")]
    Unreadable { name: String, source: serde_json::Error },
}

impl Record {
    /// The `ConfigMap` that holds the record.
    pub fn to_config_map(&self, name: &str, provider: &str) -> Result<ConfigMap, serde_json::Error> {
        let labels = [
            (PROVIDER_LABEL, provider),
            (CLUSTER_ID, &self.tag.cluster_id),
            (CLAIM_UID, &self.tag.claim_uid),
            (INSTANCE_TYPE, &self.offering.instance_type),
            (ZONE, &self.offering.zone),
            (CAPACITY_TYPE, &self.offering.capacity_type),
        ];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
        Ok(ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                labels: Some(labels.into()),
                ..ObjectMeta::default()
            },
            data: Some(BTreeMap::from([(MACHINE.to_owned(), serde_json::to_string(self)?)])),
            ..ConfigMap::default()
        })
    }
}

impl Stored {
    /// Reads the record of a provider's machine. The labels are what records are found by, so they must say the same
    /// as the record.
    pub fn read(config_map: &ConfigMap, provider: &str) -> Result<Self, RecordError> {
        let metadata = &config_map.metadata;
        let name = metadata.name.clone().unwrap_or_default();
        let label = |key| metadata.labels.as_ref().and_then(|labels| labels.get(key)).map(String::as_str);
        let data = |key| config_map.data.as_ref().and_then(|data| data.get(key));
        if label(PROVIDER_LABEL) != Some(provider) {
            return Err(RecordError::NotARecord(name));
        }
        let unreadable = |source| RecordError::Unreadable { name: name.clone(), source };
        let record: Record =
            serde_json::from_str(data(MACHINE).map_or("", String::as_str)).map_err(unreadable)?;
        let registered_at = data(REGISTERED_AT).map(|text| text.parse::<Timestamp>()).transpose();
        let (Ok(registered_at), Some(uid)) = (registered_at, metadata.uid.clone()) else {
            return Err(RecordError::Contradicts(name));
        };
        if label(CLUSTER_ID) != Some(&*record.tag.cluster_id)
            || label(CLAIM_UID) != Some(&*record.tag.claim_uid)
        {
            return Err(RecordError::Contradicts(name));
        }
        Ok(Self { deleting: metadata.deletion_timestamp.is_some(), name, uid, registered_at, record })
    }

    /// The machine in the notation of its node.
    pub fn provider_id(&self, provider: &str) -> Text {
        provider_id(provider, &self.name)
    }

    /// The machine as the provider shows it.
    pub fn machine(&self, provider: &str, image: &str) -> Machine {
        let record = self.record.clone();
        let drift = (record.image != image)
            .then(|| format!("it runs image {:?}, new ones run {image:?}", record.image).into());
        Machine {
            provider_id: self.provider_id(provider),
            tag: record.tag,
            offering: record.offering,
            price: record.price,
            capacity: record.capacity,
            allocatable: record.allocatable,
            labels: record.labels,
            node_name: None,
            created_at: record.created_at,
            ends_at: record.ends_at,
            drift,
            state: if self.deleting { MachineState::Terminating } else { MachineState::Running },
        }
    }

    /// When the machine becomes a node, if ever.
    pub fn boots_at(&self) -> Option<Timestamp> {
        later(self.record.created_at, self.record.fate.boot)
    }

    /// When its node turns `NotReady`, if ever.
    pub fn sickens_at(&self) -> Option<Timestamp> {
        later(self.registered_at?, self.record.fate.not_ready)
    }

    /// When the machine ceases to exist by itself, if ever.
    pub fn vanishes_at(&self) -> Option<Timestamp> {
        let vanishes = self.registered_at.and_then(|at| later(at, self.record.fate.vanish));
        vanishes.into_iter().chain(self.record.ends_at).min()
    }
}

/// A time that is beyond the calendar never comes.
fn later(start: Timestamp, wait: Option<Duration>) -> Option<Timestamp> {
    start.checked_add(SignedDuration::try_from(wait?).ok()?).ok()
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use windlass_core::Price;
    use windlass_core::model::{Effect, Labels, OfferingKey, Resources, Taint};

    use super::{CLAIM_UID, Fate, REGISTERED_AT, Record, RecordError, Stored};
    use crate::MachineTag;

    pub fn record() -> Record {
        Record {
            tag: MachineTag {
                cluster_id: "cluster".into(),
                claim_uid: "uid-1".into(),
                claim_name: "web-1".into(),
                pool: "web".into(),
            },
            offering: OfferingKey {
                instance_type: "small".into(),
                zone: "a".into(),
                capacity_type: "spot".into(),
            },
            price: Price::from_micros(100_000),
            capacity: Resources::from_iter([("cpu", 2000), ("memory", 4 << 30)]),
            allocatable: Resources::from_iter([("cpu", 1900), ("memory", 3 << 30)]),
            labels: Labels::new().with("kubernetes.io/arch", "arm64"),
            node_labels: Labels::new().with("windlass.dev/pool", "web"),
            taints: vec![Taint::new("windlass.dev/unregistered", "", Effect::NoSchedule)],
            created_at: Timestamp::from_second(1_000_000).unwrap(),
            fate: Fate { boot: Some(Duration::from_secs(5)), ..Fate::default() },
            ends_at: None,
            image: String::new(),
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let mut config_map = record().to_config_map("web-1-x", "lab").unwrap();
        config_map.metadata.uid = Some("record-uid".to_owned());
        let stored = Stored::read(&config_map, "lab").unwrap();
        assert_eq!(stored.record, record());
        assert_eq!(stored.boots_at(), Timestamp::from_second(1_000_005).ok());
        assert_eq!((stored.sickens_at(), stored.vanishes_at()), (None, None));
        assert_eq!(&*stored.machine("lab", "").provider_id, "simulated://lab/web-1-x");
    }

    #[test]
    fn what_is_no_record_or_was_meddled_with_is_refused() {
        let mut config_map = record().to_config_map("web-1-x", "lab").unwrap();
        config_map.metadata.uid = Some("record-uid".to_owned());
        assert!(matches!(Stored::read(&config_map, "other"), Err(RecordError::NotARecord(_))));

        let mut forged = config_map.clone();
        forged.metadata.labels.as_mut().unwrap().insert(CLAIM_UID.to_owned(), "uid-2".to_owned());
        assert!(matches!(Stored::read(&forged, "lab"), Err(RecordError::Contradicts(_))));

        let mut undated = config_map.clone();
        undated.data.as_mut().unwrap().insert(REGISTERED_AT.to_owned(), "yesterday".to_owned());
        assert!(matches!(Stored::read(&undated, "lab"), Err(RecordError::Contradicts(_))));

        config_map.data = None;
        let error = Stored::read(&config_map, "lab").unwrap_err();
        assert!(error.to_string().contains("delete ConfigMap web-1-x"), "{error}");
    }

    #[test]
    fn a_fate_beyond_the_calendar_never_comes() {
        let mut config_map = record().to_config_map("web-1-x", "lab").unwrap();
        config_map.metadata.uid = Some("record-uid".to_owned());
        let mut stored = Stored::read(&config_map, "lab").unwrap();
        stored.record.fate.boot = Some(Duration::MAX);
        assert_eq!(stored.boots_at(), None);
    }
}
