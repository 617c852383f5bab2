//! A stock Cluster Autoscaler that drives pools of Windlass, on a real control plane and over mutual TLS.
//!
//! It is told apart from the other tests' by what pods ask for: each test's pods go only to nodes of its own pools, and the
//! nodes of the others belong to no group that its Cluster Autoscaler knows.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic fails the test")]
#![allow(clippy::wildcard_imports, reason = "each test is named once, in the list below")]

mod autoscaler;
mod beside;
mod choosing;
mod failing;
mod growing;
mod shrinking;
mod yard;

#[path = "../process/served.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod served;
#[path = "../process/sights.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod sights;
#[path = "../process/stage.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod stage;
#[path = "../process/windlass.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod windlass;

use beside::*;
use choosing::*;
use failing::*;
use growing::*;
use shrinking::*;

// The longest first.
windlass_testkit::plane_tests![
    with windlass_testkit::cluster_autoscaler;
    machines_that_never_register_are_removed_and_others_come,
    a_group_out_of_capacity_gives_way_to_another,
    a_windlass_killed_while_cluster_autoscaler_grows_a_group_makes_each_machine_once,
    nodes_are_spread_evenly_over_zones,
    what_each_serves_comes_from_it_and_nodes_of_neither_stay,
    a_node_that_somebody_deletes_is_replaced,
    a_minimum_is_reached_and_kept,
    by_price_the_cheapest_machine_comes,
    by_waste_the_machine_comes_that_fits_best,
    pods_that_ask_for_gpus_get_machines_that_have_them,
    a_group_grows_from_nothing_and_shrinks_when_its_nodes_are_not_needed,
];
