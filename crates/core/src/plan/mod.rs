//! What to launch and what to give back.
//!
//! The pods that need a place are grouped into classes (`class`), and it is found out which of them have to do with which
//! others (`kin`, `crowd`, `rules`, `tally`). Those that a machine on its way was got for keep its room (`promise`,
//! `tenure`), and the others are placed on the nodes that are there or on their way (`place`, `assignment`). For those that
//! are left machines are chosen (`candidate`, `choice`, `wishes`), round by round (`draft`): first for pods that must share a
//! node (`company`), then for the others, which are divided among zones and the like (`split`) and packed (`optimise`), all
//! within what limits and providers allow (`budget`), and where pools want it for pods that have waited (`patience`). Pools
//! get what they keep beside that (`spare`, `minimum`, `usage`). Nodes that are to give way to others are planned for as if
//! they were on their way out (`rotate`, `expiry`). Then each node is looked at for whether it is still needed (`nodes`,
//! `empty`, `sick`), what was decided earlier is carried on (`decided`, `refuge`), and what was not done is explained
//! (`explain`). At last, where nothing is launched, nodes are looked for whose pods could run for less (`consolidate`,
//! `clearing`), as far as budgets (`leave`) and the pods themselves (`guards`) allow, also if the pods then go elsewhere than
//! planned (`scatter`).

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
mod clearing;
mod company;
mod consolidate;
mod crowd;
mod custom;
mod daemons;
mod decided;
mod decision;
mod draft;
mod empty;
mod expiry;
mod explain;
mod flexibility;
mod guards;
mod keys;
mod kin;
mod launches;
mod leave;
mod minimum;
mod mover;
mod nodes;
mod optimise;
mod patience;
mod place;
mod promise;
mod proposal;
mod refuge;
mod report;
mod rotate;
mod rules;
mod scatter;
mod scene;
mod sequence;
mod shape;
mod shortage;
mod sick;
mod slots;
mod spare;
mod split;
mod stay;
mod tally;
mod tenure;
mod usage;
mod view;
mod volumes;
mod wishes;
mod words;
mod worth;

pub use decision::{Cancellation, Disruption, Launch, LaunchPurpose, Placement, Plan, Removal, Target};
pub use report::{Exclusion, NodeReport, PoolExclusion, Report, Reserved, Unplaced};

pub use shape::{Shape, shapes};
pub use stay::why_kept;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use crate::model::{DisruptionReason, Pod, PodId, Snapshot};
use crate::pack::{Budget, Steps};
use crate::{Price, Text};
use class::Cause;
use nodes::Fates;
use refuge::Refuges;
use rotate::Rotation;
use scatter::{Look, Overflow};
use scene::Scene;
use view::View;

/// Says what to launch and what to give back, and why. Planning again on what the plan leads to yields an empty plan.
///
/// The search for a cheaper plan takes as many steps as the snapshot's settings say, so that the same snapshot gives the
/// same plan everywhere.
pub fn plan(snapshot: &Snapshot, now: Timestamp) -> (Plan, Report) {
    plan_within(snapshot, now, &mut Steps::new(snapshot.settings.search_steps))
}

/// The same with a budget for the search that the caller keeps, for example of time.
pub fn plan_within(snapshot: &Snapshot, now: Timestamp, search: &mut dyn Budget) -> (Plan, Report) {
    if let Some(why) = &snapshot.settings.paused {
        return plan_within(&left_as_it_is(snapshot, why), now, search);
    }
    let view = View::new(snapshot, now);
    let mut rotation = Rotation::new(&view);
    for review in 0..=REVIEWS {
        if review == REVIEWS {
            rotation.give_up();
        }
        if rotation.is_empty() {
            break;
        }
        let rotated = rotation.carried_out_on(snapshot);
        let outcome = Outcome::of(&View::new(&rotated, now), &rotation, search);
        if !rotation.spare(&outcome.homeless, &outcome.short_pools, &view) {
            return (outcome.plan, outcome.report);
        }
    }
    let Outcome { mut plan, mut report, .. } = Outcome::of(&view, &rotation, search);
    let rests_until = consolidate::rests_until(&view);
    // What goes because it is empty takes no pods, which the next plan knows. The pods of other nodes that go now have their
    // places in this plan, which would no longer be theirs.
    let moves_none = plan.removals.iter().all(|removal| removal.reason == DisruptionReason::Empty);
    if plan.launches.is_empty()
        && plan.disruptions.is_empty()
        && moves_none
        && !consolidate::is_under_way(&view)
        && rests_until.is_none()
        && let Some(proposal) = consolidate::propose(&view, &plan.placements, &report.reserves, search)
    {
        proposal.write(&view, &mut plan, &mut report);
    }
    let wakes = [plan.wake_at, mover::look_again_at(&view), rests_until];
    plan.wake_at = wakes.into_iter().flatten().min();
    (plan, report)
}

