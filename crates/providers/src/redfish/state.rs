//! How a host is, in one word and with the reason.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::bmc::{Failure, FailureKind, Power};
use super::ledger::Record;
use super::sights::Sight;

/// How a host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It can be had.
    Free,
    /// A claim has it.
    InUse,
    /// Its machine is being ended.
    Leaving,
    /// It failed lately.
    Quarantined,
    /// Its BMC does not answer.
    Unreachable,
    /// Its BMC and we do not trust each other.
    Unauthorized,
    /// It is described wrongly.
    Misconfigured,
    /// It is used by others.
    Foreign,
    /// It is not known how it is.
    Unknown,
}

impl State {
    /// How a host is whose BMC failed to do what it was asked.
    pub fn of(failure: &Failure) -> Self {
        match failure.kind {
            FailureKind::Lost | FailureKind::Refused => Self::Unreachable,
            FailureKind::Unauthorized => Self::Unauthorized,
            FailureKind::Unusable => Self::Misconfigured,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Free => "Free",
            Self::InUse => "InUse",
            Self::Leaving => "Leaving",
            Self::Quarantined => "Quarantined",
            Self::Unreachable => "Unreachable",
            Self::Unauthorized => "Unauthorized",
            Self::Misconfigured => "Misconfigured",
            Self::Foreign => "Foreign",
            Self::Unknown => "Unknown",
        }
    }
}

/// What is known of a host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    pub record: Option<&'a Record>,
    pub sight: Option<&'a Sight>,
    /// The name of its node, if there is such a node, and whether that bears a mark of ours.
    pub node: Option<(&'a str, bool)>,
    /// How long a quarantine is; none is for ever.
    pub quarantine: Option<Duration>,
    pub now: Timestamp,
}

impl Known<'_> {
    /// How the host is, and why.
    pub fn state(&self) -> (State, String) {
        if let Some(hold) = self.record.and_then(|record| record.hold.as_ref()) {
            let (claim, pool) = (&hold.tag.claim_name, &hold.tag.pool);
            return if hold.is_ending() {
                (State::Leaving, format!("it is being powered off after claim {claim} of pool {pool}"))
            } else {
                (State::InUse, format!("claim {claim} of pool {pool} has it"))
            };
        }
        if let Some(words) = self.quarantined() {
            return (State::Quarantined, words);
        }
        match self.node {
            Some((node, true)) => {
                let words = format!("node {node} of an earlier machine is still there");
                return (State::Leaving, words);
            }
            Some((node, false)) => {
                return (State::Foreign, format!("there is a node {node} that is not ours"));
            }
            None => {}
        }
        match self.sight.map(|sight| &sight.power) {
            None => (State::Unknown, "its BMC was not asked yet".to_owned()),
            Some(Ok(Power::Off)) => (State::Free, "it is off".to_owned()),
            Some(Ok(Power::On)) if self.record.is_some_and(|record| record.left_on) => {
                (State::Free, "it was left on".to_owned())
            }
            Some(Ok(Power::On)) => (State::Foreign, "somebody else has powered it on".to_owned()),
            Some(Ok(Power::Changing)) => (State::Unknown, "it is being powered on or off".to_owned()),
            Some(Ok(Power::Unknown)) => (State::Unknown, "its BMC does not say whether it is on".to_owned()),
            Some(Err(failure)) => (State::of(failure), failure.words.clone()),
        }
    }

    fn quarantined(&self) -> Option<String> {
        let quarantine = self.record?.quarantine.as_ref()?;
        if !quarantine.holds(self.quarantine, self.now) {
            return None;
        }
        let end = self.quarantine.and_then(|period| SignedDuration::try_from(period).ok());
        let end = end.and_then(|period| quarantine.since.checked_add(period).ok());
        Some(match end {
            Some(end) => format!("{}; it is tried again after {end:.0}", quarantine.reason),
            None => quarantine.reason.clone(),
        })
    }
}
