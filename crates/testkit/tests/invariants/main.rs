//! The invariant watcher on a real API server: for each invariant, a controller of a few lines does right and is left
//! alone, and then does wrong and is caught.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod disruption;
mod machines;
mod mini;
mod writes;

use std::time::Duration;

use disruption::{
    i5_a_pod_deleted_in_spite_of_its_budget_is_caught,
    i6_a_victim_that_goes_before_its_replacement_is_ready_is_caught,
};
use machines::{
    i1_a_second_machine_for_one_claim_is_caught, i1_and_i3_a_journal_is_judged_like_the_api,
    i2_a_machine_left_behind_is_caught, i4_a_claim_beyond_the_limit_is_caught,
};
use windlass_testkit::plane_tests;
use writes::{
    a_watcher_outlives_the_api_server, i3_writes_to_foreign_things_are_caught,
    i7_a_controller_that_writes_without_end_is_caught,
};

const SOON: Duration = Duration::from_secs(30);

plane_tests![
    i1_a_second_machine_for_one_claim_is_caught,
    i1_and_i3_a_journal_is_judged_like_the_api,
    i2_a_machine_left_behind_is_caught,
    i3_writes_to_foreign_things_are_caught,
    i4_a_claim_beyond_the_limit_is_caught,
    i5_a_pod_deleted_in_spite_of_its_budget_is_caught,
    i6_a_victim_that_goes_before_its_replacement_is_ready_is_caught,
    i7_a_controller_that_writes_without_end_is_caught,
    a_watcher_outlives_the_api_server,
];