/// The same with all pools paused.
fn left_as_it_is(snapshot: &Snapshot, why: &Text) -> Snapshot {
    let mut snapshot = snapshot.clone();
    snapshot.settings.paused = None;
    for pool in Arc::make_mut(&mut snapshot.pools).values_mut() {
        let pool = Arc::make_mut(pool);
        pool.paused = true;
        pool.unusable = Some(why.clone());
    }
    snapshot
}

/// How often it is tried to leave nodes as they are whose pods would find no place when all go together.
const REVIEWS: usize = 4;

/// A plan, and what is wrong with it.
struct Outcome {
    plan: Plan,
    report: Report,
    /// The claims that are to go and some of whose pods would find no place.
    homeless: BTreeSet<Text>,
    /// The pools that would have fewer nodes than their minimum.
    short_pools: BTreeSet<Text>,
}

impl Outcome {
    /// Plans with some nodes on their way out.
    fn of(view: &View<'_>, rotation: &Rotation, search: &mut dyn Budget) -> Self {
        let doubtful = sick::doubtful(view);
        let needy = needy(view, &doubtful);
        let silence_ends = class::silence_ends(view, &needy);
        with_groups(view, needy, |scene, stuck| {
            let drafted = draft::draft(scene, budget::Budget::new(view, scene.pools), search);
            let (launches, placements) = launches::write(scene, &drafted);
            let fates = nodes::fates(scene, &drafted.assignment, &launches, &doubtful, rotation);
            let explained = explain::explain(scene, &drafted, stuck);
            let wakes =
                [explained.retry_at, fates.next_at, scene.trust_ends(&drafted.assignment), silence_ends];
            let wake_at = wakes.into_iter().flatten().min();
            let gets = |pool: &Text| launches.iter().filter(|launch| launch.pool == *pool).count();
            let short = scene.pools.iter().filter(|pool| minimum::lacking(view, pool, gets(&pool.name)) > 0);
            let short_pools = short.map(|pool| pool.name.clone()).collect();
            let homeless = Refuges::new(&scene.classes, &drafted.assignment).lacking().cloned().collect();
            let Fates { disruptions, cancellations, removals, reports, .. } = fates;
            let plan = Plan { launches, disruptions, cancellations, removals, placements, wake_at };
            let report = Report {
                unplaced: explained.unplaced,
                nodes: reports,
                short_pools: explained.short_pools,
                reserves: explained.reserves,
                cost: money(drafted.cost),
                lower_bound: money(drafted.bound),
            };
            Self { plan, report, homeless, short_pools }
        })
    }
}

/// What comes of planning with some nodes on their way out.
struct Trial {
    launches: Vec<Launch>,
    /// The claims some of whose pods would find no place.
    lacking: BTreeSet<Text>,
    /// How many pods that nobody has made would find no place.
    unreserved: usize,
    /// What comes of pods going elsewhere than planned.
    overflow: Overflow,
}

/// Plans without deciding anything. Whose pods would find no place need not be known for a rough look: pods that are the same
/// but for that are planned for at once.
fn try_out(snapshot: &Snapshot, now: Timestamp, look: Look<'_>, search: &mut dyn Budget) -> Trial {
    let view = View::new(snapshot, now);
    let mut needy = needy(&view, &sick::doubtful(&view));
    if let Look::Rough = look {
        for (cause, _) in &mut needy {
            if let Cause::Moving { claim, .. } = cause {
                *claim = Text::from("");
            }
        }
    }
    with_groups(&view, needy, |scene, _| {
        let drafted = draft::draft(scene, budget::Budget::new(&view, scene.pools), search);
        let (launches, _) = launches::write(scene, &drafted);
        let refuges = Refuges::new(&scene.classes, &drafted.assignment);
        let classes = drafted.assignment.by_class(&scene.classes);
        let unreserved =
            classes.filter(|(class, ..)| class.cause == Cause::Reserve).map(|(.., left)| left).sum();
        let (lacking, overflow) =
            (refuges.lacking().cloned().collect(), scatter::play(scene, &drafted, look));
        Trial { launches, lacking, unreserved, overflow }
    })
}

/// The pods that need a place.
fn needy<'a>(view: &View<'a>, doubtful: &BTreeMap<Text, (usize, usize)>) -> Vec<(Cause, &'a Pod)> {
    let given_up = sick::given_up(view, doubtful);
    class::needy(view, |claim| given_up.contains(claim))
}

/// Measures all that placing some pods looks at. Those whose volumes cannot be had anywhere are told apart, with the
/// reason.
fn with_groups<'a, R>(
    view: &View<'a>,
    needy: Vec<(Cause, &'a Pod)>,
    look: impl FnOnce(&Scene<'_, 'a>, Vec<(PodId, String)>) -> R,
) -> R {
    let (keys, kin) = kin::find(view, &needy);
    let shared = volumes::shared(view.snapshot, needy.iter().map(|(_, pod)| *pod));
    let (groups, stuck) = class::group(view, &keys, &kin, &shared, needy);
    let pools = candidate::in_order(view);
    let scene = Scene::new(view, &pools, keys, kin, shared, groups);
    look(&scene, stuck)
}

fn money(micros: u64) -> Price {
    Price::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}
