use std::time::Duration;

use jiff::Timestamp;
use windlass_api::{LimitedDuration, NodeClaim, NodeClaimStatus};
use windlass_core::Text;
use windlass_core::model::{Driver, OfferingKey, PodId};
use windlass_providers::{Machine, ProviderError, Termination};

use super::draft::Draft;
use super::{Absence, Count, DrainProgress, Nominations, Outlook, leaving, living};
use crate::Settings;
use crate::adapt::Repair;
use crate::events::Note;
use crate::index::Registrant;

/// What is seen of a claim's machine and node.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The node that stands for the claim.
    pub registrant: Registrant,
    /// How sure it is that the machine does not exist.
    pub absence: Absence,
    /// The answer to the last effect.
    pub answer: Option<Answer>,
    /// What the provider last said about how long the machine will do.
    pub outlook: Option<Outlook>,
    /// When the claim's node is taken for sick.
    pub repair: Repair,
    /// Who decides about the claim's pool.
    pub driver: Driver,
    /// How many errors there were in a row.
    pub errors: u32,
    /// How far the pods that the claim was made for are nominated to its node.
    pub nominations: Nominations,
}

/// The one thing to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Put our finalizer on the claim, before there is anything to lose.
    HoldClaim,
    /// Launch the claim's offering of this number.
    Launch(usize),
    /// Delete the token with which the claim's machine joined, or was to join.
    RevokeToken,
    /// Ask the provider for this machine.
    Get(Text),
    /// Ask the provider whether it has a machine with the claim's tag.
    Find,
    /// End this machine.
    Terminate(Text),
    /// Put our marks on the node: labels, annotations, finalizer.
    MarkNode,
    /// Tell the scheduler that these pods are to go to the node.
    Nominate(Vec<PodId>),
    /// Put the node's taints in place and let pods in.
    OpenNode,
    /// Keep new pods off the node.
    CordonNode,
    /// Let pods in again.
    UncordonNode,
    /// Evict what is left on the node.
    Drain {
        /// After this time, what is left is deleted whatever its budget says.
        deadline: Option<Timestamp>,
    },
    /// Look for volumes still attached to the node.
    ListVolumes,
    /// Delete the node and let go of it.
    DeleteNode,
    /// Delete the claim, so that it leaves.
    DeleteClaim,
    /// Let go of the claim: its machine is gone.
    ReleaseClaim,
}

/// What came of an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To [`Effect::Launch`].
    Launched(Result<Machine, ProviderError>),
    /// To [`Effect::Launch`]: the machine could not be told how to join, so it was not launched; in words.
    Unprepared(String),
    /// To [`Effect::RevokeToken`].
    TokenRevoked,
    /// To [`Effect::Get`].
    Got(Result<Machine, ProviderError>),
    /// To [`Effect::Find`].
    Found(Result<Option<Machine>, ProviderError>),
    /// To [`Effect::Terminate`].
    Terminated(Result<Termination, ProviderError>),
    /// To [`Effect::Drain`].
    Drained(DrainProgress),
    /// To [`Effect::ListVolumes`]: the attachments that are left.
    Volumes(Vec<String>),
    /// The API server took the write.
    Written,
    /// The API server could not be asked or refused; in words.
    Failed(String),
}

impl Answer {
    /// Whether the effect did not come about.
    pub fn is_error(&self) -> bool {
        matches!(
            self,
            Self::Failed(_)
                | Self::Unprepared(_)
                | Self::Launched(Err(_))
                | Self::Got(Err(_))
                | Self::Found(Err(_))
                | Self::Terminated(Err(_))
        )
    }
}

/// What the claim's status should be, and what to do next.
#[derive(Clone, Debug)]
pub struct Step {
    /// The status, to be written before the effect.
    pub status: NodeClaimStatus,
    /// The one thing to do.
    pub effect: Option<Effect>,
    /// When to look again if nothing happens; none means only when something does.
    pub again_after: Option<Duration>,
    /// What to tell people.
    pub notes: Vec<Note>,
    /// What to count once the status is written.
    pub counts: Vec<Count>,
    /// An offering that could not be had.
    pub failed_offering: Option<OfferingKey>,
    /// An offering that was had: its machine has become a node.
    pub launched_offering: Option<OfferingKey>,
}

/// The deadlines and intervals that steps go by.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "described at `Settings`")]
pub struct Times {
    pub launch_deadline: Duration,
    pub registration_deadline: Duration,
    pub repair_after: Duration,
    pub failure_shown: Duration,
    pub status_interval: Duration,
    pub absence_interval: Duration,
    pub name_kept: Duration,
    pub poll_interval: Duration,
    retry_base: Duration,
    retry_max: Duration,
}

impl From<&Settings> for Times {
    fn from(settings: &Settings) -> Self {
        Self {
            launch_deadline: settings.launch_deadline,
            registration_deadline: settings.registration_deadline,
            repair_after: settings.repair_after,
            failure_shown: settings.failure_shown,
            status_interval: settings.status_interval,
            absence_interval: settings.absence_interval,
            name_kept: settings.name_kept,
            poll_interval: settings.poll_interval,
            retry_base: settings.retry_base,
            retry_max: settings.retry_max,
        }
    }
}

impl Times {
    /// How long a node may be not ready, where its pool says this; none means for ever.
    pub fn repair_after(&self, pool: Option<LimitedDuration>) -> Option<Duration> {
        pool.map_or(Some(self.repair_after), LimitedDuration::limit)
    }

    /// How long to wait after the n-th error in a row.
    pub fn retry_after(&self, errors: u32) -> Duration {
        crate::settings::doubling(self.retry_base, self.retry_max, errors)
    }
}

/// The next step of a claim's life.
pub fn step(claim: &NodeClaim, seen: &Observation, times: &Times, now: Timestamp) -> Step {
    let mut draft = Draft::new(claim, now);
    if claim.metadata.deletion_timestamp.is_some() {
        leaving::step(&mut draft, claim, seen, times);
    } else {
        living::step(&mut draft, claim, seen, times);
    }
    draft.finish()
}
