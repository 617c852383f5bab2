//! The ways in which controllers are known to fail, each tried on a real API server.
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
#![allow(clippy::panic, reason = "a panic fails the test")]

mod crashes;
mod faults;
mod identity;
#[path = "../lab/mod.rs"]
mod lab;
mod stale;
mod steps;
mod twist;

use windlass_testkit::plane_tests;

use crashes::*;
use identity::*;
use stale::*;

plane_tests![
    a_crash_before_any_odd_effect_leaves_one_machine_per_claim,
    a_crash_before_any_even_effect_leaves_one_machine_per_claim,
    a_crash_between_any_odd_effect_and_its_answer_leaves_one_machine_per_claim,
    a_crash_between_any_even_effect_and_its_answer_leaves_one_machine_per_claim,
    a_controller_that_dies_at_every_single_effect_still_gets_through_a_claims_life,
    a_launch_whose_answer_is_lost_is_found_again_by_the_claims_uid,
    a_claim_whose_creation_was_answered_too_late_is_not_made_a_second_time,
    a_claim_that_is_gone_before_its_creation_is_answered_is_not_remembered,
    pods_that_come_in_waves_get_one_claim_each_while_the_claim_watch_is_silent,
    a_node_that_only_the_cache_thinks_empty_is_kept,
    claims_that_go_while_nobody_watches_leave_no_machine_behind,
    a_successor_with_an_old_view_of_the_nodes_ends_none_and_drains_them_first,
    a_taint_that_was_just_removed_is_not_put_back,
    a_claim_made_anew_under_the_same_name_gets_a_machine_of_its_own,
    a_machine_that_lost_its_claim_is_adopted_with_its_pods_and_can_be_given_back,
    deleting_one_of_three_claims_ends_exactly_its_machine,
    a_node_that_claims_anothers_machine_is_neither_trusted_nor_touched,
    a_node_that_took_a_machines_name_is_neither_bound_nor_touched,
    machines_and_nodes_of_others_stay_as_they_are,
];
