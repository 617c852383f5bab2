//! What is said about pods that stay pending.

use windlass_core::model::{Operator, Pool};

use crate::cluster::Cluster;
use crate::shapes::{machine, pool, taint};
use crate::workload::{HOST, Workload, ZONE, app, general, three_zones};

fn why(cluster: Cluster, pods: Workload) -> String {
    cluster.run(pods).outcome().why()
}

#[test]
fn pods_that_cannot_be_spread_are_told() {
    let only_a =
        Cluster::new([pool("general", vec![machine("small", 2, 8, "0.10")])]).node_in("full", "b", 0, 0);
    assert_eq!(
        why(only_a, app("web").pods(3).spread(ZONE, 1)),
        "pool general: no machine keeps the pods spread over topology.kubernetes.io/zone with a skew of at most 1"
    );
}

#[test]
fn pods_whose_company_is_not_there_are_told() {
    assert_eq!(
        why(three_zones(), app("web").with(ZONE, "nobody")),
        "pool general: no machine is in a topology.kubernetes.io/zone with the pods that these must be with"
    );
    assert_eq!(
        why(three_zones(), app("web").with(HOST, "nobody")),
        "pool general: no machine is in a kubernetes.io/hostname with the pods that these must be with"
    );
}

#[test]
fn pods_that_are_kept_out_everywhere_are_told() {
    assert_eq!(
        why(three_zones(), app("web").pods(4).away(ZONE, "web")),
        "pool general: every machine is in a topology.kubernetes.io/zone with pods that these must be away from"
    );
}

#[test]
fn the_label_that_no_machine_has_is_named() {
    assert_eq!(
        why(three_zones(), app("web").requiring("disk", Operator::In, &["ssd"])),
        "pool general: no machine has label disk in [ssd]"
    );
}

#[test]
fn each_pool_gives_its_own_reason() {
    let closed = Pool { taints: vec![taint("team")], ..pool("closed", vec![machine("x", 64, 256, "1")]) };
    assert_eq!(
        why(Cluster::new([closed, general()]), app("web").asking(32_000, 128)),
        "pool closed: taint team:NoSchedule is not tolerated; \
         pool general: 2 of 2 types match; none has 32 of cpu free, largest 16"
    );
}

#[test]
fn pods_that_have_a_place_have_no_excuse() {
    assert!(three_zones().run(app("web").pods(9).spread(ZONE, 1)).outcome().report.unplaced.is_empty());
}

#[test]
fn pods_of_one_kind_share_a_line() {
    let outcome = three_zones().run(app("web").pods(7).asking(99_000, 1)).outcome();
    assert_eq!((outcome.report.unplaced.len(), outcome.report.unplaced[0].pods.len()), (1, 7));
}

#[test]
fn the_cost_is_at_least_the_bound_and_what_the_machines_cost() {
    let outcome = three_zones()
        .run(app("web").pods(40).asking(700, 900))
        .run(app("db").pods(3).away(HOST, "db"))
        .outcome();
    assert_eq!(outcome.report.cost, outcome.plan.launch_cost());
    assert!(outcome.report.lower_bound <= outcome.report.cost);
}

#[test]
fn machines_for_pods_that_must_share_a_node_are_part_of_the_cost() {
    let outcome = three_zones().run(app("web").pods(5).asking(1000, 128).with(HOST, "web")).outcome();
    assert_eq!(outcome.report.cost, outcome.plan.launch_cost());
}

#[test]
fn a_plan_that_does_nothing_costs_nothing() {
    let outcome = three_zones().outcome();
    assert_eq!((outcome.report.cost.micros(), outcome.report.lower_bound.micros()), (0, 0));
}

#[test]
fn a_launch_names_the_pods_that_it_is_for() {
    let outcome = three_zones().run(app("db")).run(app("web").pods(2).with(HOST, "db")).outcome();
    let mut names: Vec<&str> = outcome.plan.launches[0].pods.iter().map(|pod| &*pod.name).collect();
    names.sort_unstable();
    assert_eq!(names, ["db-1", "web-1", "web-2"]);
}

#[test]
fn a_reason_can_be_read_by_programs_too() {
    let outcome = three_zones().run(app("web").with(ZONE, "nobody")).outcome();
    let told = serde_json::to_value(&outcome.report.unplaced[0]).unwrap();
    assert_eq!(told["pools"][0]["exclusion"]["constraint"], "topology");
}
