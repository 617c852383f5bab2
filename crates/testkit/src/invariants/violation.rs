use std::fmt;

use jiff::Timestamp;

use super::event::ObjectName;

/// What must hold at every moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    /// I1: at most one live machine per claim, and one claim per machine.
    OneMachinePerClaim,
    /// I2: no machine is without a claim for longer than the grace period.
    NoOrphans,
    /// I3: nothing that lacks our mark is changed.
    ForeignUntouched,
    /// I4: a pool's limits hold, counting what is on its way.
    LimitsHold,
    /// I5: pods under an exhausted disruption budget stay.
    BudgetsHold,
    /// I6: a replacement is ready before its victim goes.
    ReplacementFirst,
    /// I7: nothing is written over and over.
    NoWriteStorm,
    /// I8: a claim's life goes forward.
    ClaimsGoForward,
    /// I9: a pod gets one machine at a time.
    OneMachinePerPod,
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneMachinePerClaim => "I1 (one machine per claim)",
            Self::NoOrphans => "I2 (no machine without a claim)",
            Self::ForeignUntouched => "I3 (foreign things untouched)",
            Self::LimitsHold => "I4 (limits hold)",
            Self::BudgetsHold => "I5 (disruption budgets hold)",
            Self::ReplacementFirst => "I6 (replacement before victim)",
            Self::NoWriteStorm => "I7 (no write storm)",
            Self::ClaimsGoForward => "I8 (claims go forward)",
            Self::OneMachinePerPod => "I9 (one machine per pod)",
        })
    }
}

/// An invariant that did not hold.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Which one.
    pub invariant: Invariant,
    /// When it showed.
    pub at: Timestamp,
    /// What happened, for people.
    pub message: String,
    /// The objects it concerns.
    pub objects: Vec<ObjectName>,
    /// The last events about those objects, oldest first.
    pub events: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.invariant, self.at, self.message)?;
        for event in &self.events {
            write!(f, "\n    {event}")?;
        }
        Ok(())
    }
}

/// What a rule has found, before the judge adds what led to it.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) invariant: Invariant,
    pub(super) message: String,
    pub(super) objects: Vec<ObjectName>,
}

impl Finding {
    pub(super) fn new(invariant: Invariant, message: String, objects: Vec<ObjectName>) -> Self {
        Self { invariant, message, objects }
    }
}
