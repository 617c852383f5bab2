use windlass_core::model::{Claim, DisruptionReason, InstanceType, Pool};
use windlass_core::plan::LaunchPurpose;

use crate::cluster::Cluster;
use crate::shapes::{asks, claim, machine, pool};

fn machines() -> Vec<InstanceType> {
    vec![machine("small", 2, 8, "0.10"), machine("large", 8, 32, "0.40")]
}

fn keeping(least: u32) -> Pool {
    Pool { min_nodes: least, ..pool("general", machines()) }
}

#[test]
fn a_pool_with_too_few_nodes_gets_the_cheapest() {
    let cluster = Cluster::new([keeping(2)]).standing("old", "general", &machines()[0]);
    let (plan, report) = cluster.plan();
    assert_eq!(cluster.launches(), [("small".to_owned(), 0)]);
    assert_eq!(plan.launches[0].purpose, LaunchPurpose::MinNodes);
    assert_eq!(plan.launches[0].message, "the pool keeps 2 nodes and has 1");
    assert!(report.short_pools.is_empty());
    assert!(cluster.after(&plan).plan().0.is_empty());
}

#[test]
fn machines_for_pods_count_towards_the_minimum() {
    let cluster = Cluster::new([keeping(2)]).pending("web", 1, asks(6000, 1024));
    assert_eq!(cluster.launches(), [("large".to_owned(), 1), ("small".to_owned(), 0)]);
    let (plan, _) = cluster.plan();
    assert!(cluster.after(&plan).plan().0.is_empty());
}

#[test]
fn what_is_arriving_counts_and_what_is_going_does_not() {
    let new = claim("new", "general", &machines());
    let going = Claim { deleting: true, ..claim("going", "general", &machines()) };
    let sick = Claim { disrupted: Some(DisruptionReason::Sick), ..claim("sick", "general", &machines()) };
    assert_eq!(Cluster::new([keeping(2)]).claim(new).claim(going).claim(sick).launches().len(), 1);
}

#[test]
fn a_minimum_that_cannot_be_reached_is_reported() {
    let capped = Pool { max_nodes: Some(1), ..keeping(3) };
    let (plan, report) = Cluster::new([capped]).plan();
    assert_eq!(plan.launches.len(), 1);
    assert_eq!(report.short_pools[0].exclusion.to_string(), "the limit of 1 nodes is reached");
    let (_, report) = Cluster::new([Pool { min_nodes: 1, ..pool("none", vec![]) }]).plan();
    let why = "the provider offers no machine that the pool's requirements allow";
    assert_eq!(report.short_pools[0].exclusion.to_string(), why);
}
