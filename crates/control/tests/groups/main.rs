//! Pools about which Cluster Autoscaler decides, on a real API server: what it is told, and what becomes of what it orders.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap fails the test")]
#![allow(clippy::wildcard_imports, reason = "each test is named once, in the list below")]

mod by_itself;
mod crashes;
mod failing;
#[path = "../reliability/faults.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod faults;
mod growing;
#[path = "../lifecycle/hands.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod hands;
#[path = "../lab/mod.rs"]
mod lab;
mod shrinking;
mod station;
#[path = "../reliability/steps.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod steps;
#[path = "../reliability/trap.rs"]
mod trap;

use windlass_testkit::plane_tests;

use by_itself::*;
use crashes::*;
use failing::*;
use growing::*;
use shrinking::*;

// Those that take longest go first.
plane_tests![
    a_controller_killed_before_any_effect_of_an_increase_and_a_deletion_leaves_the_target_as_it_is_told,
    a_controller_killed_after_any_effect_of_an_increase_and_a_deletion_leaves_the_target_as_it_is_told,
    nothing_comes_or_goes_by_itself,
    a_pool_that_changes_hands_keeps_its_nodes,
    a_node_that_somebody_deletes_is_drained_and_lowers_the_target,
    a_pools_minimum_is_restored_once_and_kept,
    an_increase_is_written_when_it_is_answered_and_becomes_nodes,
    increases_at_the_same_time_keep_the_limit_together,
    an_increase_whose_answers_are_lost_is_not_made_twice,
    an_increase_that_nobody_waits_for_comes_all_the_same,
    only_the_replica_that_leads_answers,
    nodes_that_are_given_back_go_and_lower_the_target_at_once,
    either_all_nodes_go_or_none,
    a_target_comes_down_by_claims_that_were_never_launched,
    a_target_does_not_come_down_by_a_machine_that_may_be_there,
    a_launch_without_capacity_is_shown_until_it_is_given_back,
    a_launch_that_makes_no_sense_is_shown_as_another_error,
    what_failed_goes_by_itself_in_the_end,
    a_machine_that_never_joins_is_shown_and_can_be_given_back,
];
