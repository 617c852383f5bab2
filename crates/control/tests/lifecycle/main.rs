//! The life of claims on a real API server: every combination of claim, machine and node, and what follows from it;
//! and what becomes of input that makes no sense.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap fails the test")]
#![allow(clippy::wildcard_imports, reason = "each test is named once, in the list below")]

mod by_name;
mod diary;
mod draining;
mod eavesdrop;
mod hands;
mod joining;
mod kubelets;
#[path = "../lab/mod.rs"]
mod lab;
mod launching;
mod leading;
mod leaving;
mod nominating;
mod notices;
mod orphans;
mod pools;
mod refused;
mod replacing;
mod rotating;
mod shrinking;
mod sizes;
mod staying;
mod telling;
mod troubled;
#[path = "../reliability/twist.rs"]
mod twist;

use windlass_testkit::plane_tests;

use by_name::*;
use draining::*;
use joining::*;
use launching::*;
use leading::*;
use leaving::*;
use nominating::*;
use notices::*;
use orphans::*;
use pools::*;
use refused::*;
use replacing::*;
use rotating::*;
use shrinking::*;
use sizes::*;
use staying::*;
use telling::*;
use troubled::*;

// Those that take longest go first.
plane_tests![
    a_pool_of_twelve_rotates_within_its_budget_and_keeps_its_capacity,
    nodes_of_an_old_image_and_of_an_old_template_are_replaced,
    a_machine_that_its_provider_will_end_is_replaced_before_it_does,
    a_machine_that_its_provider_gives_late_notice_of_is_replaced_before_it_ends,
    a_machine_whose_replacement_does_not_come_is_drained_at_the_last_call,
    a_node_whose_replacement_is_sold_out_is_opened_again_and_stays,
    a_node_whose_replacement_never_joins_is_opened_again_and_stays,
    an_annotation_on_a_node_gets_another_in_its_place,
    a_node_with_a_condition_that_its_pool_names_is_replaced,
    a_paused_pool_and_a_paused_cluster_are_left_as_they_are,
    a_pool_of_a_fixed_size_grows_shrinks_and_is_restored,
    a_spare_node_is_kept_ready_and_made_up_for_when_pods_take_it,
    room_for_pods_that_nobody_has_made_is_kept_ready,
    room_that_a_capacity_buffer_asks_for_is_kept_ready,
    pods_that_may_not_be_evicted_keep_their_nodes,
    nodes_whose_pods_fit_on_others_are_closed_drained_and_given_back,
    a_decision_that_is_taken_back_opens_the_node_again,
    a_machine_that_vanishes_is_made_up_for_and_its_pods_run_again,
    a_healthy_node_is_left_alone,
    a_sick_node_is_replaced_before_it_is_drained,
    a_machine_that_someone_deletes_is_made_up_for,
    a_machine_lost_during_its_drain_does_not_wait_for_pods_that_no_longer_run,
    a_node_that_falls_ill_and_cannot_be_replaced_waits_for_what_can_be_had,
    a_drain_respects_budgets_and_says_which_pod_it_waits_for,
    pods_that_belong_to_the_node_stay_until_it_goes,
    a_pod_that_takes_its_time_to_end_keeps_the_node,
    a_volume_that_is_attached_is_named_and_keeps_the_machine_until_it_is_detached,
    a_drain_that_has_taken_its_time_no_longer_waits_for_budgets,
    a_drain_that_has_taken_its_time_no_longer_waits_for_pods_that_do_not_end,
    a_machine_that_lost_its_claim_and_runs_pods_is_adopted,
    a_machine_that_lost_its_claim_and_runs_nothing_is_ended_after_the_grace_period,
    a_machine_beyond_its_pools_limits_is_not_adopted_but_drained_and_ended,
    a_node_with_neither_claim_nor_machine_is_deleted_after_two_answers,
    a_node_without_our_finalizer_is_never_taken_for_ours,
    most_pods_of_a_plan_that_leaves_no_room_go_where_they_were_planned,
    pods_that_must_be_spread_are_left_to_the_scheduler,
    pending_pods_get_a_machine_and_an_empty_node_is_given_back,
    a_claim_and_its_launch_are_written_down_before_there_is_a_machine,
    a_booting_machine_is_waited_for,
    a_machine_that_never_joins_is_given_back_and_another_offering_is_tried,
    an_offering_that_is_sold_out_gives_way_to_the_next,
    an_offering_beyond_the_quota_gives_way_to_the_next,
    a_launch_that_makes_no_sense_is_given_up,
    a_throttled_launch_is_tried_again,
    a_launch_that_failed_for_now_is_tried_again,
    a_launch_without_permission_says_so_and_is_tried_again,
    a_launch_whose_answer_was_lost_makes_no_second_machine,
    a_claim_without_a_machine_after_the_deadline_is_given_up_and_replaced,
    of_two_controllers_one_acts_and_the_other_takes_over_when_it_crashes,
    a_leader_that_loses_the_lease_and_gets_it_back_goes_on_with_what_it_was_at,
    controllers_of_different_scopes_leave_each_other_alone,
    a_machine_gets_a_token_that_lets_it_join_and_is_good_for_nothing_afterwards,
    neither_token_nor_user_data_is_written_where_people_look,
    a_token_that_has_expired_before_the_launch_succeeds_is_renewed,
    a_secret_of_somebody_elses_in_the_tokens_place_is_left_alone,
    the_tokens_of_claims_that_are_gone_are_swept_up_and_those_of_others_are_not,
    a_claim_that_leaves_before_its_machine_has_joined_takes_its_token_along,
    a_claim_whose_machine_cannot_be_told_how_to_join_says_why_and_goes_on_when_it_can,
    a_node_of_the_expected_name_that_was_there_before_is_spoken_of_and_never_touched,
    a_node_that_joins_once_a_stranger_of_its_name_is_gone_is_taken,
    of_two_machines_whose_nodes_are_to_have_the_same_name_neither_gets_a_node,
    a_deleted_claim_is_drained_and_its_machine_given_back_in_order,
    a_deleted_node_is_drained_and_its_machine_given_back,
    a_node_stripped_of_our_finalizer_and_deleted_still_returns_its_machine,
    a_deleted_pool_returns_all_its_nodes,
    a_pool_that_waits_for_its_nodes_to_go_gets_no_new_ones,
    a_claim_deleted_while_its_machine_boots_leaves_nothing_behind,
    empty_nodes_go_no_more_at_a_time_than_the_pools_budgets_say,
    a_pools_minimum_is_kept_restored_and_raised,
    a_limit_on_nodes_is_never_exceeded,
    a_limit_on_cpu_is_never_exceeded,
    the_pool_with_the_higher_weight_serves_first,
    a_node_is_not_initialized_before_its_startup_taints_are_gone,
    a_pools_template_is_on_its_nodes,
    events_say_what_was_decided_about_pods_pools_and_claims,
    pools_and_providers_say_what_they_have_and_cost,
    a_pool_of_an_unknown_provider_says_so_and_others_go_on,
    wrong_credentials_are_said_and_recovered_from,
    a_provider_that_fails_later_keeps_what_it_has,
    a_provider_deleted_under_its_machines_is_waited_for,
    an_instance_type_that_no_machine_can_be_of_spoils_only_its_provider,
    a_pool_that_makes_no_sense_is_refused_in_words,
    a_provider_that_makes_no_sense_is_refused_in_words,
    a_claims_spec_never_changes,
];
