//! Why a node on which pods run is not given back, in words.

use windlass_core::model::{
    Consolidation, DisruptionBudget, DisruptionReason, Pool, Requirements, Selector, Share, Utilization,
};
use windlass_core::plan::why_kept;

use crate::cluster::{Cluster, NOW};
use crate::nodes::{always, half_empty, half_empty_in, thrifty};
use crate::shapes::{asks, at};

const DEAR: &str = "its pods could not run for less elsewhere, or moving them would save too little";

impl Cluster {
    fn kept(&self, claim: &str) -> String {
        why_kept(&self.0, at(NOW), claim).unwrap_or_default()
    }
}

/// Two nodes that are too full for each other's pods, of a pool like this one.
fn full(pool: Pool) -> Cluster {
    half_empty_in(pool, "ab", 1500)
}

#[test]
fn a_node_whose_pods_could_not_run_for_less_says_so() {
    assert_eq!(full(thrifty()).kept("a"), DEAR);
}

#[test]
fn nothing_is_said_of_nodes_that_are_empty_or_on_their_way_out() {
    assert_eq!(half_empty("a", 500).without_pod("web-a-1").kept("a"), "");
    let going = full(thrifty()).claim_but("a", |claim| claim.disrupted = Some(DisruptionReason::Sick));
    assert_eq!((going.kept("a"), going.kept("nobody")), (String::new(), String::new()));
}

#[test]
fn a_pools_minimum_is_named() {
    let least = half_empty_in(Pool { min_nodes: 2, ..thrifty() }, "ab", 500);
    assert!(least.plan().0.is_empty());
    assert_eq!(least.kept("a"), "kept for the pool's minimum of 2, and nothing cheaper could take its place");
    assert_eq!(full(Pool { min_nodes: 1, ..thrifty() }).kept("a"), DEAR);
}

#[test]
fn a_ceiling_on_what_is_asked_for_is_named() {
    let utilization = vec![Utilization { resource: "cpu".into(), floor: None, ceiling: Some(40) }];
    let airy = half_empty_in(Pool { utilization, ..thrifty() }, "ab", 500);
    assert!(airy.plan().0.is_empty());
    assert_eq!(
        airy.kept("a"),
        "kept so that no more than 40% of the pool's cpu is asked for, and nothing cheaper could take its place"
    );
}

#[test]
fn room_that_is_kept_ready_is_named() {
    let beside = "its pods could not run for less elsewhere beside the room that is kept ready, or moving them would \
         save too little";
    assert_eq!(full(Pool { spare_nodes: 1, ..thrifty() }).kept("a"), beside);
    let reserving = half_empty("ab", 500).reserving("burst", 2, asks(1000, 128));
    assert!(reserving.plan().0.is_empty(), "{:?}", reserving.plan().0);
    assert_eq!(reserving.kept("a"), beside);
}

#[test]
fn a_consolidation_that_is_under_way_is_named() {
    let going_on = half_empty("ab", 500).going_on();
    assert_eq!(going_on.kept("a"), "", "it goes itself");
    assert_eq!(
        going_on.kept("b"),
        "others are on their way out to save money; it is looked at when they are gone"
    );
}

#[test]
fn what_the_pool_says_is_named() {
    for (pool, why) in [
        (Pool { paused: true, ..thrifty() }, "its pool is paused"),
        (Pool { replicas: Some(2), ..thrifty() }, "its pool has a fixed number of nodes"),
        (
            Pool { consolidation: Consolidation::Empty, ..thrifty() },
            "its pool gives back only nodes on which nothing runs",
        ),
        (Pool { consolidate_after: None, ..thrifty() }, "its pool never gives nodes back"),
    ] {
        assert_eq!(full(pool).kept("a"), why);
    }
    let none = DisruptionBudget { nodes: Share::Count(0), reasons: [].into(), window: None };
    let budgeted = full(Pool { budgets: vec![none], ..thrifty() });
    assert_eq!(budgeted.kept("a"), "the pool's budgets let none of 2 go at a time");
    assert_eq!(full(thrifty()).without_pool("general").kept("a"), "its pool general is not there");
}

#[test]
fn what_its_pods_say_is_named() {
    let asking = full(thrifty()).pod_but("web-a-1", |pod| pod.stays_until = Some(always()));
    assert_eq!(asking.kept("a"), "pod default/web-a-1 is not to be disrupted");
    let budgeted =
        full(thrifty()).pod_budget("default", "web", Selector::Matching(Requirements::default()), 0);
    assert_eq!(
        budgeted.kept("a"),
        "PodDisruptionBudget default/web lets pod default/web-a-1 not go just now"
    );
    let restless = full(thrifty()).pod_but("web-a-1", |pod| pod.bound_at = Some(at(NOW - 10)));
    assert_eq!(restless.kept("a"), "pod default/web-a-1 came to it less than 300 s ago");
    let changed = full(thrifty()).pod_changed("node-of-a", NOW - 1);
    assert!(changed.kept("a").starts_with("pods have come or left lately"), "{}", changed.kept("a"));
    assert_eq!(changed.kept("b"), DEAR);
}
