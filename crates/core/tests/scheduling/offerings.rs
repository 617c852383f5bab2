//! Where and how machines can be had, and which are chosen.

use windlass_core::model::{InstanceType, Operator, Pool, well_known};

use crate::cluster::{Cluster, NOW};
use crate::shapes::{at, machine, offering, pool, term};
use crate::workload::{HOST, Workload, ZONE, app, told, zonal};

/// A machine that can be had in several ways: zone, capacity type and price.
fn ways(name: &str, ways: &[(&str, &str, &str)]) -> InstanceType {
    let offerings = ways.iter().map(|(zone, kind, price)| {
        let mut each = offering(zone, price);
        each.capacity_type = (*kind).into();
        each
    });
    InstanceType { offerings: offerings.collect(), ..machine(name, 4, 16, "0") }
}

fn kinds() -> Pool {
    let amd = [
        ("a", "on-demand", "0.40"),
        ("a", "spot", "0.12"),
        ("b", "on-demand", "0.42"),
        ("b", "spot", "0.10"),
    ];
    let arm = [("a", "on-demand", "0.30"), ("b", "on-demand", "0.33"), ("b", "spot", "0.15")];
    let mut arm = ways("arm", &arm);
    arm.labels.set(well_known::ARCH, "arm64");
    arm.labels.set(well_known::OS, "linux");
    let mut amd = ways("amd", &amd);
    amd.labels.set(well_known::OS, "linux");
    let mut windows = ways("windows", &[("a", "on-demand", "0.60"), ("b", "spot", "0.50")]);
    windows.labels.set(well_known::OS, "windows");
    pool("general", vec![amd, arm, windows])
}

fn first_way(pool: Pool, pods: Workload) -> Option<(String, String, String)> {
    let outcome = Cluster::new([pool]).run(pods).outcome();
    let way = &outcome.plan.launches.first()?.offerings[0].key;
    Some((way.instance_type.to_string(), way.zone.to_string(), way.capacity_type.to_string()))
}

#[test]
fn the_cheapest_way_is_taken_whatever_the_pod_demands() {
    let cases = [
        (&[][..], ("amd", "b", "spot")),
        (&[(well_known::ARCH, "arm64")], ("arm", "b", "spot")),
        (&[(well_known::ARCH, "amd64")], ("amd", "b", "spot")),
        (&[(well_known::OS, "windows")], ("windows", "b", "spot")),
        (&[(ZONE, "a")], ("amd", "a", "spot")),
        (&[(well_known::CAPACITY_TYPE, "on-demand")], ("arm", "a", "on-demand")),
        (&[(well_known::CAPACITY_TYPE, "on-demand"), (ZONE, "b")], ("arm", "b", "on-demand")),
        (
            &[(well_known::ARCH, "amd64"), (well_known::CAPACITY_TYPE, "on-demand"), (ZONE, "a")],
            ("amd", "a", "on-demand"),
        ),
    ];
    for (labels, (kind, zone, capacity)) in cases {
        let pods = labels.iter().fold(app("web"), |pods, (key, value)| pods.selecting(key, value));
        let expected = Some((kind.to_owned(), zone.to_owned(), capacity.to_owned()));
        assert_eq!(first_way(kinds(), pods), expected, "{labels:?}");
    }
}

#[test]
fn the_cheapest_way_is_taken_whatever_the_pool_demands() {
    for (key, value, expected) in [
        (well_known::ARCH, "arm64", "arm"),
        (well_known::OS, "windows", "windows"),
        (ZONE, "b", "amd"),
        (well_known::CAPACITY_TYPE, "on-demand", "arm"),
    ] {
        let pool = Pool { requirements: term(key, Operator::In, &[value]), ..kinds() };
        assert_eq!(first_way(pool, app("web")).map(|(kind, ..)| kind).as_deref(), Some(expected), "{key}");
    }
}

#[test]
fn demands_of_pod_and_pool_add_up() {
    let pool = Pool { requirements: term(well_known::CAPACITY_TYPE, Operator::In, &["spot"]), ..kinds() };
    let way = first_way(pool, app("web").selecting(ZONE, "a"));
    assert_eq!(way, Some(("amd".to_owned(), "a".to_owned(), "spot".to_owned())));
}

#[test]
fn what_nothing_on_offer_has_is_not_launched() {
    for labels in
        [&[(well_known::ARCH, "mips")][..], &[(well_known::OS, "windows"), (well_known::ARCH, "arm64")]]
    {
        let pods = labels.iter().fold(app("web"), |pods, (key, value)| pods.selecting(key, value));
        assert_eq!(first_way(kinds(), pods), None, "{labels:?}");
    }
}

