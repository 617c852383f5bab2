//! Nodes whose pods run for less on new machines.

use std::collections::BTreeMap;

use windlass_core::model::{
    InstanceType, Labels, Operator, Performance, PodOwner, Pool, Resources, well_known,
};
use windlass_core::plan::LaunchPurpose;

use crate::cluster::Cluster;
use crate::nodes::{NOTHING, discontinued, large, owned, small, soon, thrifty, thrifty_with, web};
use crate::shapes::{asks, machine, pool, term};
use crate::workload::app;

/// A large node with one small pod.
fn oversized(pool: Pool) -> Cluster {
    Cluster::new([pool]).large("big").run(app("web").asking(500, 128).on("node-of-big"))
}

#[test]
fn the_replacement_says_whom_it_replaces_and_why() {
    let (plan, _) = oversized(thrifty()).plan();
    let launch = &plan.launches[0];
    assert_eq!((launch.purpose, &launch.replaces[..]), (LaunchPurpose::Replacement, &["big".into()][..]));
    assert_eq!(
        launch.message,
        "big is to go; 1 pod needs cpu 500m, memory 128Mi that no node has: default/web-1"
    );
    assert_eq!(
        plan.disruptions[0].message,
        "1 pod of 1 node can move to others and 1 new node, which saves 0.30/h"
    );
}

#[test]
fn a_large_node_gives_way_to_several_small_ones() {
    let cluster = Cluster::new([thrifty()]).large("big");
    let cluster = cluster.bound("web", 2, asks(1500, 512), "node-of-big");
    assert_eq!(cluster.consolidated(), ["big"]);
    assert_eq!(cluster.machines(), ["small", "small"]);
}

#[test]
fn the_pods_that_fit_on_others_need_no_new_machine() {
    let cluster = Cluster::new([thrifty()])
        .large("big")
        .small("other")
        .run(app("o").asking(500, 128).on("node-of-other"));
    let cluster = cluster.pod_changed("node-of-other", crate::cluster::NOW);
    let cluster = cluster.bound("web", 2, asks(1400, 512), "node-of-big");
    assert_eq!(
        (cluster.consolidated(), cluster.machines()),
        (vec!["big".to_owned()], vec!["small".to_owned()])
    );
}

#[test]
fn a_cheaper_machine_of_another_pool_will_do() {
    let other = pool("other", vec![machine("tiny", 1, 4, "0.03")]);
    let cluster = oversized(thrifty_with(vec![large()])).with_pool(other);
    assert_eq!(
        (cluster.consolidated(), cluster.machines()),
        (vec!["big".to_owned()], vec!["tiny".to_owned()])
    );
}

#[test]
fn a_pool_that_offers_nothing_does_not_matter() {
    let none = Pool { weight: 100, ..pool("none", vec![]) };
    let cluster = oversized(thrifty()).with_pool(none);
    assert_eq!(cluster.consolidated(), ["big"]);
}

#[test]
fn nothing_is_replaced_by_a_dearer_machine_of_a_preferred_pool() {
    let preferred = Pool { weight: 100, ..pool("preferred", vec![machine("gold", 2, 8, "0.90")]) };
    let cluster = oversized(thrifty_with(vec![large()])).with_pool(preferred);
    assert_eq!(cluster.consolidated(), NOTHING);
}

#[test]
fn what_pods_ask_of_their_node_decides_which_machine_will_do() {
    let arm = InstanceType {
        labels: Labels::new().with(well_known::ARCH, "arm64"),
        ..machine("arm", 2, 8, "0.05")
    };
    let pool = thrifty_with(vec![small(), large(), arm]);
    let cluster = oversized(pool.clone());
    assert_eq!((cluster.consolidated().len(), cluster.machines()), (1, vec!["arm".to_owned()]));
    let picky = Cluster::new([pool])
        .large("big")
        .run(app("web").asking(500, 128).selecting(well_known::ARCH, "amd64").on("node-of-big"));
    assert_eq!((picky.consolidated().len(), picky.machines()), (1, vec!["small".to_owned()]));
}

#[test]
fn the_replacement_has_room_for_daemonsets() {
    let daemon = owned("agent", PodOwner::DaemonSet).asking(1000, 128).shape;
    let narrow = || thrifty_with(vec![small(), machine("wide", 64, 256, "6.40")]);
    let old = machine("wide", 64, 256, "6.40");
    let cluster = |milli| {
        let cluster = Cluster::new([narrow()]).daemon_set("agent", daemon.clone());
        let cluster = cluster.standing("a", "general", &old);
        cluster
            .run(web('a', milli))
            .run(owned("agent", PodOwner::DaemonSet).asking(1000, 128).on("node-of-a"))
    };
    assert_eq!((cluster(900).consolidated().len(), cluster(900).machines()), (1, vec!["small".to_owned()]));
    assert_eq!(cluster(1100).consolidated(), NOTHING, "it would take another wide one");
}

#[test]
fn a_limit_counts_the_old_machine_and_the_new_one() {
    let limited = |nodes| Pool { max_nodes: Some(nodes), ..thrifty() };
    assert_eq!(oversized(limited(1)).consolidated(), NOTHING);
    assert_eq!(oversized(limited(2)).consolidated(), ["big"]);
    let cores = |cores: i64| Pool { limits: Resources::from_iter([("cpu", cores * 1000)]), ..thrifty() };
    assert_eq!(oversized(cores(9)).consolidated(), NOTHING);
    assert_eq!(oversized(cores(10)).consolidated(), ["big"]);
}

