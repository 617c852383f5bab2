//! What to launch and what to give back.

mod decision;
mod report;

pub use decision::{Launch, LaunchPurpose, Placement, Plan, Removal, Target};
pub use report::{Exclusion, NodeReport, PoolExclusion, Report, Unplaced};

use jiff::Timestamp;

use crate::model::Snapshot;

/// Says what to launch and what to give back, and why. Planning again on what the plan leads to yields an empty plan.
pub fn plan(_snapshot: &Snapshot, _now: Timestamp) -> (Plan, Report) {
    (Plan::default(), Report::default())
}
