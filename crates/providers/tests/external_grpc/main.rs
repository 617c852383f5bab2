//! The provider `externalGrpc` with a server on loopback, whose ledgers are on a real API server.

#![expect(clippy::unwrap_used, reason = "these are tests, which a harness of their own hides from clippy")]
#![expect(clippy::wildcard_imports, reason = "the tests are all named below")]

mod crashes;
mod effects;
mod lab;
mod launches;
mod offers;
mod rack;
#[path = "../simulated/requests.rs"]
mod requests;
mod strangers;
mod trust;
mod waiting;
mod wire;

use crashes::*;
use launches::*;
use offers::*;
use strangers::*;
use trust::*;
use waiting::*;

windlass_testkit::plane_tests![
    a_launch_gets_an_instance_and_its_end_gives_it_back,
    a_claim_that_asks_again_has_one_machine_whatever_it_asks_for,
    a_machine_that_is_to_be_told_how_to_join_is_refused,
    ten_claims_at_once_get_ten_different_instances,
    a_machine_is_ended_only_under_its_whole_tag,
    an_instance_that_takes_its_time_to_go_is_asked_to_once,
    a_group_that_is_full_or_refuses_has_no_capacity,
    an_instance_that_cannot_be_made_is_removed_and_said_why,
    nodes_with_a_taint_that_the_pool_does_not_name_are_not_launched,
    an_answer_that_is_lost_has_its_effect_once,
    a_launch_killed_after_any_effect_leaves_one_machine,
    an_end_killed_after_any_effect_leaves_no_machine,
    a_wait_given_up_and_killed_after_any_effect_leaves_the_target_size_as_it_was,
    an_unclear_refusal_is_settled_by_the_target_size,
    a_request_that_may_be_under_way_is_not_repeated,
    a_launch_asked_again_goes_on_waiting,
    a_claim_given_up_while_it_waits_leaves_the_target_size_as_it_was,
    a_decrease_whose_answer_was_lost_is_not_repeated,
    a_claim_given_up_too_late_ends_the_instance_when_it_comes,
    what_the_server_has_given_up_by_itself_is_not_waited_for,
    a_stranger_is_neither_taken_nor_ended,
    a_machine_that_vanishes_and_comes_back_is_still_ours,
    a_ledger_that_cannot_be_read_makes_the_list_fail,
    a_group_that_is_gone_hides_no_machines,
    groups_become_offerings,
    a_group_that_cannot_be_used_is_left_out,
    a_server_that_cannot_be_asked_is_an_error,
    prices_are_the_servers_or_else_those_stated,
    certificates_let_both_sides_in_and_new_ones_are_used,
    a_certificate_of_another_authority_is_refused_in_words,
    a_secret_that_is_missing_or_incomplete_is_named,
    plaintext_to_another_machine_has_to_be_asked_for,
];