#[test]
fn nothing_is_replaced_by_what_cannot_be_had() {
    let without = |change: fn(&mut InstanceType)| {
        let mut kind = machine("small", 2, 8, "0.10");
        change(&mut kind);
        oversized(thrifty_with(vec![kind, large()]))
    };
    assert_eq!(without(|kind| kind.offerings[0].available = Some(0)).consolidated(), NOTHING);
    assert_eq!(without(|kind| kind.offerings[0].avoid_until = Some(soon(60))).consolidated(), NOTHING);
    assert_eq!(without(|kind| kind.offerings[0].avoid_until = Some(soon(0))).consolidated(), ["big"]);
}

#[test]
fn a_machine_that_nobody_offers_any_more_can_be_replaced() {
    let cluster = Cluster::new([thrifty()]).standing("old", "general", &discontinued());
    let cluster = cluster.run(app("web").asking(500, 128).on("node-of-old"));
    assert_eq!(
        (cluster.consolidated(), cluster.machines()),
        (vec!["old".to_owned()], vec!["small".to_owned()])
    );
}

#[test]
fn a_price_that_fell_replaces_nodes_by_their_like() {
    let today = thrifty_with(vec![machine("large", 8, 32, "0.10")]);
    let cluster = oversized(today);
    assert_eq!(
        (cluster.consolidated(), cluster.machines()),
        (vec!["big".to_owned()], vec!["large".to_owned()])
    );
}

#[test]
fn a_pools_variety_holds_for_replacements_too() {
    let varied = |kinds| Pool {
        min_values: BTreeMap::from([(well_known::INSTANCE_TYPE.into(), 2)]),
        ..thrifty_with(kinds)
    };
    let like = machine("like", 2, 8, "0.11");
    let two = oversized(varied(vec![small(), like, large()]));
    assert_eq!(two.consolidated(), ["big"]);
    assert_eq!(
        two.plan().0.launches[0].offerings.iter().filter(|way| &*way.key.instance_type == "like").count(),
        1
    );
}

#[test]
fn a_machine_that_is_worth_its_price_is_not_replaced_by_a_slower_one() {
    let fast = |percent| {
        let performance =
            Performance { requirements: term(well_known::INSTANCE_TYPE, Operator::In, &["fast"]), percent };
        let kinds = vec![machine("fast", 2, 8, "0.15"), machine("slow", 2, 8, "0.10")];
        let cluster = Cluster::new([Pool { performance: vec![performance], ..thrifty_with(kinds.clone()) }]);
        cluster.standing("a", "general", &kinds[0]).run(web('a', 1800))
    };
    assert_eq!(fast(100).consolidated(), ["a"]);
    assert_eq!(fast(200).consolidated(), NOTHING);
}

#[test]
fn a_machine_that_costs_nothing_is_never_replaced() {
    let free = machine("free", 8, 32, "0");
    let cluster = Cluster::new([thrifty_with(vec![small(), free.clone()])]).standing("a", "general", &free);
    assert_eq!(cluster.run(web('a', 100)).consolidated(), NOTHING);
}

#[test]
fn what_has_to_be_saved_grows_with_the_pods_that_move() {
    let pool = || Pool { min_savings_per_move: "0.05".parse().unwrap(), ..thrifty() };
    let cluster =
        |pods| Cluster::new([pool()]).large("big").bound("web", pods, asks(100, 128), "node-of-big");
    assert_eq!(cluster(5).consolidated(), ["big"], "0.30 for five pods");
    assert_eq!(cluster(6).consolidated(), NOTHING);
}

#[test]
fn no_way_to_get_the_replacement_is_dearer_than_what_it_replaces() {
    let kinds = vec![machine("cheap", 5, 20, "0.25"), machine("dear", 5, 20, "0.45"), large()];
    let cluster = oversized(thrifty_with(kinds));
    assert_eq!(cluster.consolidated(), ["big"]);
    let (plan, _) = cluster.plan();
    let ways: Vec<&str> = plan.launches[0].offerings.iter().map(|way| &*way.key.instance_type).collect();
    assert_eq!(ways, ["cheap"]);
}

#[test]
fn a_pool_that_wants_more_ways_than_would_pay_keeps_its_node() {
    let varied = |price| {
        let kinds = vec![machine("cheap", 5, 20, "0.25"), machine("dear", 5, 20, price), large()];
        let min_values = BTreeMap::from([(well_known::INSTANCE_TYPE.into(), 2)]);
        oversized(Pool { min_values, ..thrifty_with(kinds) })
    };
    assert_eq!(varied("0.30").consolidated(), ["big"]);
    assert_eq!(varied("0.45").consolidated(), NOTHING);
}

#[test]
fn nodes_stay_whose_pods_fit_on_fewer_new_ones_only_if_they_come_in_the_right_order() {
    let on_four = |milli: i64| {
        let old = machine("old", 3, 16, "0.05");
        let letters = ["a", "b", "c", "d"];
        let cluster = Cluster::new([thrifty_with(vec![machine("new", 4, 16, "0.05")])]);
        let cluster = letters.iter().fold(cluster, |cluster, name| cluster.standing(name, "general", &old));
        let cluster = letters.iter().take(3).fold(cluster, |cluster, name| {
            cluster.bound(&format!("web-{name}"), 2, asks(milli, 128), &format!("node-of-{name}"))
        });
        cluster.bound("half", 2, asks(700, 128), "node-of-d")
    };
    assert_eq!(on_four(1300).consolidated().len(), 4, "wherever they go, three new nodes are enough");
    assert_eq!(on_four(1400).consolidated(), NOTHING, "two halves on one node leave a whole one over");
}
