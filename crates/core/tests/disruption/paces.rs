//! How fast pools grow and shrink, ceilings over all of them, and leaving everything as it is.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::model::{Pool, Resources};
use windlass_core::plan;

use crate::cluster::{Cluster, NOW};
use crate::nodes::{NOTHING, half_empty_in, large, small, soon, thrifty};
use crate::shapes::{asks, at, pool};

fn plain(name: &str) -> Pool {
    pool(name, vec![small(), large()])
}

impl Cluster {
    /// Nodes were launched so many seconds ago.
    fn launched_before(mut self, pool: &str, seconds: &[i64]) -> Self {
        let times = seconds.iter().map(|second| at(NOW - second)).collect();
        Arc::make_mut(&mut self.0.recent).launches.insert(pool.into(), times);
        self
    }

    fn removed_before(mut self, pool: &str, seconds: &[i64]) -> Self {
        let times = seconds.iter().map(|second| at(NOW - second)).collect();
        Arc::make_mut(&mut self.0.recent).removals.insert(pool.into(), times);
        self
    }
}

#[test]
fn all_pools_together_stay_below_a_number_of_nodes() {
    let mut cluster = Cluster::new([plain("one"), plain("two")]).pending("new", 5, asks(7000, 128));
    assert_eq!(cluster.plan().0.launches.len(), 5);
    cluster.0.settings.max_nodes = Some(3);
    assert_eq!(cluster.plan().0.launches.len(), 3);
    assert!(
        cluster.excuse().contains("the limit of 3 nodes of all pools is reached"),
        "{}",
        cluster.excuse()
    );
}

#[test]
fn all_pools_together_stay_below_an_amount() {
    let mut cluster = Cluster::new([plain("one"), plain("two")]).standing("a", "one", &large());
    cluster = cluster.pending("new", 5, asks(7000, 128)).bound("old", 1, asks(7000, 128), "node-of-a");
    cluster.0.settings.limits = Resources::from_iter([("cpu", 24_000)]);
    assert_eq!(cluster.plan().0.launches.len(), 2, "eight of twenty-four cores are there");
    assert!(cluster.excuse().contains("24 cpu of all pools"), "{}", cluster.excuse());
}

#[test]
fn no_more_machines_are_launched_within_a_minute_than_may_be() {
    let slow = Pool { launches_per_minute: Some(3), ..plain("one") };
    let cluster = Cluster::new([slow]).pending("new", 5, asks(7000, 128));
    let two_before = cluster.clone().launched_before("one", &[10, 59, 61]);
    assert_eq!((cluster.plan().0.launches.len(), two_before.plan().0.launches.len()), (3, 1));
    let (plan, _) = two_before.plan();
    assert_eq!(plan.wake_at, Some(soon(1)), "then the first of the last minute is a minute ago");
    assert!(two_before.excuse().contains("the limit of 3 launches a minute"), "{}", two_before.excuse());
}

#[test]
fn launches_of_all_pools_are_counted_together_where_that_is_limited() {
    let mut cluster = Cluster::new([plain("one"), plain("two")]).pending("new", 5, asks(7000, 128));
    cluster = cluster.launched_before("two", &[30]);
    cluster.0.settings.launches_per_minute = Some(2);
    assert_eq!(cluster.plan().0.launches.len(), 1);
}

#[test]
fn no_more_nodes_go_within_a_minute_than_may() {
    let slow = Pool { removals_per_minute: Some(2), ..plain("general") };
    let cluster = Cluster::new([slow]).small("a").small("b").small("c");
    assert_eq!(cluster.emptied().len(), 2);
    assert_eq!(cluster.clone().removed_before("general", &[30]).emptied().len(), 1);
    assert_eq!(cluster.clone().removed_before("general", &[61]).emptied().len(), 2);
    let late = cluster.removed_before("general", &[20, 30]);
    assert_eq!(late.emptied(), NOTHING);
    assert_eq!(late.plan().0.wake_at, Some(soon(30)));
    assert!(late.why("a").ends_with("no more than 2 nodes of the pool go a minute"), "{}", late.why("a"));
}

