//! What to launch and what to give back.
//!
//! The pods that need a place are grouped into classes (`class`). Those that a machine on its way was got for keep its
//! room (`promise`), and the others are placed on the nodes that are there or on their way (`place`, `assignment`). For
//! those that are left machines are chosen (`candidate`, `pack`, `draft`) within what limits and providers allow
//! (`budget`). Then each node is looked at for whether it is still needed (`nodes`), and what was not done is explained
//! (`explain`).

mod admission;
mod alternatives;
mod amounts;
mod arriving;
mod assignment;
mod budget;
mod candidate;
mod class;
mod daemons;
mod decision;
mod draft;
mod empty;
mod explain;
mod launches;
mod minimum;
mod nodes;
mod pack;
mod place;
mod promise;
mod report;
mod scene;
mod shortage;
mod sick;
mod view;
mod words;
mod worth;

pub use decision::{Launch, LaunchPurpose, Placement, Plan, Removal, Target};
pub use report::{Exclusion, NodeReport, PoolExclusion, Report, Unplaced};

use jiff::Timestamp;

use crate::model::Snapshot;

/// Says what to launch and what to give back, and why. Planning again on what the plan leads to yields an empty plan.
pub fn plan(snapshot: &Snapshot, now: Timestamp) -> (Plan, Report) {
    let view = view::View::new(snapshot, now);
    let doubtful = sick::doubtful(&view);
    let given_up = sick::given_up(&view, &doubtful);
    let groups = class::group(&view, |claim| given_up.contains(claim));
    let pools = candidate::in_order(&view);
    let scene = scene::Scene::new(&view, &pools, groups);
    let drafted = draft::draft(&scene, budget::Budget::new(&view, &pools));
    let (launches, placements) = launches::write(&scene, &drafted);
    let fates = nodes::fates(&scene, &drafted.assignment, &launches, &doubtful);
    let explained = explain::explain(&scene, &drafted, &launches);
    let wakes = [explained.retry_at, fates.next_at, scene.trust_ends(&drafted.assignment)];
    (
        Plan { launches, removals: fates.removals, placements, wake_at: wakes.into_iter().flatten().min() },
        Report { unplaced: explained.unplaced, nodes: fates.reports, short_pools: explained.short_pools },
    )
}
