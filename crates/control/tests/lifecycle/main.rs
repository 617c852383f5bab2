//! The life of claims on a real API server: every combination of claim, machine and node, and what follows from it.
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
#![allow(clippy::wildcard_imports, reason = "each test is named once, in the list below")]

mod diary;
mod hands;
#[path = "../lab/mod.rs"]
mod lab;
mod launching;

use windlass_testkit::plane_tests;

use launching::*;

plane_tests![
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
];
