//! `windlass run` as a process: killed, frozen, doubled, and deprived of what it needs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic fails the test")]

mod apiserver;
mod kills;
mod stage;
mod windlass;

use apiserver::*;
use kills::*;

windlass_testkit::plane_tests![
    a_process_killed_thirty_times_makes_each_machine_once_and_loses_none,
    a_process_whose_api_server_restarts_three_times_makes_each_machine_once_and_loses_none,
    a_killed_process_makes_each_machine_once_at_a_provider_that_answers_late,
    a_killed_process_makes_each_machine_once_at_a_provider_that_does_everything_twice,
    a_killed_process_makes_each_machine_once_at_a_provider_that_launches_and_answers_with_an_error,
];
