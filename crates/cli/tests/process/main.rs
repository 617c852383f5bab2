//! `windlass run` as a process: killed, frozen, doubled, and deprived of what it needs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic fails the test")]
#![allow(clippy::float_cmp, reason = "metrics that count are whole numbers")]

mod apiserver;
mod bridge;
mod foreign;
mod kills;
mod leaders;
mod limits;
mod logs;
mod looks;
mod probes;
#[allow(dead_code, reason = "shared with other tests")]
mod served;
mod sights;
mod stage;
#[allow(dead_code, reason = "shared with other tests")]
mod windlass;

use apiserver::a_process_whose_api_server_restarts_three_times_makes_each_machine_once_and_loses_none;
use bridge::a_windlass_gets_machines_from_another_while_both_are_killed;
use foreign::what_is_foreign_stays_as_it_is_while_nodes_come_and_go;
use kills::{
    a_killed_process_makes_each_machine_once_at_a_provider_that_answers_late,
    a_killed_process_makes_each_machine_once_at_a_provider_that_does_everything_twice,
    a_killed_process_makes_each_machine_once_at_a_provider_that_launches_and_answers_with_an_error,
    a_process_killed_thirty_times_makes_each_machine_once_and_loses_none,
};
use leaders::{
    a_leader_that_was_frozen_follows_once_it_thaws, a_lease_is_never_written_as_shorter_than_it_is,
    a_process_asked_to_stop_hands_over_at_once_and_loses_nothing,
    the_second_of_two_processes_finishes_what_the_first_was_killed_at,
};
use limits::limits_hold_at_every_instant_and_more_comes_once_they_are_raised;
use logs::a_log_for_programs_is_one_object_a_line_and_no_log_has_the_token;
use looks::{
    a_node_that_a_budget_keeps_says_so,
    a_plan_for_a_live_cluster_shows_what_would_be_removed_and_why_others_stay,
    a_plan_for_a_live_cluster_shows_what_would_happen_and_changes_nothing,
};
use probes::{in_a_bare_cluster_it_waits_and_says_what_is_missing, probes_and_metrics_tell_what_happens};

// The longest first.
windlass_testkit::plane_tests![
    a_process_killed_thirty_times_makes_each_machine_once_and_loses_none,
    a_process_whose_api_server_restarts_three_times_makes_each_machine_once_and_loses_none,
    a_killed_process_makes_each_machine_once_at_a_provider_that_launches_and_answers_with_an_error,
    a_killed_process_makes_each_machine_once_at_a_provider_that_answers_late,
    a_killed_process_makes_each_machine_once_at_a_provider_that_does_everything_twice,
    a_windlass_gets_machines_from_another_while_both_are_killed,
    limits_hold_at_every_instant_and_more_comes_once_they_are_raised,
    what_is_foreign_stays_as_it_is_while_nodes_come_and_go,
    a_process_asked_to_stop_hands_over_at_once_and_loses_nothing,
    the_second_of_two_processes_finishes_what_the_first_was_killed_at,
    a_leader_that_was_frozen_follows_once_it_thaws,
    a_lease_is_never_written_as_shorter_than_it_is,
    a_plan_for_a_live_cluster_shows_what_would_happen_and_changes_nothing,
    a_plan_for_a_live_cluster_shows_what_would_be_removed_and_why_others_stay,
    a_node_that_a_budget_keeps_says_so,
    in_a_bare_cluster_it_waits_and_says_what_is_missing,
    probes_and_metrics_tell_what_happens,
    a_log_for_programs_is_one_object_a_line_and_no_log_has_the_token,
];
