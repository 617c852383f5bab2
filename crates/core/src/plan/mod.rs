//! What to launch and what to give back.
//!
//! The pods that need a place are grouped into classes (`class`), and it is found out which of them have to do with which
//! others (`kin`, `crowd`, `rules`, `tally`). Those that a machine on its way was got for keep its room (`promise`,
//! `tenure`), and the others are placed on the nodes that are there or on their way (`place`, `assignment`). For those that
//! are left machines are chosen (`candidate`, `choice`, `wishes`), round by round (`draft`): first for pods that must share a
//! node (`company`), then for the others, which are divided among zones and the like (`split`) and packed (`optimise`), all
//! within what limits and providers allow (`budget`). Then each node is looked at for whether it is still needed (`nodes`),
//! and what was not done is explained (`explain`).

mod admission;
mod alternatives;
mod amounts;
mod arriving;
mod assignment;
mod attach;
mod budget;
mod candidate;
mod choice;
mod class;
mod company;
mod crowd;
mod custom;
mod daemons;
mod decision;
mod draft;
mod empty;
mod explain;
mod flexibility;
mod keys;
mod kin;
mod launches;
mod leave;
mod minimum;
mod nodes;
mod optimise;
mod place;
mod promise;
mod report;
mod rules;
mod scene;
mod sequence;
mod shortage;
mod sick;
mod slots;
mod split;
mod tally;
mod tenure;
mod view;
mod volumes;
mod wishes;
mod words;
mod worth;

pub use decision::{Launch, LaunchPurpose, Placement, Plan, Removal, Target};
pub use report::{Exclusion, NodeReport, PoolExclusion, Report, Unplaced};

use jiff::Timestamp;

use crate::Price;
use crate::model::Snapshot;
use crate::pack::{Budget, Steps};

/// Says what to launch and what to give back, and why. Planning again on what the plan leads to yields an empty plan.
///
/// The search for a cheaper plan takes as many steps as the snapshot's settings say, so that the same snapshot gives the
/// same plan everywhere.
pub fn plan(snapshot: &Snapshot, now: Timestamp) -> (Plan, Report) {
    plan_within(snapshot, now, &mut Steps::new(snapshot.settings.search_steps))
}

/// The same with a budget for the search that the caller keeps, for example of time.
pub fn plan_within(snapshot: &Snapshot, now: Timestamp, search: &mut dyn Budget) -> (Plan, Report) {
    let view = view::View::new(snapshot, now);
    let doubtful = sick::doubtful(&view);
    let given_up = sick::given_up(&view, &doubtful);
    let needy = class::needy(&view, |claim| given_up.contains(claim));
    let silence_ends = class::silence_ends(&view, &needy);
    let (keys, kin) = kin::find(&view, &needy);
    let shared = volumes::shared(snapshot, needy.iter().map(|(_, pod)| *pod));
    let (groups, stuck) = class::group(&view, &keys, &kin, &shared, needy);
    let pools = candidate::in_order(&view);
    let scene = scene::Scene::new(&view, &pools, keys, kin, shared, groups);
    let drafted = draft::draft(&scene, budget::Budget::new(&view, &pools), search);
    let (launches, placements) = launches::write(&scene, &drafted);
    let fates = nodes::fates(&scene, &drafted.assignment, &launches, &doubtful);
    let explained = explain::explain(&scene, &drafted, &launches, stuck);
    let wakes = [explained.retry_at, fates.next_at, scene.trust_ends(&drafted.assignment), silence_ends];
    (
        Plan { launches, removals: fates.removals, placements, wake_at: wakes.into_iter().flatten().min() },
        Report {
            unplaced: explained.unplaced,
            nodes: fates.reports,
            short_pools: explained.short_pools,
            cost: money(drafted.cost),
            lower_bound: money(drafted.bound),
        },
    )
}

fn money(micros: u64) -> Price {
    Price::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}
