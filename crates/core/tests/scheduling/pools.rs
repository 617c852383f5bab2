//! Which pool serves whom, and with how many different machines.

use windlass_core::model::{Operator, Performance, Pool, well_known};

use crate::cluster::Cluster;
use crate::shapes::{machine, offering, pool, taint, term};
use crate::workload::{HOST, ZONE, app, general, three_zones, zonal};

fn named(name: &str, price: &str) -> Pool {
    pool(name, vec![machine(name, 4, 16, price)])
}

fn wanting(key: &str, least: u32, pool: Pool) -> Pool {
    Pool { min_values: [(key.into(), least)].into(), ..pool }
}

/// Machines of several sizes at prices that grow with them.
fn sizes() -> Pool {
    let machines =
        (1..=6).map(|size| machine(&format!("m{size}"), size * 2, size * 8, &format!("0.{size}0")));
    pool("general", machines.collect())
}

#[test]
fn the_pool_of_the_highest_weight_serves_first() {
    let pools = [
        Pool { weight: 1, ..named("one", "0.10") },
        Pool { weight: 9, ..named("nine", "0.90") },
        named("none", "0.01"),
    ];
    assert_eq!(Cluster::new(pools).run(app("web").pods(3)).outcome().pools(), ["nine"]);
}

#[test]
fn among_pools_of_one_weight_the_cheapest_serves() {
    assert_eq!(
        Cluster::new([named("a", "0.90"), named("b", "0.10")]).run(app("web")).outcome().pools(),
        ["b"]
    );
}

#[test]
fn a_pod_that_names_a_pool_is_served_by_it_whatever_the_weights() {
    let pools = [Pool { weight: 9, ..named("heavy", "0.10") }, named("light", "0.90")];
    let outcome = Cluster::new(pools).run(app("web").selecting(well_known::POOL, "light")).outcome();
    assert_eq!(outcome.pools(), ["light"]);
}

#[test]
fn a_pod_is_served_by_the_pool_whose_label_it_selects() {
    let mut blue = named("blue", "0.90");
    blue.labels.set("team", "blue");
    let outcome =
        Cluster::new([blue, named("red", "0.10")]).run(app("web").selecting("team", "blue")).outcome();
    assert_eq!(outcome.pools(), ["blue"]);
}

#[test]
fn a_pool_that_cannot_be_used_serves_nobody() {
    let broken = Pool { unusable: Some("broken".into()), weight: 9, ..named("broken", "0.01") };
    assert_eq!(Cluster::new([broken, named("well", "0.10")]).run(app("web")).outcome().pools(), ["well"]);
}

#[test]
fn pods_that_only_a_light_pool_suits_are_served_beside_others() {
    let heavy = Pool { weight: 9, ..named("heavy", "0.10") };
    let large = pool("large", vec![machine("large", 32, 128, "1.60")]);
    let cluster = Cluster::new([heavy, large]).run(app("web")).run(app("big").asking(20_000, 1024));
    assert_eq!(cluster.outcome().pools(), ["heavy", "large"]);
}

#[test]
fn spread_pods_are_served_by_pools_of_several_weights() {
    let heavy = Pool { weight: 9, ..pool("heavy", vec![zonal("x", 4, 16, "0.20", &["a"])]) };
    let light = pool("light", vec![zonal("y", 4, 16, "0.20", &["a", "b", "c"])]);
    let cluster = Cluster::new([heavy, light]).node_in("fb", "b", 0, 0).node_in("fc", "c", 0, 0);
    let outcome = cluster.run(app("web").pods(6).spread(ZONE, 1)).outcome();
    assert_eq!((outcome.placed("web"), outcome.zones("web").len()), (6, 3));
}

#[test]
fn a_cluster_without_pools_launches_nothing() {
    let outcome = Cluster::default().run(app("web")).outcome();
    assert_eq!(
        (outcome.launched(), outcome.why().as_str()),
        (0, "no pool: create a NodePool that fits this pod")
    );
}

#[test]
fn a_pool_without_machines_launches_nothing() {
    assert_eq!(Cluster::new([pool("empty", vec![])]).run(app("web")).outcome().pending("web"), 1);
}

#[test]
fn every_node_carries_the_labels_of_its_pool_and_machine() {
    let mut pool = general();
    pool.labels.set("team", "blue");
    let outcome = Cluster::new([pool]).run(app("web")).outcome();
    let labels = &outcome.plan.launches[0].labels;
    for (key, value) in [("team", "blue"), (well_known::POOL, "general"), (well_known::ARCH, "amd64")] {
        assert_eq!(labels.get(key).map(|found| &**found), Some(value));
    }
}