#[test]
fn the_ways_of_a_launch_come_cheapest_first() {
    let outcome = Cluster::new([kinds()]).run(app("web")).outcome();
    let prices: Vec<_> = outcome.plan.launches[0].offerings.iter().map(|way| way.price).collect();
    assert!(prices.len() > 1 && prices.is_sorted());
}

#[test]
fn each_way_of_a_launch_holds_its_pods() {
    let outcome = Cluster::new([kinds()]).run(app("web").pods(4).asking(1000, 1024)).outcome();
    let load = app("web").asking(4000, 4096).shape.requests;
    assert!(outcome.plan.launches[0].offerings.iter().all(|way| way.allocatable.covers(&load)));
}

#[test]
fn what_is_sold_out_is_not_taken() {
    let mut scarce = zonal("small", 2, 8, "0.10", &["a", "b"]);
    scarce.offerings[0].available = Some(0);
    let outcome = Cluster::new([pool("general", vec![scarce])]).run(app("web")).outcome();
    assert_eq!(outcome.zones("web"), told(&[("b", 1)]));
}

#[test]
fn reserved_machines_are_used_up_before_others() {
    let mut reserved = ways("m", &[("a", "reserved", "0"), ("a", "on-demand", "0.40")]);
    reserved.offerings[0].available = Some(2);
    let cluster = Cluster::new([pool("general", vec![reserved])]);
    let outcome = cluster.run(app("web").pods(3).away(HOST, "web")).outcome();
    assert_eq!(outcome.by(well_known::CAPACITY_TYPE, "web"), told(&[("on-demand", 1), ("reserved", 2)]));
}

#[test]
fn reserved_machines_are_shared_by_pools() {
    let mut reserved = ways("m", &[("a", "reserved", "0")]);
    reserved.offerings[0].available = Some(3);
    let pools = [pool("one", vec![reserved.clone()]), pool("two", vec![reserved])];
    let outcome = Cluster::new(pools).run(app("web").pods(5).away(HOST, "web")).outcome();
    assert_eq!((outcome.placed("web"), outcome.pending("web")), (3, 2));
}

#[test]
fn several_pods_share_a_reserved_machine() {
    let mut reserved = ways("m", &[("a", "reserved", "0"), ("a", "on-demand", "0.40")]);
    reserved.offerings[0].available = Some(1);
    let outcome =
        Cluster::new([pool("general", vec![reserved])]).run(app("web").pods(4).asking(1000, 128)).outcome();
    assert_eq!(outcome.by(well_known::CAPACITY_TYPE, "web"), told(&[("reserved", 4)]));
}

#[test]
fn a_reserved_machine_in_a_pool_of_high_weight_is_taken_first() {
    let mut reserved = ways("r", &[("a", "reserved", "0")]);
    reserved.offerings[0].available = Some(1);
    let pools = [
        Pool { weight: 9, ..pool("reserved", vec![reserved]) },
        pool("other", vec![machine("m", 4, 16, "0.10")]),
    ];
    let outcome = Cluster::new(pools).run(app("web").pods(2).away(HOST, "web")).outcome();
    assert_eq!(outcome.pools(), ["other", "reserved"]);
}

#[test]
fn what_could_not_be_had_lately_is_not_tried() {
    let mut zoned = zonal("small", 2, 8, "0.10", &["a", "b"]);
    zoned.offerings[0].avoid_until = Some(at(NOW + 60));
    let outcome =
        Cluster::new([pool("general", vec![zoned])]).run(app("web").pods(4).asking(900, 128)).outcome();
    assert_eq!(outcome.zones("web"), told(&[("b", 4)]));
}

#[test]
fn scarce_machines_of_one_zone_do_not_break_the_balance() {
    let mut scarce = zonal("small", 2, 8, "0.10", &["a", "b", "c"]);
    scarce.offerings[2].available = Some(1);
    let cluster = Cluster::new([pool("general", vec![scarce])]);
    let outcome = cluster.run(app("web").pods(9).spread(ZONE, 1).away(HOST, "web")).outcome();
    assert_eq!(outcome.zones("web"), told(&[("a", 2), ("b", 2), ("c", 1)]));
}

#[test]
fn a_machine_that_costs_nothing_is_taken_before_one_that_does() {
    let machines = vec![machine("free", 4, 16, "0"), machine("dear", 4, 16, "0.40")];
    assert_eq!(
        Cluster::new([pool("rack", machines)]).run(app("web").pods(9).asking(900, 128)).outcome().machines(),
        ["free"; 3]
    );
}
