//! The provider `redfish` with an emulator that others wrote and with a strict fake of our own. Its ledgers are on a real
//! API server.

#![expect(clippy::unwrap_used, reason = "these are tests, which a harness of their own hides from clippy")]
#![expect(clippy::panic, reason = "these are tests, which a harness of their own hides from clippy")]
#![expect(clippy::print_stdout, reason = "a test that is skipped says why")]
#![expect(clippy::wildcard_imports, reason = "the tests are all named below")]

mod bmc;
mod crashes;
#[path = "../external_grpc/effects.rs"]
mod effects;
mod emulated;
mod failures;
mod host;
mod lab;
mod secrecy;
mod strangers;
mod sushy;
mod vendors;

use crashes::*;
use emulated::*;
use failures::*;
use secrecy::*;
use strangers::*;
use vendors::*;

windlass_testkit::plane_tests![
    a_host_is_powered_on_becomes_a_node_and_is_powered_off,
    claims_beyond_the_number_of_hosts_have_no_capacity,
    a_password_that_is_wrong_is_said_and_a_new_one_is_used,
    a_system_that_the_bmc_does_not_have_is_named,
    a_bmc_that_stops_answering_takes_nothing_away,
    a_host_boots_the_network_once_in_a_session_that_is_ended,
    a_session_that_has_ended_is_begun_anew,
    where_there_are_no_sessions_the_password_is_shown_each_time,
    what_is_done_by_and_by_is_followed_to_its_end,
    only_what_a_bmc_offers_is_asked,
    a_bmc_in_trouble_keeps_nobody_from_the_other_hosts,
    an_answer_that_is_lost_has_its_effect_once,
    a_host_that_somebody_else_has_powered_on_is_never_taken,
    a_host_whose_node_name_is_anothers_is_never_taken,
    a_host_that_leaves_the_specification_is_not_lost,
    a_host_that_others_power_off_stays_its_claims_and_is_reported,
    a_ledger_that_cannot_be_read_hides_no_machines_and_frees_no_hosts,
    a_host_that_does_not_go_on_is_quarantined_and_another_is_taken,
    a_host_that_never_joins_is_quarantined,
    a_host_that_does_not_shut_down_is_powered_off_after_its_deadline,
    a_host_that_may_yet_go_on_is_not_taken_for_off,
    a_host_that_is_left_on_is_restarted_for_the_next_claim,
    a_launch_killed_after_any_effect_leaves_one_host,
    an_end_killed_after_any_effect_leaves_no_host_on,
    credentials_are_in_no_words_whatever_a_bmc_repeats,
];
