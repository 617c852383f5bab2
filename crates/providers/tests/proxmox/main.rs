//! The provider `proxmox` with a fake of the API on loopback, whose requests are held against the description of the real one.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "these are tests, which a harness of their own hides from clippy"
)]
#![expect(clippy::wildcard_imports, reason = "the tests are all named below")]

mod chaos;
mod clones;
mod crashes;
mod lab;
mod launches;
mod offers;
mod strangers;
mod trust;
mod unreachable;

use chaos::*;
use clones::*;
use crashes::*;
use launches::*;
use offers::*;
use strangers::*;
use trust::*;
use unreachable::*;

windlass_testkit::plane_tests![
    a_launch_makes_a_machine_that_boots_from_the_network_and_its_end_deletes_it,
    a_claim_that_asks_again_has_one_machine,
    an_id_that_somebody_else_takes_is_left_to_them,
    a_task_that_fails_is_tried_again_and_a_lock_is_waited_for,
    a_launch_that_takes_longer_is_under_way_and_goes_on_when_asked_again,
    a_host_that_is_full_has_no_capacity,
    a_machine_that_cannot_be_started_is_removed,
    a_machine_is_ended_only_under_its_whole_tag,
    a_stranger_in_our_range_is_neither_listed_nor_touched,
    a_copy_of_our_machine_is_a_stranger,
    a_machine_of_ours_that_was_renamed_makes_the_list_fail,
    an_id_that_was_given_to_another_machine_is_not_ended,
    a_clone_is_given_its_user_data_on_a_drive_that_goes_with_it,
    each_host_uses_its_own_template_and_others_only_what_is_shared,
    a_template_that_vanished_is_named,
    a_clone_whose_host_went_away_keeps_its_id_and_says_how_to_release_it,
    a_launch_killed_after_any_request_leaves_one_machine,
    an_end_killed_after_any_request_leaves_none,
    shapes_on_hosts_become_offerings_as_far_as_there_is_room,
    hosts_and_version_are_shown,
    a_token_that_may_not_is_told_what_it_lacks,
    a_certificate_is_taken_by_its_fingerprint_or_its_authority_and_no_other,
    another_endpoint_is_asked_when_one_does_not_answer,
    a_secret_that_is_missing_or_wrong_is_named_and_never_shown,
    a_host_that_does_not_answer_keeps_its_machines,
    many_claims_have_one_machine_each_whatever_goes_wrong,
];
