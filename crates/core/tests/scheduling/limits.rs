//! Ceilings on what a pool may have, and what pods do when they are reached.

use windlass_core::model::{Pool, Resources};

use crate::cluster::Cluster;
use crate::shapes::{claim, launched, machine, pool};
use crate::workload::{HOST, ZONE, app, general};

fn limited(resource: &str, amount: i64) -> Pool {
    let machines = vec![machine("small", 2, 8, "0.10"), machine("large", 8, 32, "0.40")];
    Pool { limits: Resources::from_iter([(resource, amount)]), ..pool("general", machines) }
}

#[test]
fn nothing_is_launched_beyond_a_limit_that_is_used_up() {
    let old = launched(claim("old", "general", &[machine("large", 8, 32, "0.40")]), 0);
    let full = Cluster::new([limited("cpu", 8000)]).claim(old);
    assert_eq!(full.run(app("web").asking(8000, 128).pods(2)).outcome().launched(), 0);
}

#[test]
fn what_stays_within_the_limit_is_launched() {
    assert_eq!(
        Cluster::new([limited("cpu", 8000)]).run(app("web").asking(7000, 128)).outcome().launched(),
        1
    );
}

#[test]
fn some_pods_are_served_where_not_all_can_be() {
    let outcome = Cluster::new([limited("cpu", 4000)]).run(app("web").pods(10).asking(1000, 128)).outcome();
    assert_eq!((outcome.placed("web"), outcome.pending("web")), (4, 6));
}

#[test]
fn a_pod_whose_machine_would_exceed_the_limit_stays_pending() {
    assert_eq!(
        Cluster::new([limited("cpu", 7000)]).run(app("web").asking(5000, 128)).outcome().pending("web"),
        1
    );
}

#[test]
fn every_resource_can_be_limited() {
    for (resource, amount) in [("memory", 8 << 30), ("pods", 110)] {
        let outcome =
            Cluster::new([limited(resource, amount)]).run(app("web").pods(3).asking(1900, 128)).outcome();
        assert_eq!(outcome.launched(), 1, "{resource}");
    }
}

#[test]
fn devices_can_be_limited() {
    let mut gpu = machine("gpu", 8, 64, "3.00");
    gpu.capacity.set("nvidia.com/gpu", 2);
    gpu.allocatable.set("nvidia.com/gpu", 2);
    let pool = Pool { limits: Resources::from_iter([("nvidia.com/gpu", 2)]), ..pool("gpus", vec![gpu]) };
    let outcome = Cluster::new([pool]).run(app("train").pods(3).asking_for("nvidia.com/gpu", 1)).outcome();
    assert_eq!((outcome.placed("train"), outcome.pending("train")), (2, 1));
}

#[test]
fn the_number_of_nodes_can_be_limited() {
    let few = Pool { max_nodes: Some(2), ..general() };
    let outcome = Cluster::new([few]).run(app("web").pods(5).away(HOST, "web")).outcome();
    assert_eq!((outcome.launched(), outcome.pending("web")), (2, 3));
}

#[test]
fn with_few_nodes_larger_ones_are_taken() {
    let few = Pool { max_nodes: Some(1), ..general() };
    assert_eq!(
        Cluster::new([few]).run(app("web").pods(10).asking(1000, 128)).outcome().machines(),
        ["large"]
    );
}

#[test]
fn within_a_limit_on_cores_smaller_machines_are_taken() {
    let outcome = Cluster::new([limited("cpu", 6000)]).run(app("web").pods(6).asking(1000, 128)).outcome();
    assert_eq!((outcome.machines(), outcome.pending("web")), (vec!["small".to_owned(); 3], 0));
}

#[test]
fn a_limit_that_is_reached_in_one_pool_sends_pods_to_another() {
    let other = pool("other", vec![machine("other", 8, 32, "4.00")]);
    let outcome =
        Cluster::new([limited("cpu", 2000), other]).run(app("web").pods(10).asking(1000, 128)).outcome();
    assert_eq!(
        (outcome.pools(), outcome.pending("web")),
        (vec!["general".to_owned(), "other".to_owned()], 0)
    );
}

#[test]
fn spread_pods_keep_their_balance_when_a_limit_cuts_them_short() {
    let few = Pool { max_nodes: Some(2), ..general() };
    let outcome = Cluster::new([few]).run(app("web").pods(40).asking(1000, 128).spread(ZONE, 1)).outcome();
    assert!(outcome.pending("web") > 0 && outcome.launched() == 2);
}

#[test]
fn a_limit_of_nothing_allows_nothing() {
    assert_eq!(Cluster::new([limited("cpu", 0)]).run(app("web")).outcome().launched(), 0);
    assert_eq!(
        Cluster::new([Pool { max_nodes: Some(0), ..general() }]).run(app("web")).outcome().launched(),
        0
    );
}

#[test]
fn a_limit_on_something_that_no_machine_has_limits_nothing() {
    assert_eq!(Cluster::new([limited("example.com/odd", 0)]).run(app("web")).outcome().launched(), 1);
}
