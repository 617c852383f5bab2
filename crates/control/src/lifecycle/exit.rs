//! Why a claim goes, in one word for conditions and metrics.

use kube::ResourceExt;
use windlass_api::{NodeClaim, NodeClaimStatus, conditions, labels};
use windlass_core::model::DisruptionReason;

use super::Observation;
use crate::index::Registrant;

/// Why a claim goes: for one of the planner's reasons, or because it never became, or is no more, what it was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It was decided, or somebody deletes it.
    Disrupted(DisruptionReason),
    /// Its machine is gone, and it was not Windlass that ended it.
    Lost,
    /// No machine was to be had for it.
    NeverLaunched,
    /// Its machine did not become a node in time.
    NeverRegistered,
    /// Cluster Autoscaler gave it back.
    ClusterAutoscaler,
}

impl Exit {
    /// The reason in conditions and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disrupted(reason) => reason.as_str(),
            Self::Lost => "Lost",
            Self::NeverLaunched => "NeverLaunched",
            Self::NeverRegistered => "NeverRegistered",
            Self::ClusterAutoscaler => "ClusterAutoscaler",
        }
    }
}

/// What is to be counted once the status that says so is written: in a status each of these comes about once, whatever
/// becomes of the process that wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Count {
    /// It was found here, and not by the planner, that the node is to go.
    Decided(DisruptionReason),
    /// A node of which that was found stays.
    TakenBack,
    /// The claim has no machine any more: why it went.
    Gone(String),
}

/// Why a claim that is on its way out goes, and in words. What was written down counts, by whoever decided or gave up;
/// where nothing was, somebody deleted the claim or its node.
pub(super) fn why(claim: &NodeClaim, status: &NodeClaimStatus, seen: &Observation) -> (Exit, String) {
    if let Some(written) = claim.annotations().get(labels::DISRUPTION) {
        if let Some((who, text)) = written.split_once(": ")
            && who == Exit::ClusterAutoscaler.as_str()
        {
            return (Exit::ClusterAutoscaler, text.to_owned());
        }
        let parts = written.split_once(": ").and_then(|(why, text)| Some((why.parse().ok()?, text)));
        // What others write there need not be a word that a condition may have for its reason.
        let (reason, message) = parts.unwrap_or((DisruptionReason::Manual, written));
        return (Exit::Disrupted(reason), message.to_owned());
    }
    let given_up = |kind| {
        let found = conditions::find(&status.conditions, kind)?;
        (found.status == "False").then(|| found.message.clone())
    };
    if let Some(message) = given_up(conditions::LAUNCHED) {
        return (Exit::NeverLaunched, message);
    }
    if let Some(message) = given_up(conditions::REGISTERED) {
        return (Exit::NeverRegistered, message);
    }
    let what = if lost_its_node(status, seen) { "node" } else { "claim" };
    (Exit::Disrupted(DisruptionReason::Manual), format!("the {what} was deleted"))
}

/// The reason of a claim whose node was deleted past our finalizer.
pub(super) const NODE_GONE: &str = "NodeGone";

fn lost_its_node(status: &NodeClaimStatus, seen: &Observation) -> bool {
    let ready = conditions::find(&status.conditions, conditions::READY);
    ready.is_some_and(|ready| ready.reason == NODE_GONE)
        || matches!(&seen.registrant, Registrant::Node(node) if node.deleting)
}
