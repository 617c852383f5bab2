//! One module per invariant. A rule looks at what an event changed, never at everything.

mod budgets;
mod demand;
mod foreign;
mod limits;
mod machines;
mod orphans;
mod progress;
mod replacements;
mod storms;

pub(super) use budgets::{node_leaves, pod_leaves};
pub(super) use demand::claim_made;
pub(super) use foreign::ForeignThings;
pub(super) use limits::Limits;
pub(super) use machines::{claim_gets_machine, machine_appears};
pub(super) use orphans::Orphans;
pub(super) use progress::claim_goes_on;
pub(super) use replacements::Replacements;
pub(super) use storms::Storms;

use jiff::Timestamp;

use super::options::Options;
use super::violation::Finding;
use super::world::World;

/// What a rule may look at, and where it says what it found.
pub(super) struct Case<'a> {
    pub(super) world: &'a World,
    pub(super) options: &'a Options,
    pub(super) now: Timestamp,
    pub(super) findings: &'a mut Vec<Finding>,
}