#[test]
fn a_launch_carries_as_many_types_as_the_pool_wants() {
    let mut cluster = Cluster::new([wanting(well_known::INSTANCE_TYPE, 5, sizes())]).run(app("web"));
    cluster.0.settings.alternatives = 1;
    let outcome = cluster.outcome();
    let mut types: Vec<_> =
        outcome.plan.launches[0].offerings.iter().map(|way| way.key.instance_type.clone()).collect();
    types.sort();
    types.dedup();
    assert!(types.len() >= 5, "{types:?}");
}

#[test]
fn pods_are_packed_so_that_all_the_ways_hold_them() {
    let cluster = Cluster::new([wanting(well_known::INSTANCE_TYPE, 3, sizes())]);
    let outcome = cluster.run(app("web").pods(30).asking(1000, 1024)).outcome();
    assert_eq!(outcome.pending("web"), 0);
    assert!(outcome.plan.launches.iter().all(|launch| launch.offerings.len() >= 3));
}

#[test]
fn a_pool_that_wants_more_types_than_would_fit_serves_nobody_and_says_so() {
    let outcome = Cluster::new([wanting(well_known::INSTANCE_TYPE, 7, sizes())]).run(app("web")).outcome();
    assert_eq!(outcome.launched(), 0);
    assert_eq!(
        outcome.why(),
        "pool general: the pool wants machines with 7 values of node.kubernetes.io/instance-type to choose from, \
         and 6 would fit"
    );
}

#[test]
fn what_a_pod_demands_may_leave_too_few_types() {
    let cluster = Cluster::new([wanting(well_known::INSTANCE_TYPE, 3, sizes())]);
    assert_eq!(cluster.clone().run(app("web").asking(7000, 128)).outcome().placed("web"), 1);
    assert_eq!(cluster.run(app("web").asking(9000, 128)).outcome().pending("web"), 1);
}

#[test]
fn a_pool_that_cannot_offer_enough_hands_over_to_the_next() {
    let picky = Pool { weight: 9, ..wanting(well_known::INSTANCE_TYPE, 7, sizes()) };
    assert_eq!(Cluster::new([picky, named("other", "0.90")]).run(app("web")).outcome().pools(), ["other"]);
}

#[test]
fn different_zones_can_be_wanted_too() {
    let outcome = Cluster::new([wanting(ZONE, 3, general())]).run(app("web")).outcome();
    let mut zones: Vec<_> =
        outcome.plan.launches[0].offerings.iter().map(|way| way.key.zone.clone()).collect();
    zones.sort();
    zones.dedup();
    assert_eq!(zones.len(), 3);
    assert_eq!(Cluster::new([wanting(ZONE, 4, general())]).run(app("web")).outcome().pending("web"), 1);
}

#[test]
fn a_pod_that_is_bound_to_a_zone_is_not_served_by_a_pool_that_wants_several() {
    let cluster = Cluster::new([wanting(ZONE, 2, general())]);
    assert_eq!(cluster.clone().run(app("web").selecting(ZONE, "a")).outcome().pending("web"), 1);
    assert_eq!(cluster.run(app("web").pods(3).spread(ZONE, 1)).outcome().launched(), 0);
}

#[test]
fn pods_that_would_only_rather_be_spread_are_served_by_a_pool_that_wants_several_zones() {
    let outcome =
        Cluster::new([wanting(ZONE, 2, general())]).run(app("web").pods(3).rather_spread(ZONE, 1)).outcome();
    assert_eq!(outcome.placed("web"), 3);
}

#[test]
fn a_zone_that_cannot_stand_for_another_does_not_keep_a_pool_that_wants_several_from_serving_in_others() {
    let mut machine = zonal("only", 4, 16, "0.20", &["a", "c"]);
    machine.offerings.push(offering("b", "0.10"));
    // A first node in zone b would make a difference to the pods that are spread, so it cannot be one of two ways.
    let cluster = Cluster::new([wanting(ZONE, 2, pool("general", vec![machine]))])
        .node_in("in-a", "a", 1, 1)
        .node_in("in-c", "c", 1, 1)
        .run(app("spread").pods(2).asking(3000, 1024).spread(ZONE, 1))
        .run(app("web").pods(2).asking(3000, 1024));
    let outcome = cluster.outcome();
    assert_eq!((outcome.placed("web"), outcome.placed("spread")), (2, 0));
}

