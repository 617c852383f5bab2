use jiff::Timestamp;
use serde::Serialize;

use crate::model::{ClaimOffering, DisruptionReason, Labels, PodId};
use crate::{Price, Text};

/// A decision: claims to make, claims to delete, and where each pending pod is expected to go.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Plan {
    /// The claims to make.
    pub launches: Vec<Launch>,
    /// The claims that are to go, to be written down before anything else is done about them.
    pub disruptions: Vec<Disruption>,
    /// The claims that were to go and stay after all.
    pub cancellations: Vec<Cancellation>,
    /// The claims to delete.
    pub removals: Vec<Removal>,
    /// Where pods that wait now are expected to go.
    pub placements: Vec<Placement>,
    /// When to plan again even if nothing is seen to happen, because a delay will have passed by then.
    pub wake_at: Option<Timestamp>,
}

/// A claim to make.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Launch {
    /// The pool it counts against.
    pub pool: Text,
    /// What it is for.
    pub purpose: LaunchPurpose,
    /// The ways to get the machine, best first; never empty. Each holds all the pods planned for it, and all of them
    /// stay within the pool's limits.
    pub offerings: Vec<ClaimOffering>,
    /// The labels that its node has whichever offering is got, those of the instance types included. The claim carries
    /// them, so that they are known while the machine is on its way even if the provider cannot be asked.
    pub labels: Labels,
    /// The pods it is for.
    pub pods: Vec<PodId>,
    /// The claims it replaces.
    pub replaces: Vec<Text>,
    /// The reason in words.
    pub message: String,
}

/// What a machine is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum LaunchPurpose {
    /// Pods that fit nowhere else.
    PendingPods,
    /// The pool's minimum.
    MinNodes,
    /// A node that is going away.
    Replacement,
    /// Room that the pool or somebody else wants kept ready.
    Headroom,
}

/// Claims that are to go together, and what takes their place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Disruption {
    /// The claims, each with its UID: a claim of the same name made since is another one.
    pub claims: Vec<(Text, Text)>,
    /// Why.
    pub reason: DisruptionReason,
    /// The numbers of the plan's launches that take their place.
    pub replacements: Vec<usize>,
    /// The reason in words.
    pub message: String,
}

/// A claim that was to go and stays after all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cancellation {
    /// The claim.
    pub claim: Text,
    /// Its UID.
    pub uid: Text,
    /// Why, in words.
    pub message: String,
}

/// A claim to delete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Removal {
    /// The claim.
    pub claim: Text,
    /// Its UID: a claim of the same name made since is another one.
    pub uid: Text,
    /// Why.
    pub reason: DisruptionReason,
    /// The reason in words.
    pub message: String,
}

/// Where a pod is expected to go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Placement {
    /// The pod.
    pub pod: PodId,
    /// Where to.
    pub target: Target,
}

/// Where a pod is expected to go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Target {
    /// A node that is there.
    Node(Text),
    /// A claim whose node is on its way.
    Claim(Text),
    /// The plan's launch of this number, counted from 0.
    Launch(usize),
}

impl Plan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.launches.is_empty()
            && self.disruptions.is_empty()
            && self.cancellations.is_empty()
            && self.removals.is_empty()
    }

    /// The claims that go or are to go, why, and the reason in words.
    pub fn going(&self) -> impl Iterator<Item = (&Text, DisruptionReason, &str)> {
        let decided = self.disruptions.iter().flat_map(|each| {
            each.claims.iter().map(move |(claim, _)| (claim, each.reason, each.message.as_str()))
        });
        let removed = self.removals.iter().map(|each| (&each.claim, each.reason, each.message.as_str()));
        decided.chain(removed)
    }

    /// What the launches cost per hour.
    pub fn launch_cost(&self) -> Price {
        self.launches
            .iter()
            .filter_map(|launch| launch.offerings.first())
            .map(|offering| offering.price)
            .sum()
    }
}
