use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use windlass_core::model::{Labels, OfferingKey, Resources};
use windlass_core::{Price, Text};

use super::Doubt;
use crate::MachineTag;

/// What was asked for on behalf of a claim, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Entry {
    pub tag: MachineTag,
    /// What its machine is, in the ledger's shapes.
    pub shape: String,
    pub asked_at: Timestamp,
    pub standing: Standing,
}

/// How far it has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) enum Standing {
    /// The server was asked for one more, or is about to be.
    Asked(Doubt),
    /// The server will have one more, and has not shown it yet.
    Waiting,
    /// The claim waits no more, and the server was asked for one less, or is about to be.
    GivingUp(Doubt),
    /// There is an instance.
    Has(Holding),
}

/// An instance in somebody's hands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Holding {
    pub instance: Text,
    pub hold: Hold,
    /// Since when the server does not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_since: Option<Timestamp>,
}

/// What is being done about an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) enum Hold {
    /// It serves its claim.
    Kept,
    /// Its end was asked for.
    Ended,
    /// It could not be made, its end was asked for, and its claim looks elsewhere.
    Failed,
}

/// What a machine is, as it was when it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Shape {
    pub offering: OfferingKey,
    pub price: Price,
    pub capacity: Resources,
    pub allocatable: Resources,
    /// The labels that its node has by itself.
    pub labels: Labels,
}

impl Entry {
    /// Its instance, if it has one.
    pub fn instance(&self) -> Option<&str> {
        match &self.standing {
            Standing::Has(holding) => Some(&*holding.instance),
            Standing::Asked(_) | Standing::Waiting | Standing::GivingUp(_) => None,
        }
    }

    /// Whether it is the remains of an instance that could not be made.
    pub fn is_failed(&self) -> bool {
        matches!(&self.standing, Standing::Has(holding) if holding.hold == Hold::Failed)
    }
}
