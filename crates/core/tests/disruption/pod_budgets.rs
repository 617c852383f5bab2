//! Pods that may not be evicted just now.

use std::time::Duration;

use windlass_core::model::{PodOwner, Pool, Requirements, Selector};

use crate::cluster::Cluster;
use crate::nodes::{NOTHING, half_empty, half_empty_in, owned, small, soon, stays, thrifty};
use crate::workload::those_of;

fn everybody() -> Selector {
    Selector::Matching(Requirements::new())
}

#[test]
fn a_budget_keeps_only_the_nodes_of_its_own_pods() {
    let cluster = half_empty("abc", 500).pod_budget("default", "web", those_of("web-a"), 0);
    assert_eq!(cluster.consolidated(), ["b", "c"]);
}

#[test]
fn a_budget_of_another_namespace_does_not_count() {
    let cluster = half_empty("ab", 500).pod_budget("elsewhere", "all", everybody(), 0);
    assert_eq!(cluster.consolidated(), ["a"]);
}

#[test]
fn a_budget_that_selects_nobody_does_not_count() {
    let cluster = half_empty("ab", 500).pod_budget("default", "none", Selector::Nothing, 0);
    assert_eq!(cluster.consolidated(), ["a"]);
}

#[test]
fn a_pod_of_two_budgets_cannot_be_evicted_at_all() {
    let cluster = half_empty("ab", 500).pod_budget("default", "one", those_of("web-a"), 5);
    assert_eq!(cluster.consolidated(), ["a"]);
    let decided = cluster.going_on();
    let twice = |cluster: Cluster| cluster.pod_budget("default", "two", those_of("web-a"), 5);
    assert_eq!(twice(cluster).consolidated(), ["b"]);
    let why = "pod default/web-a-1 has more than one PodDisruptionBudget";
    assert_eq!(twice(decided).taken_back(), stays("a", why));
}

#[test]
fn budgets_of_pods_that_stay_with_the_node_do_not_keep_it() {
    for owner in [PodOwner::DaemonSet, PodOwner::Node] {
        let cluster = half_empty("ab", 500).run(owned("own", owner).on("node-of-a"));
        assert_eq!(cluster.pod_budget("default", "own", those_of("own"), 0).consolidated(), ["a"]);
    }
}

#[test]
fn the_budget_of_a_pod_that_is_being_deleted_does_not_keep_its_node() {
    let cluster = half_empty("ab", 500).run(owned("gone", PodOwner::Controller).on("node-of-a").deleting());
    assert_eq!(cluster.pod_budget("default", "gone", those_of("gone"), 0).consolidated(), ["a"]);
}

#[test]
fn a_time_limit_for_drains_does_not_make_budgets_void() {
    let limited = Pool { termination_grace_period: Some(Duration::from_mins(5)), ..thrifty() };
    let cluster = half_empty_in(limited, "ab", 500).pod_budget("default", "all", everybody(), 0);
    assert_eq!(cluster.consolidated(), NOTHING);
}

#[test]
fn a_budget_that_is_used_up_after_the_decision_is_waited_for_but_not_for_ever() {
    let decided = half_empty("ab", 500).going_on();
    let used_up = decided.pod_budget("default", "web", those_of("web-a"), 0);
    let why = "PodDisruptionBudget default/web lets pod default/web-a-1 not go just now";
    assert_eq!((used_up.removed().len(), used_up.taken_back().len()), (0, 0));
    assert_eq!(used_up.why("a"), format!("is to go: underutilized; {why}"));
    let (later, _) = windlass_core::plan(&used_up.0, soon(901));
    let [taken_back] = &later.cancellations[..] else { panic!("{later:?}") };
    assert_eq!((&*taken_back.claim, taken_back.message.as_str()), ("a", why));
}

#[test]
fn budgets_of_pods_do_not_keep_empty_nodes() {
    let cluster = half_empty("a", 500).standing("b", "general", &small());
    assert_eq!(cluster.pod_budget("default", "all", everybody(), 0).emptied(), ["b"]);
}

#[test]
fn a_node_is_replaced_only_if_its_pods_may_be_evicted() {
    let big = |allowed| {
        let cluster = Cluster::new([thrifty()]).large("a").run(crate::nodes::web('a', 500));
        cluster.pod_budget("default", "web", those_of("web-a"), allowed)
    };
    assert_eq!(big(0).consolidated(), NOTHING);
    assert_eq!(big(1).consolidated(), ["a"]);
}
