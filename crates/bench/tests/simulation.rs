//! What comes of the planner's decisions over hours, on smaller versions of the workloads that are measured.

use std::time::Duration;

use windlass_bench::simulation::{Outcome, Scoring, Script, batch_jobs, daily_wave, declining_churn, play};
use windlass_core::model::Consolidation::{Empty, Underutilized};

const fn hours(count: u64) -> Duration {
    Duration::from_secs(3600 * count)
}

fn sound(script: &Script, outcome: Outcome) -> Outcome {
    assert!(outcome.flaws.is_empty(), "{}: {:#?}", script.name, outcome.flaws);
    assert!(outcome.cost >= outcome.bound, "{}: {outcome:?}", script.name);
    outcome
}

/// The same pods cost at least a tenth less than if only empty nodes were given back, whichever nodes the scheduler
/// prefers, nobody is lost or left waiting without a word, and no node is overfull.
fn is_cheaper(script: &Script) {
    for scoring in [Scoring::LeastAllocated, Scoring::MostAllocated] {
        let before = sound(script, play(script, Empty, scoring));
        let after = sound(script, play(script, Underutilized, scoring));
        assert_eq!(before.moved, 0);
        assert!(after.cost < 0.9 * before.cost, "{scoring:?}: {after:?} instead of {before:?}");
    }
}

#[test]
fn services_that_follow_the_day_cost_a_tenth_less() {
    is_cheaper(&daily_wave(10, hours(24)));
}

#[test]
fn what_long_jobs_are_left_behind_on_costs_a_tenth_less() {
    is_cheaper(&batch_jobs(60, hours(8)));
}

#[test]
fn services_that_come_and_go_cost_a_tenth_less() {
    is_cheaper(&declining_churn(50, hours(10)));
}

#[test]
fn the_same_day_comes_out_the_same() {
    let play = || play(&daily_wave(8, hours(6)), Underutilized, Scoring::LeastAllocated);
    let outcome = play();
    assert!(outcome.moved > 0, "{outcome:?}");
    assert_eq!(outcome, play());
}

/// Plays some hours in which nothing comes or goes any more.
fn is_left_alone(script: Script, scoring: Scoring) {
    let (rests_after, lasts) = (script.lasts, script.lasts + hours(4));
    let rests = script.at_rest_after(rests_after, lasts);
    let outcome = sound(&rests, play(&rests, Underutilized, scoring));
    assert!(outcome.moved > 0, "{}: {outcome:?}", rests.name);
    assert!(outcome.unmoved_for > hours(2), "{}: {outcome:?}", rests.name);
    assert!(outcome.cost < 1.2 * outcome.bound, "{}: {outcome:?}", rests.name);
}

#[test]
fn what_is_at_rest_is_left_alone() {
    is_left_alone(daily_wave(10, hours(15)), Scoring::MostAllocated);
    is_left_alone(declining_churn(40, hours(6)), Scoring::MostAllocated);
    is_left_alone(declining_churn(40, hours(6)), Scoring::LeastAllocated);
}

#[test]
fn what_is_at_rest_is_left_alone_whatever_the_scheduler_makes_of_a_tight_fit() {
    is_left_alone(daily_wave(16, hours(15)), Scoring::LeastAllocated);
}

#[test]
fn pods_that_are_moved_do_not_wait_longer_than_a_machine_takes_to_start() {
    let script = declining_churn(50, hours(10));
    let outcome = sound(&script, play(&script, Underutilized, Scoring::LeastAllocated));
    assert!(outcome.longest_wait_moved < Duration::from_secs(120), "{outcome:?}");
    assert!(10 * outcome.stranded < outcome.moved, "few find no room at once: {outcome:?}");
}
