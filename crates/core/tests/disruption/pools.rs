//! What pools say of their nodes.

use std::time::Duration;

use windlass_core::model::{Consolidation, Pool};

use crate::cluster::{Cluster, NOW};
use crate::nodes::{NOTHING, frugal, half_empty, half_empty_in, small, thrifty, web};
use crate::shapes::{at, pool};

/// Two nodes in one pool and two in another, half empty, with nothing to be launched.
fn two_pools(other: Pool) -> Cluster {
    let cluster = Cluster::new([frugal(), Pool { name: "other".into(), max_nodes: Some(0), ..other }]);
    let cluster =
        cluster.small("a").small("b").standing("c", "other", &small()).standing("d", "other", &small());
    "abcd".chars().fold(cluster, |cluster, letter| cluster.run(web(letter, 900)))
}

#[test]
fn a_node_whose_pool_is_gone_stays_and_takes_pods() {
    let cluster = half_empty("a", 500).standing("b", "gone", &small()).run(web('b', 500));
    assert_eq!(cluster.consolidated(), ["a"]);
    let only = cluster.without_claim("a").without_pod("web-a-1");
    assert_eq!(only.consolidated(), NOTHING);
}

#[test]
fn each_pools_policy_counts_for_its_own_nodes() {
    assert_eq!(two_pools(thrifty()).consolidated(), ["a", "b"]);
    let keeps = Pool { consolidation: Consolidation::Empty, ..thrifty() };
    assert_eq!(two_pools(keeps.clone()).consolidated(), ["a", "b"]);
    let first = two_pools(thrifty()).pool_but("general", |pool| pool.consolidation = Consolidation::Empty);
    assert_eq!(first.consolidated(), ["c", "d"]);
}

#[test]
fn each_pools_delay_counts_for_its_own_nodes() {
    let slow = Pool { consolidate_after: Some(Duration::from_hours(1)), ..thrifty() };
    let cluster = two_pools(slow).pool_but("general", |pool| pool.min_nodes = 2);
    assert_eq!(cluster.consolidated(), NOTHING, "the other pool waits for an hour");
    let quick = cluster.pool_but("other", |pool| pool.consolidate_after = Some(Duration::ZERO));
    assert_eq!(quick.pod_changed("node-of-c", NOW).pod_changed("node-of-d", NOW).consolidated(), ["c", "d"]);
}

#[test]
fn what_each_move_has_to_save_is_up_to_the_pool_of_the_node() {
    let strict = Pool { min_savings_per_move: "0.50".parse().unwrap(), ..thrifty() };
    let cluster = two_pools(strict).pool_but("general", |pool| pool.min_nodes = 2);
    assert_eq!(cluster.consolidated(), NOTHING);
    assert_eq!(cluster.pool_but("general", |pool| pool.min_nodes = 0).consolidated(), ["a", "b"]);
}

#[test]
fn a_node_that_is_never_given_back_is_not_consolidated_however_long_it_was_quiet() {
    let never = Pool { consolidate_after: None, ..thrifty() };
    assert_eq!(half_empty_in(never.clone(), "abcd", 100).consolidated(), NOTHING);
    assert_eq!(
        Cluster::new([never]).large("big").run(web('b', 100).on("node-of-big")).consolidated(),
        NOTHING
    );
}

#[test]
fn empty_nodes_go_whichever_the_pools_policy() {
    for consolidation in [Consolidation::Empty, Consolidation::Underutilized] {
        let cluster = Cluster::new([Pool { consolidation, ..thrifty() }]).small("a");
        assert_eq!(cluster.emptied(), ["a"]);
    }
}

#[test]
fn empty_nodes_go_first_and_busy_ones_in_the_next_plan() {
    let cluster = half_empty("abc", 500).small("d");
    assert_eq!((cluster.emptied(), cluster.consolidated()), (vec!["d".to_owned()], vec![]));
    assert_eq!(cluster.going_on().consolidated(), ["a", "b"]);
}

#[test]
fn an_empty_node_of_unknown_age_stays() {
    let cluster = Cluster::new([thrifty()]).small("a").claim_but("a", |claim| claim.initialized_at = None);
    assert_eq!((cluster.emptied().len(), &*cluster.why("a")), (0, "empty, since when is not known"));
    assert_eq!(cluster.pod_changed("node-of-a", NOW - 30).emptied(), ["a"]);
}

#[test]
fn the_next_empty_node_wakes_the_plan() {
    let cluster = Cluster::new([thrifty()]).small("a").small("b");
    let cluster = cluster.pod_changed("node-of-a", NOW - 10).pod_changed("node-of-b", NOW - 20);
    assert_eq!(cluster.plan().0.wake_at, Some(at(NOW + 10)));
}

#[test]
fn an_empty_node_that_is_not_ours_is_no_business_of_ours() {
    let cluster = Cluster::new([thrifty()]).small("a").without_claim("a");
    let (plan, report) = cluster.plan();
    assert!(plan.is_empty() && report.nodes.is_empty());
}

#[test]
fn a_node_with_pods_that_are_being_deleted_is_not_empty_yet() {
    let cluster = half_empty("a", 500).deleting_pods();
    assert_eq!((cluster.emptied().len(), &*cluster.why("a")), (0, "runs 1 pod"));
    assert_eq!(cluster.consolidated(), NOTHING, "nor is there anything to move");
}

#[test]
fn the_minimum_is_of_each_pool() {
    let keeping = |name: &str| Pool { min_nodes: 1, ..pool(name, vec![small()]) };
    let cluster = Cluster::new([keeping("one"), keeping("other")]);
    let cluster = cluster.standing("a", "one", &small()).standing("b", "one", &small());
    assert_eq!(cluster.standing("c", "other", &small()).emptied(), ["a"]);
}

#[test]
fn a_pool_whose_limit_was_lowered_does_not_lose_nodes_for_it() {
    let lowered = Pool { max_nodes: Some(1), ..thrifty() };
    assert_eq!(half_empty_in(lowered, "ab", 1500).consolidated(), NOTHING);
}