#[test]
fn departures_of_all_pools_are_counted_together_where_that_is_limited() {
    let mut cluster = Cluster::new([plain("general")]).small("a").small("b").removed_before("other", &[10]);
    cluster.0.settings.removals_per_minute = Some(2);
    assert_eq!(cluster.emptied().len(), 1);
}

#[test]
fn pods_wait_for_a_pool_that_wants_to_be_sure_of_the_need() {
    let patient = Pool { scale_up_window: Duration::from_secs(30), ..plain("one") };
    let cluster = Cluster::new([patient]).pending("new", 2, asks(1500, 128));
    let (early, _) = cluster.plan();
    assert!(early.launches.is_empty());
    assert_eq!(early.wake_at, Some(soon(25)), "they have waited for five seconds");
    assert!(cluster.excuse().contains("the pool waits until"), "{}", cluster.excuse());
    assert_eq!(plan(&cluster.0, soon(25)).0.launches.len(), 2);
}

#[test]
fn another_pool_that_does_not_want_to_wait_serves_the_pods() {
    let patient = Pool { weight: 10, scale_up_window: Duration::from_secs(30), ..plain("one") };
    let cluster = Cluster::new([patient, plain("two")]).pending("new", 1, asks(1500, 128));
    assert_eq!(&*cluster.plan().0.launches[0].pool, "two");
}

#[test]
fn a_pool_that_has_just_grown_gives_nothing_back() {
    let steady = Pool { scale_down_window: Duration::from_secs(600), ..plain("general") };
    let cluster =
        Cluster::new([steady]).small("a").small("b").claim_but("b", |claim| claim.created_at = at(NOW - 500));
    assert_eq!(cluster.emptied(), NOTHING);
    assert_eq!(cluster.plan().0.wake_at, Some(soon(100)));
    assert!(
        cluster.why("a").contains("has just grown and gives no nodes back for 100 s"),
        "{}",
        cluster.why("a")
    );
}

#[test]
fn a_paused_pool_keeps_its_nodes() {
    let paused = |pool: Pool| Pool { paused: true, unusable: Some("the pool is paused".into()), ..pool };
    let empty = Cluster::new([paused(thrifty())]).small("a");
    assert!(empty.plan().0.is_empty());
    assert_eq!(empty.why("a"), "empty, but its pool is paused");
    assert!(half_empty_in(paused(thrifty()), "abcd", 200).plan().0.is_empty());
    let asked = half_empty_in(paused(thrifty()), "ab", 1500).claim_but("a", |claim| claim.asked_to_go = true);
    assert!(asked.plan().0.is_empty());
}

#[test]
fn a_decision_waits_while_its_pool_is_paused() {
    let deciding = half_empty_in(thrifty(), "ab", 500).going_on();
    assert_eq!(deciding.removed(), ["a"]);
    let paused = deciding.pool_but("general", |pool| pool.paused = true);
    assert_eq!(paused.removed(), NOTHING);
    assert!(paused.why("a").ends_with("its pool is paused") && paused.taken_back().is_empty());
}

#[test]
fn everything_can_be_left_as_it_is() {
    let mut cluster = half_empty_in(thrifty(), "abcd", 200).small("e").pending("new", 1, asks(7000, 128));
    assert!(!cluster.plan().0.is_empty());
    cluster.0.settings.paused = Some("everything is paused: an upgrade".into());
    assert!(cluster.plan().0.is_empty());
    assert_eq!(cluster.excuse(), "pool general: everything is paused: an upgrade");
}

#[test]
fn a_pod_is_not_moved_again_soon_after_it_came() {
    let moved = |seconds: i64| {
        half_empty_in(thrifty(), "ab", 500).pod_but("web-a-1", |pod| pod.bound_at = Some(soon(-seconds)))
    };
    assert_eq!(moved(299).consolidated(), ["b"]);
    assert_eq!(moved(301).consolidated(), ["a"]);
}
