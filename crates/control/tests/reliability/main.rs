//! The ways in which controllers are known to fail, each tried on a real API server.
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
#![allow(clippy::panic, reason = "a panic fails the test")]
#![allow(clippy::print_stdout, reason = "how often a controller was killed is of interest")]

mod change;
mod crashes;
mod faults;
mod identity;
mod joining;
mod killed;
#[path = "../lifecycle/kubelets.rs"]
mod kubelets;
#[path = "../lab/mod.rs"]
mod lab;
mod lists;
mod old_lists;
mod removing;
mod repaired;
mod rivals;
mod rotated;
mod runaway;
mod shrunk;
mod stale;
mod steps;
mod trap;
mod twist;

use windlass_testkit::plane_tests;

#[allow(clippy::wildcard_imports, reason = "the tests are listed below")]
use {
    change::*, crashes::*, identity::*, joining::*, lists::*, old_lists::*, removing::*, repaired::*,
    rivals::*, rotated::*, runaway::*, shrunk::*, stale::*,
};

plane_tests![
    a_controller_killed_before_any_effect_of_a_consolidation_ends_it_all_the_same,
    a_controller_killed_after_any_effect_of_a_consolidation_ends_it_all_the_same,
    a_controller_killed_before_any_effect_of_a_replacement_by_a_cheaper_node_ends_it_all_the_same,
    a_controller_killed_after_any_effect_of_a_replacement_by_a_cheaper_node_ends_it_all_the_same,
    a_controller_that_dies_all_the_time_still_gets_through_a_replacement_by_a_cheaper_node,
    a_controller_killed_before_any_effect_of_a_repair_ends_it_all_the_same,
    a_controller_killed_after_any_effect_of_a_repair_ends_it_all_the_same,
    a_controller_that_dies_all_the_time_still_gets_through_a_repair,
    a_controller_killed_before_any_effect_of_a_rotation_ends_it_all_the_same,
    a_controller_killed_after_any_effect_of_a_rotation_ends_it_all_the_same,
    a_controller_that_dies_all_the_time_still_gets_through_a_rotation,
    a_provider_that_does_not_answer_is_asked_again_until_the_machine_is_gone,
    a_provider_that_fails_is_asked_again_until_the_machine_is_gone,
    a_machine_whose_end_was_answered_by_an_error_is_let_go_of,
    a_machine_that_the_provider_denies_and_has_is_ended_in_the_end,
    a_provider_that_only_promises_is_asked_again_until_the_machine_is_gone,
    a_machine_that_lists_still_show_after_its_end_is_let_go_of,
    a_machine_that_lists_lack_while_its_claim_leaves_is_drained_and_then_ended,
    a_crash_before_any_odd_effect_leaves_one_machine_per_claim,
    a_crash_before_any_even_effect_leaves_one_machine_per_claim,
    a_crash_between_any_odd_effect_and_its_answer_leaves_one_machine_per_claim,
    a_crash_between_any_even_effect_and_its_answer_leaves_one_machine_per_claim,
    a_crash_before_any_odd_effect_leaves_no_token_behind_and_takes_no_second_node,
    a_crash_between_any_odd_effect_and_its_answer_leaves_no_token_behind_and_takes_no_second_node,
    a_crash_between_any_even_effect_and_its_answer_leaves_no_token_behind_and_takes_no_second_node,
    a_controller_that_dies_after_every_few_effects_still_gets_through_a_claims_life,
    a_launch_whose_answer_is_lost_is_found_again_by_the_claims_uid,
    a_claim_whose_creation_was_answered_too_late_is_not_made_a_second_time,
    trouble_with_one_pools_claims_keeps_nobody_else_waiting,
    a_claim_that_is_gone_before_its_creation_is_answered_is_not_remembered,
    pods_that_come_in_waves_get_one_claim_each_while_the_claim_watch_is_silent,
    a_node_that_only_the_cache_thinks_empty_is_kept,
    claims_that_go_while_nobody_watches_leave_no_machine_behind,
    a_successor_with_an_old_view_of_the_nodes_ends_none_and_drains_them_first,
    a_successor_that_last_saw_a_node_sick_looks_again_before_it_replaces_it,
    a_taint_that_was_just_removed_is_not_put_back,
    a_pod_made_anew_under_the_same_name_is_not_evicted_in_the_others_place,
    a_claim_made_anew_under_the_same_name_gets_a_machine_of_its_own,
    a_machine_that_lost_its_claim_is_adopted_with_its_pods_and_can_be_given_back,
    deleting_one_of_three_claims_ends_exactly_its_machine,
    a_node_that_claims_anothers_machine_is_neither_trusted_nor_touched,
    a_node_that_took_a_machines_name_is_neither_bound_nor_touched,
    machines_and_nodes_of_others_stay_as_they_are,
    a_machine_that_lists_show_late_is_kept,
    an_empty_list_ends_nothing,
    an_empty_list_ends_nothing_while_single_machines_cannot_be_looked_at,
    an_empty_list_does_not_delete_the_node_of_a_machine_without_a_claim,
    the_order_of_lists_and_repetitions_in_them_mean_nothing,
    a_ready_node_that_does_not_take_pods_yet_is_waited_for,
    machines_that_never_join_are_tried_ever_less_often_while_others_progress,
    a_stockout_is_asked_about_ever_less_often_and_ends_by_itself,
    a_taint_that_somebody_puts_on_every_new_node_does_not_make_claims_without_end,
    a_node_that_is_ready_on_and_off_gets_no_replacement,
    a_rival_that_keeps_writing_cannot_keep_a_claim_from_getting_on,
    every_request_of_a_claims_life_says_which_object_it_means,
    a_status_that_arrives_after_a_newer_one_changes_nothing,
    a_controller_whose_connections_all_died_is_back_within_a_minute,
    a_leader_that_cannot_renew_its_lease_stops_before_its_successor_starts,
    new_nodes_follow_the_pools_new_template_and_keep_nothing_of_the_old,
    a_pool_that_named_a_missing_provider_works_once_it_names_a_good_one,
    a_provider_that_was_wrong_works_once_it_is_put_right,
    a_provider_that_changes_while_its_status_is_written_is_looked_at_again,
];
