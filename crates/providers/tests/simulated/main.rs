//! The simulated provider on a real API server, with KWOK as its nodes' kubelets.

#![expect(clippy::unwrap_used, reason = "these are tests, which a harness of their own hides from clippy")]
#![expect(clippy::wildcard_imports, reason = "the tests are all named below")]

mod calls;
mod cloud;
mod faults;
mod lab;
mod requests;

use calls::*;
use cloud::*;
use faults::*;

windlass_testkit::plane_tests![
    a_launch_repeated_under_one_key_gives_one_machine,
    a_claim_that_reuses_a_name_gets_a_machine_of_its_own,
    no_more_machines_than_there_are_can_be_had,
    no_more_machines_are_cut_from_a_host_than_it_holds,
    an_offering_that_is_not_there_cannot_be_had,
    another_clusters_machine_is_neither_seen_nor_ended,
    a_machine_is_ended_once_and_only_under_its_whole_tag,
    a_machine_that_is_held_is_on_its_way_out_until_it_is_released,
    what_takes_the_place_of_a_record_is_left_alone,
    one_unreadable_record_makes_the_whole_list_fail,
    without_permission_the_error_says_so,
    a_specification_that_makes_no_sense_is_refused,
    a_machine_becomes_a_ready_node,
    a_provider_built_anew_goes_on_where_the_old_one_stopped,
    a_node_that_was_deleted_does_not_come_back,
    a_node_of_another_owner_is_left_alone,
    the_node_of_an_ended_machine_falls_silent,
    an_error_has_no_effect,
    an_error_after_the_effect_leaves_the_machine_there,
    a_slow_answer_comes_after_the_effect,
    a_duplicated_launch_gives_one_machine_that_lists_name_twice,
    a_machine_that_never_registers_stays_a_machine,
    a_node_turns_not_ready_and_stays_so,
    a_vanished_machine_is_gone_and_its_node_falls_silent,
];
