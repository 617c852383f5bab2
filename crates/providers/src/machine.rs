use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use windlass_core::model::{Labels, OfferingKey, Resources, Taint};
use windlass_core::{Price, Text};

use crate::Join;

/// What to launch. The claim's UID in the tag is the idempotency key: asked twice with the same key, a provider
/// answers with the same machine, whatever offering the second request names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchRequest {
    /// The mark that the machine will carry.
    pub tag: MachineTag,
    /// Which offering.
    pub offering: OfferingKey,
    /// What the planner expects the machine to have; a provider that knows better reports it in [`Machine`].
    pub capacity: Resources,
    /// What of it pods are expected to be able to use.
    pub allocatable: Resources,
    /// The price expected.
    pub price: Price,
    /// Labels that the node is to register with, where its kubelet can be told to.
    pub labels: Labels,
    /// Taints that the node is to register with, where its kubelet can be told to.
    pub taints: Vec<Taint>,
    /// How the machine is told to join the cluster; none where its image does so by itself.
    pub join: Option<Join>,
}

/// The mark of ownership on a machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineTag {
    /// The cluster that the machine belongs to: two clusters on one account never see each other's machines.
    pub cluster_id: Text,
    /// The UID of the claim for which it was launched.
    pub claim_uid: Text,
    /// The name of that claim.
    pub claim_name: Text,
    /// The pool of that claim.
    pub pool: Text,
}

/// A machine as its provider sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The machine, in the notation of `spec.providerID` of its node.
    pub provider_id: Text,
    /// Its mark.
    pub tag: MachineTag,
    /// Which offering it is.
    pub offering: OfferingKey,
    /// What it costs.
    pub price: Price,
    /// What it has.
    pub capacity: Resources,
    /// What of it pods can use.
    pub allocatable: Resources,
    /// The labels that its node has by itself.
    pub labels: Labels,
    /// What its node will be called, where that is known: a node of this name whose kubelet says of no machine that it is its
    /// own is this machine's.
    pub node_name: Option<Text>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When the provider will end it, where it says so: the end of a reservation, or a notice that a spot machine is
    /// taken back.
    pub ends_at: Option<Timestamp>,
    /// In which way it is not what the provider would launch today, in words, if it is not.
    pub drift: Option<Text>,
    /// Whether it is there to stay.
    pub state: MachineState,
}

/// Whether a machine is there to stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MachineState {
    /// It runs, or is about to.
    Running,
    /// It is on its way out and will be gone.
    Terminating,
}

/// How far the end of a machine has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Termination {
    /// It will be gone in a while; ask again.
    UnderWay,
    /// It is gone.
    Gone,
}