#[test]
fn different_values_of_several_labels_can_be_wanted() {
    let both =
        Pool { min_values: [(well_known::INSTANCE_TYPE.into(), 2), (ZONE.into(), 2)].into(), ..general() };
    let outcome = Cluster::new([both]).run(app("web")).outcome();
    assert_eq!(outcome.placed("web"), 1);
}

#[test]
fn limits_allow_all_the_ways_that_are_wanted() {
    let mut limited = wanting(well_known::INSTANCE_TYPE, 3, sizes());
    limited.limits.set("cpu", 6000);
    let outcome = Cluster::new([limited.clone()]).run(app("web")).outcome();
    assert_eq!(outcome.launched(), 1);
    limited.limits.set("cpu", 5000);
    assert_eq!(Cluster::new([limited]).run(app("web")).outcome().launched(), 0);
}

#[test]
fn a_faster_machine_is_worth_more_of_its_price() {
    let fast = |percent| {
        let requirements = term(well_known::INSTANCE_TYPE, Operator::In, &["fast"]);
        let machines = vec![machine("plain", 4, 16, "0.40"), machine("fast", 4, 16, "0.45")];
        let pool =
            Pool { performance: vec![Performance { requirements, percent }], ..pool("general", machines) };
        Cluster::new([pool]).run(app("web").asking(3000, 1024)).outcome()
    };
    assert_eq!(
        (fast(100).machines(), fast(125).machines()),
        (vec!["plain".to_owned()], vec!["fast".to_owned()])
    );
    let launch = &fast(125).plan.launches[0];
    assert_eq!(launch.offerings[0].price.to_string(), "0.45");
}

#[test]
fn the_first_statement_about_a_machines_speed_counts() {
    let of = |kind: &str, percent| Performance {
        requirements: term(well_known::INSTANCE_TYPE, Operator::In, &[kind]),
        percent,
    };
    let machines = vec![machine("plain", 4, 16, "0.40"), machine("fast", 4, 16, "0.45")];
    let performance = vec![of("fast", 50), of("fast", 200)];
    let pool = Pool { performance, ..pool("general", machines) };
    assert_eq!(Cluster::new([pool]).run(app("web").asking(3000, 1024)).outcome().machines(), ["plain"]);
}

#[test]
fn taints_of_pools_and_weights_together() {
    let heavy = Pool { weight: 9, taints: vec![taint("team")], ..named("heavy", "0.10") };
    let cluster =
        Cluster::new([heavy, named("light", "0.10")]).run(app("web")).run(app("own").tolerating("team"));
    assert_eq!(cluster.outcome().pools(), ["heavy", "light"]);
}

#[test]
fn one_pools_machines_are_not_counted_for_another() {
    let mut spot = machine("m", 2, 8, "0.10");
    spot.offerings = vec![offering("a", "0.05")];
    spot.offerings[0].capacity_type = "spot".into();
    let pools = [pool("demand", vec![machine("m", 2, 8, "0.10")]), pool("spot", vec![spot])];
    let outcome =
        Cluster::new(pools).run(app("web").selecting(well_known::CAPACITY_TYPE, "on-demand")).outcome();
    assert_eq!(outcome.pools(), ["demand"]);
}

#[test]
fn followers_and_those_they_follow_may_come_from_different_pools() {
    let mut blue = pool("blue", vec![zonal("b", 4, 16, "0.20", &["a", "b"])]);
    blue.labels.set("team", "blue");
    let red = pool("red", vec![zonal("r", 4, 16, "0.10", &["b", "c"])]);
    let cluster = Cluster::new([blue, red]).run(app("db").selecting("team", "blue"));
    let outcome = cluster.run(app("web").selecting(well_known::POOL, "red").with(ZONE, "db")).outcome();
    assert_eq!((outcome.placed("web"), outcome.zones("web")[0].0.as_str()), (1, "b"));
}

#[test]
fn pods_that_must_share_a_node_are_served_by_the_heavier_pool_that_holds_them_all() {
    let heavy = Pool { weight: 9, ..pool("heavy", vec![machine("h", 4, 16, "0.40")]) };
    let light = pool("light", vec![machine("l", 16, 64, "0.80")]);
    let party = |count| app("web").pods(count).asking(1000, 128).with(HOST, "web");
    assert_eq!(Cluster::new([heavy.clone(), light.clone()]).run(party(3)).outcome().pools(), ["heavy"]);
    assert_eq!(Cluster::new([heavy, light]).run(party(9)).outcome().pools(), ["light"]);
}

#[test]
fn three_zones_have_small_and_large_machines() {
    assert_eq!(three_zones().run(app("web").asking(15_000, 1024)).outcome().machines(), ["large"]);
}
