//! Clusters in which everything occurs that scheduling looks at.

use std::sync::Arc;

use proptest::prelude::*;
use windlass_core::model::{
    ClaimPhase, Effect, Operator, PodOwner, PodShape, Pool, Readiness, SpreadConstraint, StorageClass, Taint,
    well_known,
};

use crate::cluster::{Cluster, NOW};
use crate::shapes::{asks, at, claim, launched, pool, taint, term};
use crate::workload::{HOST, Workload, ZONE, app, spread, zonal};

const APPS: [&str; 4] = ["one", "two", "three", "four"];
const DRIVER: &str = "disk.csi.example.com";

fn any_pool(name: &'static str) -> impl Strategy<Value = Pool> {
    let machine = |number: usize| {
        (1..17_i64, 1..5_i64, 20_000..400_000_i64, proptest::option::of(0..4_u32), 1..4_usize).prop_map(
            move |(cores, ratio, price, available, zones)| {
                let zones = &["a", "b", "c"][..zones];
                let mut machine = zonal(&format!("m{number}"), cores, cores * ratio, "0", zones);
                for (offering, extra) in machine.offerings.iter_mut().zip(0..) {
                    offering.price = windlass_core::Price::from_micros(price + extra * 1000);
                    offering.available = available.filter(|_| extra == 0);
                }
                machine
            },
        )
    };
    let ceilings = (proptest::option::of(8..200_i64), proptest::option::of(1..9_u32));
    (machine(0), machine(1), machine(2), ceilings, 0..2_i32, 0..10_u8).prop_map(
        move |(a, b, c, (cores, nodes), weight, kind)| {
            let mut pool = pool(name, vec![a, b, c]);
            pool.labels.set("row", if name == "p0" { "left" } else { "right" });
            if let Some(cores) = cores {
                pool.limits.set("cpu", cores * 1000);
            }
            (pool.max_nodes, pool.weight) = (nodes, weight);
            match kind {
                0 => pool.taints.push(taint("special")),
                1 => pool.taints.push(Taint::new("old", "", Effect::PreferNoSchedule)),
                2 => pool.requirements = term("team", Operator::In, &["blue", "red"]),
                3 => pool.min_values = [(well_known::INSTANCE_TYPE.into(), 2)].into(),
                4 => pool.min_values = [(ZONE.into(), 2)].into(),
                _ => {}
            }
            pool
        },
    )
}

/// One thing that a workload asks for, beside room. Workloads that want to be spread count themselves: whether others come
/// before them or after is for the scheduler to decide, and changes all.
fn any_feature() -> impl Strategy<Value = (u8, usize, u32, bool)> {
    (0..22_u8, 0..APPS.len(), 1..3_u32, any::<bool>())
}

fn with_feature(pods: Workload, (kind, other, skew, flag): (u8, usize, u32, bool)) -> Workload {
    let (other, key) = (APPS[other], if flag { HOST } else { ZONE });
    let own = pods.name.clone();
    let whom = if skew == 1 { own.as_str() } else { other };
    // Over zones and rows at once there may be no order in which pods can be bound, though all is balanced in the end.
    let over = |key: &str| pods.shape.spread.iter().any(|each| &*each.topology_key == key);
    match kind {
        0..=5 if over("row") => pods,
        6 if over(ZONE) => pods,
        0..=2 => pods.spread(key, skew),
        3 => {
            let min_domains = Some(skew + 1);
            pods.spread_as(SpreadConstraint { min_domains, ..spread(key, 1, &own) })
        }
        4 => pods.spread_as(SpreadConstraint { honors_node_affinity: false, ..spread(key, skew, &own) }),
        5 => pods.spread_as(SpreadConstraint { honors_taints: true, ..spread(ZONE, skew, &own) }),
        6 => pods.spread("row", skew),
        7 | 8 => pods.with(key, whom),
        9 => pods.with(HOST, other),
        10 | 11 => pods.away(key, whom),
        12 => pods.away(HOST, other),
        13 => pods.port(if flag { 80 } else { 81 }),
        14 => pods.using(&format!("data-{own}-")),
        15 => pods.using("shared"),
        16 => pods.rather_spread(key, skew),
        17 => pods.rather_with(10, key, other).rather_away(5, ZONE, whom),
        18 => pods.preferring(10, ZONE, &["b"]).preferring(20, "row", &["right"]),
        19 => pods.tolerating("special"),
        20 => pods.requiring(ZONE, Operator::In, if flag { &["a", "b"] } else { &["b", "c"] }),
        _ => pods.selecting("row", if flag { "left" } else { "right" }),
    }
}

