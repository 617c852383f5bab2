//! Machines that cost less because they may be taken away, and those that may not.

use windlass_core::model::{InstanceType, Offering, Operator, Pool, well_known};

use crate::cluster::Cluster;
use crate::nodes::{NOTHING, thrifty_with, web};
use crate::shapes::{machine, offering, term};

const KIND: &str = well_known::CAPACITY_TYPE;

fn spot(price: &str) -> Offering {
    Offering { capacity_type: "spot".into(), ..offering("a", price) }
}

/// A machine that can be had on demand for 0.40 and as spot for less.
fn either(spot_price: &str) -> InstanceType {
    InstanceType { offerings: vec![offering("a", "0.40"), spot(spot_price)], ..machine("large", 8, 32, "0") }
}

fn on_demand_only(kind: &InstanceType) -> InstanceType {
    InstanceType { offerings: vec![kind.offerings[0].clone()], ..kind.clone() }
}

fn spot_only(kind: &InstanceType) -> InstanceType {
    InstanceType { offerings: vec![kind.offerings[1].clone()], ..kind.clone() }
}

/// The capacity type of the first choice of what is launched.
fn launched(cluster: &Cluster) -> Vec<String> {
    let (plan, _) = cluster.plan();
    plan.launches.iter().map(|launch| launch.offerings[0].key.capacity_type.to_string()).collect()
}

#[test]
fn a_machine_on_demand_gives_way_to_a_cheaper_spot_machine() {
    let kind = either("0.12");
    let cluster = Cluster::new([thrifty_with(vec![kind.clone()])]);
    let cluster = cluster.standing("a", "general", &on_demand_only(&kind)).run(web('a', 7000));
    assert_eq!((cluster.consolidated(), launched(&cluster)), (vec!["a".to_owned()], vec!["spot".to_owned()]));
}

#[test]
fn pods_that_want_a_machine_on_demand_are_not_moved_to_a_spot_machine() {
    let kind = either("0.12");
    let cluster = Cluster::new([thrifty_with(vec![kind.clone()])]);
    let cluster = cluster.standing("a", "general", &on_demand_only(&kind));
    assert_eq!(cluster.run(web('a', 7000).selecting(KIND, "on-demand")).consolidated(), NOTHING);
}

#[test]
fn a_pool_that_may_not_launch_spot_machines_does_not() {
    let kind = either("0.12");
    let requirements = term(KIND, Operator::In, &["on-demand"]);
    let cluster = Cluster::new([Pool { requirements, ..thrifty_with(vec![kind.clone()]) }]);
    let cluster = cluster.standing("a", "general", &on_demand_only(&kind)).run(web('a', 7000));
    assert_eq!(cluster.consolidated(), NOTHING);
}

#[test]
fn a_spot_machine_gives_way_to_a_cheaper_one_however_few_kinds_there_are() {
    let kind = either("0.30");
    let small = InstanceType { offerings: vec![spot("0.05")], ..machine("small", 2, 8, "0") };
    let cluster = Cluster::new([thrifty_with(vec![kind.clone(), small])]);
    let cluster = cluster.standing("a", "general", &spot_only(&kind)).run(web('a', 500));
    assert_eq!(
        (cluster.consolidated(), cluster.machines()),
        (vec!["a".to_owned()], vec!["small".to_owned()])
    );
}

#[test]
fn a_spot_machine_that_became_dearer_than_one_on_demand_is_not_taken() {
    let kind = either("0.60");
    let cluster = Cluster::new([thrifty_with(vec![kind.clone()])]);
    let cluster = cluster.standing("a", "general", &on_demand_only(&kind)).run(web('a', 7000));
    assert_eq!(cluster.consolidated(), NOTHING);
}

#[test]
fn a_spot_machine_whose_price_rose_since_keeps_what_it_was_launched_for() {
    let then = either("0.12");
    let cluster = Cluster::new([thrifty_with(vec![either("0.60")])]);
    let cluster = cluster.standing("a", "general", &spot_only(&then)).run(web('a', 7000));
    assert_eq!(cluster.consolidated(), NOTHING, "what it costs now is not known");
}

#[test]
fn machines_of_both_kinds_are_merged_into_one() {
    let kind = |price: &str| InstanceType {
        offerings: vec![offering("a", "0.10"), spot(price)],
        ..machine("small", 2, 8, "0")
    };
    let bargain = machine("bargain", 8, 32, "0.12");
    let cluster = Cluster::new([thrifty_with(vec![kind("0.06"), bargain])]);
    let cluster = cluster.standing("a", "general", &on_demand_only(&kind("0.06")));
    let cluster = cluster.standing("b", "general", &spot_only(&kind("0.06")));
    let cluster = cluster.standing("c", "general", &on_demand_only(&kind("0.06")));
    let cluster = "abc".chars().fold(cluster, |cluster, letter| cluster.run(web(letter, 1900)));
    assert_eq!(cluster.consolidated(), ["a", "b", "c"]);
    assert_eq!(cluster.machines(), ["bargain"]);
}

#[test]
fn pods_on_demand_move_to_nodes_on_demand_only() {
    let kind =
        InstanceType { offerings: vec![offering("a", "0.10"), spot("0.10")], ..machine("small", 2, 8, "0") };
    let cluster = |second: &InstanceType| {
        let cluster = Cluster::new([Pool { max_nodes: Some(0), ..thrifty_with(vec![kind.clone()]) }]);
        let cluster = cluster.standing("a", "general", &on_demand_only(&kind));
        let cluster = cluster.run(web('a', 500).selecting(KIND, "on-demand"));
        cluster
            .standing("b", "general", second)
            .run(web('b', 1200).selecting("kubernetes.io/hostname", "node-of-b"))
    };
    assert_eq!(cluster(&on_demand_only(&kind)).consolidated(), ["a"]);
    assert_eq!(cluster(&spot_only(&kind)).consolidated(), NOTHING);
}
