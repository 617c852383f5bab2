//! Spreading pods over nodes.

use windlass_core::model::SpreadConstraint;

use crate::cluster::Cluster;
use crate::workload::{HOST, Workload, app, spread, three_zones};

fn web(count: usize, skew: u32) -> Workload {
    app("web").pods(count).spread(HOST, skew)
}

#[test]
fn each_new_node_gets_one() {
    assert_eq!(three_zones().run(web(4, 1)).outcome().hosts("web"), [1, 1, 1, 1]);
}

#[test]
fn each_new_node_gets_no_more_than_the_skew() {
    assert_eq!(three_zones().run(web(8, 4)).outcome().hosts("web"), [4, 4]);
}

#[test]
fn nodes_that_are_there_are_balanced() {
    let cluster = Cluster::default().node_in("n1", "a", 8, 32).node_in("n2", "a", 8, 32);
    assert_eq!(cluster.run(web(6, 1)).outcome().hosts("web"), [3, 3]);
}

#[test]
fn a_full_node_counts_with_what_it_has() {
    let cluster = three_zones().node_in("full", "a", 0, 0).node_in("free", "a", 8, 32);
    let outcome = cluster.run(web(3, 1)).outcome();
    assert_eq!((outcome.hosts("web"), outcome.launched()), (vec![1, 1, 1], 2));
}

#[test]
fn the_only_node_takes_all_that_fit() {
    let outcome = three_zones().node_in("only", "a", 8, 32).run(web(5, 1)).outcome();
    assert_eq!((outcome.hosts("web"), outcome.launched()), (vec![5], 0));
}

#[test]
fn workloads_share_nodes_and_are_each_spread() {
    let cluster = three_zones().run(web(3, 1)).run(app("api").pods(3).spread(HOST, 1));
    let outcome = cluster.outcome();
    assert_eq!((outcome.hosts("web"), outcome.hosts("api")), (vec![1, 1, 1], vec![1, 1, 1]));
    assert_eq!(outcome.launched(), 3);
}

#[test]
fn workloads_of_different_architectures_are_each_spread() {
    use windlass_core::model::well_known::ARCH;
    let mut pool = crate::workload::general();
    let mut machines = (*pool.instance_types).clone();
    let mut arm = machines[0].clone();
    arm.name = "arm".into();
    arm.labels.set(ARCH, "arm64");
    machines.push(arm);
    pool.instance_types = machines.into();
    let cluster = Cluster::new([pool]).run(web(2, 1).selecting(ARCH, "amd64"));
    let outcome = cluster.run(app("api").pods(2).spread(HOST, 1).selecting(ARCH, "arm64")).outcome();
    assert_eq!((outcome.hosts("web"), outcome.hosts("api"), outcome.launched()), (vec![1, 1], vec![1, 1], 4));
}

#[test]
fn too_few_nodes_count_as_one_that_is_empty() {
    let constraint = SpreadConstraint { min_domains: Some(3), ..spread(HOST, 1, "web") };
    let cluster = Cluster::default().node_in("n1", "a", 8, 32).node_in("n2", "a", 8, 32);
    let outcome = cluster.run(app("web").pods(4).spread_as(constraint.clone())).outcome();
    assert_eq!(outcome.hosts("web"), [1, 1]);
    let outcome = three_zones().run(app("web").pods(4).spread_as(constraint)).outcome();
    assert_eq!(outcome.hosts("web"), [1, 1, 1, 1]);
}

#[test]
fn pods_that_are_not_spread_fill_the_nodes_of_those_that_are() {
    let outcome = three_zones().run(web(3, 1)).run(app("job").pods(20)).outcome();
    assert_eq!((outcome.launched(), outcome.placed("job")), (3, 20));
}

#[test]
fn a_workload_with_a_stricter_skew_does_not_share_with_one_that_counts_too() {
    let mut lax = app("lax").pods(4).labelled("app", "web").spread_as(spread(HOST, 2, "web"));
    lax.labels.set("app", "web");
    let outcome = three_zones().run(web(2, 1)).run(lax).outcome();
    assert_eq!((outcome.placed("web"), outcome.placed("lax")), (2, 4));
}

#[test]
fn pods_on_nodes_that_a_selector_leaves_out_do_not_count() {
    let cluster = three_zones().node_with("other", 0, 0, &[("disk", "hdd")]).node_with(
        "mine",
        8,
        32,
        &[("disk", "ssd")],
    );
    let outcome = cluster.run(web(3, 1).selecting("disk", "ssd")).outcome();
    assert_eq!((outcome.hosts("web"), outcome.launched()), (vec![3], 0));
}

/// By the time that they are there, nodes may have come on which there is nothing.
#[test]
fn machines_on_their_way_take_no_more_than_the_skew() {
    let cluster = three_zones().run(web(2, 1));
    let (plan, _) = cluster.plan();
    let outcome = cluster.after(&plan).run(Workload { name: "more".to_owned(), ..web(2, 1) }).outcome();
    assert_eq!((outcome.hosts("more"), outcome.launched()), (vec![1, 1], 2));
}