fn any_workload(number: usize) -> impl Strategy<Value = Workload> {
    let size = (50..5000_i64, 64..8000_i64, 1..9_usize, 0..2_i32);
    (size, proptest::collection::vec(any_feature(), 0..4)).prop_map(
        move |((milli, mib, count, priority), features)| {
            let plain = app(APPS[number]).pods(count).asking(milli, mib).priority(priority);
            features.into_iter().fold(plain, with_feature)
        },
    )
}

/// A pool each of two kinds, nodes of all ages, and workloads of which some run and some wait.
pub fn any_mixed_cluster() -> impl Strategy<Value = Cluster> {
    let workloads = (any_workload(0), any_workload(1), any_workload(2), any_workload(3));
    let claims = proptest::collection::vec((0..2_usize, 0..3_usize, 0..8_u8, 0..5_usize), 0..5);
    let foreign = proptest::collection::vec((0..3_usize, 0..9_i64), 0..3);
    (any_pool("p0"), any_pool("p1"), workloads, claims, foreign, 0..3_i64).prop_map(
        |(p0, p1, (one, two, three, four), claims, foreign, agent)| {
            let mut cluster = Cluster::new([p0.clone(), p1.clone()]);
            let storage = |places| StorageClass {
                provisioner: DRIVER.into(),
                waits_for_consumer: true,
                allowed_topologies: places,
            };
            let classes = Arc::make_mut(&mut cluster.0.storage_classes);
            classes.insert("anywhere".into(), storage(vec![]));
            classes.insert("some".into(), storage(vec![term(ZONE, Operator::In, &["a", "b"])]));
            cluster = cluster.volume_claim("shared", None, Some("some"));
            for (number, (zone, cores)) in foreign.into_iter().enumerate() {
                let name = format!("foreign-{number}");
                cluster = cluster.node_in(&name, ["a", "b", "c"][zone], cores, cores * 4);
                cluster = cluster.attach_limit(&name, DRIVER, 2);
            }
            let workloads = [one, two, three, four];
            for (number, (pool, kind, stage, running)) in claims.into_iter().enumerate() {
                let pool = if pool == 0 { &p0 } else { &p1 };
                let (machine, name) = (&pool.instance_types[kind], format!("old-{number}"));
                let labelled = |claim: &mut windlass_core::model::Claim| {
                    claim.labels.extend(&pool.labels);
                    claim.taints.clone_from(&pool.taints);
                };
                let mut made = claim(&name, &pool.name, &pool.instance_types[..=kind]);
                labelled(&mut made);
                cluster = match stage {
                    0 => cluster.claim(made),
                    1 => cluster.claim(launched(made, kind)),
                    2 => cluster.standing_but(&name, &pool.name, machine, |claim, node| {
                        labelled(claim);
                        claim.phase = ClaimPhase::Registered;
                        node.readiness = Readiness::NotReady { since: at(NOW - 200) };
                    }),
                    3 => cluster.standing_but(&name, &pool.name, machine, |claim, _| claim.deleting = true),
                    _ => {
                        let standing = cluster.standing_but(&name, &pool.name, machine, |claim, node| {
                            labelled(claim);
                            node.labels.extend(&pool.labels);
                            node.taints.clone_from(&pool.taints);
                        });
                        match workloads.get(running) {
                            Some(pods) => {
                                let mut here =
                                    pods.clone().pods(1).asking(100, 64).on(&format!("node-of-{name}"));
                                here.name = format!("running{number}");
                                here.claims = Vec::new();
                                standing.run(here)
                            }
                            None => standing,
                        }
                    }
                };
            }
            let agent = PodShape { owner: PodOwner::DaemonSet, ..asks(agent * 100, 64) };
            cluster = cluster.daemon_set("agent", agent);
            for workload in workloads {
                for number in 1..=workload.count {
                    let claim = format!("data-{}-{number}", workload.name);
                    cluster = cluster.volume_claim(&claim, None, Some("anywhere"));
                }
                cluster = cluster.run(workload);
            }
            cluster
        },
    )
}
