//! Several demands on how pods are spread, at once and together with other demands.

use windlass_core::model::{Operator, well_known};

use crate::cluster::Cluster;
use crate::shapes::{machine, offering, pool};
use crate::workload::{HOST, ZONE, app, three_zones, told, zonal};

/// Machines in two zones, on demand and on the spot.
fn kinds() -> Cluster {
    let mut both = machine("both", 4, 16, "0.20");
    both.offerings = Vec::new();
    for zone in ["a", "b"] {
        for (kind, price) in [("on-demand", "0.20"), ("spot", "0.05")] {
            let mut each = offering(zone, price);
            each.capacity_type = kind.into();
            both.offerings.push(each);
        }
    }
    Cluster::new([pool("general", vec![both])])
}

#[test]
fn zones_and_nodes_at_once() {
    let outcome = three_zones().run(app("web").pods(6).spread(ZONE, 1).spread(HOST, 1)).outcome();
    assert_eq!(outcome.zones("web"), told(&[("a", 2), ("b", 2), ("c", 2)]));
    assert_eq!(outcome.hosts("web"), [1; 6]);
}

#[test]
fn a_wider_skew_over_nodes_than_over_zones() {
    let outcome = three_zones().run(app("web").pods(9).spread(ZONE, 1).spread(HOST, 3)).outcome();
    assert_eq!(outcome.zones("web"), told(&[("a", 3), ("b", 3), ("c", 3)]));
    assert_eq!(outcome.hosts("web"), [3, 3, 3]);
}

#[test]
fn zones_and_capacity_types_at_once() {
    let outcome =
        kinds().run(app("web").pods(4).spread(ZONE, 1).spread(well_known::CAPACITY_TYPE, 1)).outcome();
    assert_eq!(outcome.zones("web"), told(&[("a", 2), ("b", 2)]));
    assert_eq!(outcome.by(well_known::CAPACITY_TYPE, "web"), told(&[("on-demand", 2), ("spot", 2)]));
}

#[test]
fn zones_capacity_types_and_nodes_at_once() {
    let pods = app("web").pods(8).spread(ZONE, 1).spread(well_known::CAPACITY_TYPE, 1).spread(HOST, 1);
    let outcome = kinds().run(pods).outcome();
    assert_eq!(outcome.placed("web"), 8);
    assert_eq!(outcome.hosts("web"), [1; 8]);
}

#[test]
fn capacity_types_are_limited_by_a_selector() {
    let pods = app("web").pods(4).spread(well_known::CAPACITY_TYPE, 1);
    let outcome = kinds().run(pods.clone().selecting(well_known::CAPACITY_TYPE, "spot")).outcome();
    assert_eq!(outcome.by(well_known::CAPACITY_TYPE, "web"), told(&[("spot", 4)]));
    let outcome =
        kinds().run(pods.requiring(well_known::CAPACITY_TYPE, Operator::NotIn, &["spot"])).outcome();
    assert_eq!(outcome.by(well_known::CAPACITY_TYPE, "web"), told(&[("on-demand", 4)]));
}

#[test]
fn nodes_that_lack_the_label_of_one_demand_do_not_count_for_the_other() {
    // The node in zone b has no row, so that zone b is no domain for pods that are spread over zones and rows.
    let cluster = Cluster::default().node_with("n1", 8, 32, &[(ZONE, "a"), ("row", "1")]).node_with(
        "n2",
        8,
        32,
        &[(ZONE, "b")],
    );
    let outcome = cluster.run(app("web").pods(3).spread(ZONE, 1).spread("row", 1)).outcome();
    assert_eq!(outcome.nodes("web"), ["n1"]);
    assert_eq!(outcome.placed("web"), 3);
}

#[test]
fn spread_over_zones_and_away_from_each_other_on_nodes() {
    let outcome = three_zones().run(app("web").pods(6).spread(ZONE, 1).away(HOST, "web")).outcome();
    assert_eq!((outcome.zones("web").len(), outcome.hosts("web")), (3, vec![1; 6]));
}

#[test]
fn spread_over_zones_with_a_port_of_the_node() {
    let outcome = three_zones().run(app("web").pods(6).spread(ZONE, 1).port(80)).outcome();
    assert_eq!(outcome.zones("web"), told(&[("a", 2), ("b", 2), ("c", 2)]));
    assert_eq!(outcome.hosts("web"), [1; 6]);
}

#[test]
fn spread_over_zones_and_together_with_others() {
    let cluster = three_zones().run(app("db").pods(3).spread(ZONE, 1));
    let outcome = cluster.run(app("web").pods(6).spread(ZONE, 1).with(ZONE, "db")).outcome();
    assert_eq!(outcome.zones("web"), told(&[("a", 2), ("b", 2), ("c", 2)]));
}

#[test]
fn demands_that_cannot_both_hold_leave_pods_pending() {
    // All together in one zone, and yet spread.
    let cluster = three_zones().node_in("n1", "a", 0, 0).node_in("n2", "b", 0, 0);
    let outcome = cluster.run(app("web").pods(4).with(ZONE, "web").spread(ZONE, 1)).outcome();
    assert_eq!((outcome.placed("web"), outcome.pending("web")), (1, 3));
}

#[test]
fn zones_of_several_pools_with_different_labels() {
    let mut left = pool("left", vec![zonal("x", 4, 16, "0.20", &["a", "b"])]);
    left.labels.set("side", "left");
    let mut right = pool("right", vec![zonal("y", 4, 16, "0.20", &["b", "c"])]);
    right.labels.set("side", "right");
    let outcome =
        Cluster::new([left, right]).run(app("web").pods(6).spread(ZONE, 1).spread("side", 1)).outcome();
    assert_eq!(outcome.placed("web"), 6);
    assert_eq!(outcome.by("side", "web"), told(&[("left", 3), ("right", 3)]));
}

#[test]
fn a_hard_and_a_soft_demand_at_once() {
    let outcome = three_zones().run(app("web").pods(4).spread(HOST, 1).rather_spread(ZONE, 1)).outcome();
    assert_eq!((outcome.hosts("web"), outcome.zones("web").len()), (vec![1; 4], 3));
}
