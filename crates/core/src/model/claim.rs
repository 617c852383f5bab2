use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Decision, DisruptionReason, Labels, OfferingKey, PodId, Resources, Taint};
use crate::{Price, Text};

/// One machine, from the decision to get it until it is given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its name.
    pub name: Text,
    /// Its UID, with which its machine is tagged.
    pub uid: Text,
    /// The pool it counts against.
    pub pool: Text,
    /// What may be launched for it, in order of preference.
    pub offerings: Vec<ClaimOffering>,
    /// What was launched.
    pub launched: Option<Launched>,
    /// How far it has come.
    pub phase: ClaimPhase,
    /// The node that it became.
    pub node: Option<Text>,
    /// Labels that its node has or will have.
    pub labels: Labels,
    /// Taints that its node has or will have for good.
    pub taints: Vec<Taint>,
    /// Taints that something else removes.
    pub startup_taints: Vec<Taint>,
    /// Why it is to go, if it is.
    pub disrupted: Option<DisruptionReason>,
    /// What was decided about it, where it is to go and others may take its place.
    pub decision: Option<Decision>,
    /// What its pool's template was when it was made, in short, where that is known.
    pub template: Option<Text>,
    /// Why its provider would launch it differently today, in words, if it would.
    pub drift: Option<Text>,
    /// When its provider will end its machine, where it says so.
    pub ends_at: Option<Timestamp>,
    /// Whether somebody asked for another in its place.
    pub asked_to_go: bool,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether it was given up: no machine was to be had, or it did not become a node.
    pub given_up: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its node could first take pods.
    pub initialized_at: Option<Timestamp>,
    /// The claims that it replaces.
    pub replaces: Vec<Text>,
    /// The pods that it was planned for. While they wait, its room is theirs: packing them anew in every plan would
    /// strand some of them and get machines for them twice.
    pub pods: Vec<PodId>,
}

/// One way to get a claim's machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimOffering {
    /// Which offering.
    #[serde(flatten)]
    pub key: OfferingKey,
    /// Its price when planned.
    pub price: Price,
    /// What the machine has.
    pub capacity: Resources,
    /// What of it pods can use.
    pub allocatable: Resources,
}

/// What was launched for a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launched {
    /// The machine.
    pub provider_id: Text,
    /// Which offering it was.
    pub key: OfferingKey,
    /// What it costs.
    pub price: Price,
    /// What it has.
    pub capacity: Resources,
    /// What of it pods can use.
    pub allocatable: Resources,
    /// When that became known, by the second.
    pub at: Option<Timestamp>,
}

/// How far a claim has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ClaimPhase {
    /// No machine is known.
    Pending,
    /// There is a machine.
    Launched,
    /// There is a node.
    Registered,
    /// The node can take pods.
    Initialized,
}

impl Claim {
    /// What the claim counts for against limits: its machine, or as long as that is not known the most that it may
    /// become.
    pub fn counted(&self) -> Resources {
        match &self.launched {
            Some(launched) => launched.capacity.clone(),
            None => self.offerings.iter().fold(Resources::new(), |mut most, offering| {
                most.raise_to(&offering.capacity);
                most
            }),
        }
    }

    /// What the claim costs per hour, or will if its first choice is to be had.
    pub fn price(&self) -> Price {
        let planned = || self.offerings.first().map_or(Price::ZERO, |offering| offering.price);
        self.launched.as_ref().map_or_else(planned, |launched| launched.price)
    }
}
