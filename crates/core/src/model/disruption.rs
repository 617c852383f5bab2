use std::collections::BTreeSet;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Window;
use crate::Text;

/// Why a node goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum DisruptionReason {
    /// Nothing runs on it.
    Empty,
    /// Its pods could run for less elsewhere.
    Underutilized,
    /// It is not what its pool would launch today.
    Drifted,
    /// Its time is nearly over.
    Expiring,
    /// Its pool is to have fewer nodes.
    Surplus,
    /// Somebody asked for another in its place.
    Manual,
    /// It has not been ready for too long.
    Sick,
}

impl DisruptionReason {
    /// All reasons.
    pub const ALL: [Self; 7] = [
        Self::Empty,
        Self::Underutilized,
        Self::Drifted,
        Self::Expiring,
        Self::Surplus,
        Self::Manual,
        Self::Sick,
    ];

    /// The reason in conditions, events and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Underutilized => "Underutilized",
            Self::Drifted => "Drifted",
            Self::Expiring => "Expiring",
            Self::Surplus => "Surplus",
            Self::Manual => "Manual",
            Self::Sick => "Sick",
        }
    }
}

impl FromStr for DisruptionReason {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text).ok_or(())
    }
}

/// That a node is to go, as it was written down before anything was done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// When that was decided.
    pub since: Timestamp,
    /// The claims that take its place.
    pub replacements: Vec<Text>,
    /// Why, in words.
    pub message: Text,
}

/// When nodes on which pods run are given back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consolidation {
    /// Never.
    #[default]
    Empty,
    /// When their pods can run for less elsewhere.
    Underutilized,
}

/// How many nodes of a pool may be on their way out at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisruptionBudget {
    /// So many.
    pub nodes: Share,
    /// For these reasons; none means for all.
    pub reasons: BTreeSet<DisruptionReason>,
    /// At these times; none means at all.
    pub window: Option<Window>,
}

/// A part of a pool's nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// So many.
    Count(u32),
    /// So much of all, rounded up.
    Percent(u32),
}

impl Share {
    /// How many of so many.
    pub fn of(self, all: usize) -> usize {
        match self {
            Self::Count(count) => count as usize,
            Self::Percent(percent) => all.saturating_mul(percent as usize).div_ceil(100),
        }
    }
}

impl DisruptionBudget {
    /// Whether it counts now for nodes that go for this reason.
    pub fn applies(&self, reason: DisruptionReason, now: Timestamp) -> bool {
        let concerns = self.reasons.is_empty() || self.reasons.contains(&reason);
        concerns && self.window.as_ref().is_none_or(|window| window.is_open(now))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use jiff::Timestamp;
    use jiff::tz::TimeZone;

    use super::{DisruptionBudget, DisruptionReason, Share};
    use crate::model::Window;

    #[test]
    fn percentages_round_up() {
        let percent = |percent: u32, all: usize| Share::Percent(percent).of(all);
        assert_eq!((percent(10, 1), percent(10, 10), percent(10, 11), percent(0, 50)), (1, 1, 2, 0));
        assert_eq!(Share::Count(3).of(1), 3);
    }

    #[test]
    fn a_budget_counts_for_its_reasons_and_at_its_times() {
        let night = Window {
            begins: "0 22 * * *".parse().unwrap(),
            zone: TimeZone::UTC,
            lasts: Duration::from_hours(8),
        };
        let (noon, midnight): (Timestamp, Timestamp) =
            ("2026-11-16T12:00:00Z".parse().unwrap(), "2026-11-16T00:00:00Z".parse().unwrap());
        let empty = BTreeSet::from([DisruptionReason::Empty]);
        let budget = DisruptionBudget { nodes: Share::Count(0), reasons: empty, window: Some(night) };
        assert!(budget.applies(DisruptionReason::Empty, midnight));
        assert!(!budget.applies(DisruptionReason::Empty, noon));
        assert!(!budget.applies(DisruptionReason::Sick, midnight));
        let always = DisruptionBudget { reasons: BTreeSet::new(), window: None, ..budget };
        assert!(always.applies(DisruptionReason::Sick, noon));
    }
}
