//! Taints of pools and nodes, and what pods tolerate.

use windlass_core::model::{Effect, Pool, Taint, Toleration, TolerationOperator};

use crate::cluster::Cluster;
use crate::shapes::{machine, node, pool, size, taint};
use crate::workload::{Workload, app, general, three_zones};

fn tainted(effect: Effect) -> Cluster {
    Cluster::new([Pool { taints: vec![Taint::new("team", "blue", effect)], ..general() }])
}

fn launched(cluster: Cluster, pod: Workload) -> usize {
    cluster.run(pod).outcome().launched()
}

fn toleration(
    key: Option<&str>,
    operator: TolerationOperator,
    value: &str,
    effect: Option<Effect>,
) -> Toleration {
    Toleration { key: key.map(Into::into), operator, value: value.into(), effect }
}

#[test]
fn both_effects_keep_off_pods_that_do_not_tolerate_them() {
    for effect in [Effect::NoSchedule, Effect::NoExecute] {
        assert_eq!(launched(tainted(effect), app("web")), 0, "{effect:?}");
        assert_eq!(launched(tainted(effect), app("web").tolerating("team")), 1, "{effect:?}");
    }
}

#[test]
fn a_toleration_must_match_key_value_and_effect() {
    use TolerationOperator::{Equal, Exists};
    let cases = [
        (toleration(Some("team"), Equal, "blue", None), true),
        (toleration(Some("team"), Equal, "red", None), false),
        (toleration(Some("other"), Equal, "blue", None), false),
        (toleration(Some("team"), Exists, "", None), true),
        (toleration(Some("team"), Exists, "", Some(Effect::NoSchedule)), true),
        (toleration(Some("team"), Exists, "", Some(Effect::NoExecute)), false),
        (toleration(None, Exists, "", None), true),
        (toleration(None, Exists, "", Some(Effect::NoExecute)), false),
        (toleration(None, Equal, "blue", None), false),
    ];
    for (toleration, expected) in cases {
        let launched = launched(tainted(Effect::NoSchedule), app("web").with_toleration(toleration.clone()));
        assert_eq!(launched == 1, expected, "{toleration:?}");
    }
}

#[test]
fn every_taint_has_to_be_tolerated() {
    let pool = Pool { taints: vec![taint("one"), taint("two")], ..general() };
    assert_eq!(launched(Cluster::new([pool.clone()]), app("web").tolerating("one")), 0);
    assert_eq!(launched(Cluster::new([pool]), app("web").tolerating("one").tolerating("two")), 1);
}

#[test]
fn a_startup_taint_keeps_nobody_off_a_new_machine() {
    let pool = Pool { startup_taints: vec![taint("starting")], ..general() };
    assert_eq!(launched(Cluster::new([pool]), app("web")), 1);
}

#[test]
fn a_taint_that_stays_counts_beside_a_startup_taint() {
    let pool = Pool { startup_taints: vec![taint("starting")], taints: vec![taint("team")], ..general() };
    assert_eq!(launched(Cluster::new([pool]), app("web").tolerating("starting")), 0);
}

#[test]
fn a_taint_that_discourages_keeps_nobody_off_the_only_pool() {
    assert_eq!(launched(tainted(Effect::PreferNoSchedule), app("web")), 1);
}

#[test]
fn a_taint_on_an_existing_node_keeps_pods_off() {
    let mut old = node("old", size(4, 16));
    old.taints.push(taint("team"));
    assert_eq!(launched(three_zones().node(old.clone()), app("web")), 1);
    assert_eq!(launched(three_zones().node(old), app("web").tolerating("team")), 0);
}

#[test]
fn a_taint_that_discourages_keeps_nobody_off_an_existing_node() {
    let mut old = node("old", size(4, 16));
    old.taints.push(Taint::new("team", "", Effect::PreferNoSchedule));
    assert_eq!(launched(three_zones().node(old), app("web")), 0);
}

#[test]
fn a_pod_that_tolerates_a_cordon_goes_to_a_cordoned_node() {
    let mut old = node("old", size(4, 16));
    old.unschedulable = true;
    let tolerant = app("web").tolerating("node.kubernetes.io/unschedulable");
    assert_eq!(launched(three_zones().node(old.clone()), tolerant), 0);
    assert_eq!(launched(three_zones().node(old), app("web")), 1);
}

#[test]
fn pods_are_divided_among_pools_by_what_they_tolerate() {
    let blue = Pool { taints: vec![taint("blue")], ..pool("blue", vec![machine("b", 4, 16, "0.01")]) };
    let red = Pool { taints: vec![taint("red")], ..pool("red", vec![machine("r", 4, 16, "0.02")]) };
    let cluster =
        Cluster::new([blue, red]).run(app("one").tolerating("red")).run(app("two").tolerating("blue"));
    assert_eq!(cluster.outcome().machines(), ["b", "r"]);
}

#[test]
fn tolerating_a_taint_is_not_asking_for_it() {
    let blue = Pool { taints: vec![taint("blue")], ..pool("blue", vec![machine("b", 4, 16, "0.90")]) };
    let outcome = Cluster::new([blue, general()]).run(app("web").tolerating("blue")).outcome();
    assert_eq!(outcome.pools(), ["general"]);
}
