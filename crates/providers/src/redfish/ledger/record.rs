use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use windlass_api::RedfishTls;
use windlass_core::model::{Labels, OfferingKey, Resources};
use windlass_core::{Price, Text};

use crate::MachineTag;
use crate::clock::has_passed;

/// What is known of one host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in super::super) struct Record {
    /// Whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    /// Why it is not taken for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<Quarantine>,
    /// It was left on when it was given back, so that it is on is nothing strange.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left_on: bool,
}

/// A host in a claim's hands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Hold {
    pub tag: MachineTag,
    pub taken_at: Timestamp,
    /// How its BMC is reached, also once the specification names it no more.
    pub place: Place,
    pub shape: Shape,
    /// Its node was seen.
    #[serde(default)]
    pub joined: bool,
    pub standing: Standing,
}

/// How a BMC is reached. What is not said is as the provider says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Place {
    pub address: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<RedfishTls>,
}

/// What a machine is, as it was when it was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Shape {
    pub offering: OfferingKey,
    pub price: Price,
    pub capacity: Resources,
    pub allocatable: Resources,
    pub labels: Labels,
    pub node_name: Text,
}

/// How far a claim has come with its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) enum Standing {
    /// It is the claim's, and nothing was done to its power.
    Taken,
    /// It was told to be on, or to begin anew, or is about to be.
    #[serde(rename_all = "camelCase")]
    Starting {
        since: Timestamp,
        /// When that was last asked.
        asked_at: Timestamp,
        /// It was on already, and left so by us.
        restart: bool,
    },
    /// It was seen to be on.
    Running { since: Timestamp },
    /// It is to be off, and then nobody's.
    Ending(Ending),
}

/// The end of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Ending {
    pub since: Timestamp,
    /// When it was told to be on without having been seen so since: until that can have no effect any more, it being off
    /// says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_go_on_since: Option<Timestamp>,
    /// What the host is quarantined for once it is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blame: Option<String>,
    /// It could not be had, and its claim looks elsewhere.
    #[serde(default)]
    pub failed: bool,
}

/// Why a host is not taken for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Quarantine {
    pub since: Timestamp,
    pub reason: String,
}

impl Hold {
    /// Whether it is what is left of a host that could not be had.
    pub fn is_failed(&self) -> bool {
        matches!(&self.standing, Standing::Ending(ending) if ending.failed)
    }

    pub fn is_running(&self) -> bool {
        matches!(self.standing, Standing::Running { .. })
    }

    pub fn is_ending(&self) -> bool {
        matches!(self.standing, Standing::Ending(_))
    }
}

impl Quarantine {
    /// Whether it still holds; none is for ever.
    pub fn holds(&self, period: Option<Duration>, now: Timestamp) -> bool {
        period.is_none_or(|period| !has_passed(self.since, period, now))
    }
}
