//! Nodes whose time is nearly over.

use std::time::Duration;

use windlass_core::model::{DisruptionBudget, DisruptionReason, Pool, Share};
use windlass_core::plan;

use crate::cluster::{Cluster, NOW};
use crate::nodes::{NOTHING, always, half_empty_in, large, small, soon, thrifty};
use crate::shapes::{at, pool};

/// A pool whose nodes, made at second 0, live for so many seconds and are replaced a minute before.
fn living(seconds: u64) -> Pool {
    Pool {
        expire_after: Some(Duration::from_secs(seconds)),
        rotate_before: Duration::from_secs(60),
        ..pool("general", vec![small(), large()])
    }
}

fn forever() -> Pool {
    Pool { expire_after: None, ..living(1) }
}

fn old(pool: Pool, names: &str) -> Cluster {
    half_empty_in(pool, names, 1500)
}

/// When a claim is first to go, from the moment on, by the plans' own wishes to be woken.
fn goes_at(cluster: &Cluster, claim: &str) -> i64 {
    let mut now = at(NOW);
    loop {
        let (plan, _) = plan(&cluster.0, now);
        if plan.going().any(|(name, ..)| &**name == claim) {
            return now.duration_since(at(0)).as_secs();
        }
        now = plan.wake_at.expect("something is to come");
    }
}

#[test]
fn a_node_that_is_past_its_time_is_replaced() {
    let cluster = old(living(900), "a");
    assert_eq!(
        (cluster.rotated(DisruptionReason::Expiring), cluster.machines()),
        (vec!["a".to_owned()], vec!["small".to_owned()])
    );
    assert!(cluster.why("a").starts_with("expiring: its time is over at "), "{}", cluster.why("a"));
}

#[test]
fn a_node_whose_time_has_not_come_stays_and_is_looked_at_when_it_does() {
    let cluster = old(living(86_400), "a");
    let (plan, _) = cluster.plan();
    assert!(plan.is_empty());
    let wake = plan.wake_at.unwrap();
    assert!(wake > at(75_000) && wake <= at(86_340), "{wake}");
}

#[test]
fn nodes_of_a_pool_without_a_lifetime_stay() {
    let (plan, _) = old(forever(), "a").plan();
    assert!(plan.is_empty() && plan.wake_at.is_none());
}

#[test]
fn a_node_is_replaced_some_time_before_its_end_and_not_in_the_first_half_of_its_life() {
    let begins = goes_at(&old(living(10_000), "a"), "a");
    assert!((8_940..=9_940).contains(&begins), "{begins}");
    let hasty = Pool { rotate_before: Duration::from_secs(9_900), ..living(10_000) };
    assert_eq!(goes_at(&old(hasty, "a"), "a"), 5_000);
}

#[test]
fn nodes_that_came_together_do_not_go_together() {
    let cluster = old(living(100_000), "abcdefgh");
    let mut begins: Vec<i64> = "abcdefgh".chars().map(|name| goes_at(&cluster, &name.to_string())).collect();
    begins.sort_unstable();
    begins.dedup();
    assert!(begins.len() >= 7 && begins[begins.len() - 1] - begins[0] > 3_000, "{begins:?}");
}

#[test]
fn budgets_hold_back_nodes_whose_time_is_over() {
    let budget = |nodes| DisruptionBudget { nodes: Share::Count(nodes), reasons: [].into(), window: None };
    let pool = |nodes| Pool { budgets: vec![budget(nodes)], ..living(900) };
    assert_eq!(old(pool(1), "abc").rotated(DisruptionReason::Expiring).len(), 1);
    assert!(old(pool(0), "abc").plan().0.is_empty());
}

#[test]
fn a_pod_that_must_not_be_disturbed_keeps_a_node_beyond_its_time() {
    let cluster = old(living(900), "a").pod_but("web-a-1", |pod| pod.stays_until = Some(always()));
    assert!(cluster.plan().0.is_empty());
}

#[test]
fn an_empty_node_past_its_time_goes_for_good() {
    let cluster = old(living(900), "a").without_pod("web-a-1");
    let (plan, _) = cluster.plan();
    assert_eq!((plan.disruptions.len(), plan.launches.len()), (1, 0));
}

#[test]
fn a_machine_that_its_provider_will_end_is_replaced_before() {
    let cluster = old(forever(), "a").claim_but("a", |claim| claim.ends_at = Some(soon(50)));
    assert_eq!(cluster.rotated(DisruptionReason::Expiring), ["a"]);
    assert!(cluster.why("a").starts_with("expiring: its provider ends it at "), "{}", cluster.why("a"));
    let later = old(forever(), "a").claim_but("a", |claim| claim.ends_at = Some(soon(1_000_000)));
    assert!(later.plan().0.is_empty());
}

#[test]
fn what_ends_first_counts_of_what_pool_and_provider_say() {
    let cluster = old(living(86_400), "a").claim_but("a", |claim| claim.ends_at = Some(soon(50)));
    assert_eq!(cluster.rotated(DisruptionReason::Expiring), ["a"]);
}

#[test]
fn budgets_do_not_hold_back_machines_that_will_end_anyway() {
    let none = DisruptionBudget { nodes: Share::Count(0), reasons: [].into(), window: None };
    let cluster = old(Pool { budgets: vec![none], ..forever() }, "ab")
        .claim_but("a", |claim| claim.ends_at = Some(soon(50)));
    assert_eq!(cluster.rotated(DisruptionReason::Expiring), ["a"]);
}

#[test]
fn a_node_is_drained_at_the_last_call_although_its_replacement_is_not_ready() {
    let cluster = old(forever(), "a").claim_but("a", |claim| claim.ends_at = Some(soon(70)));
    let deciding = cluster.going_on();
    assert_eq!(deciding.removed(), NOTHING);
    let (later, _) = plan(&deciding.0, soon(11));
    assert_eq!(later.removals.len(), 1, "a minute is left");
}

#[test]
fn at_the_last_call_a_node_goes_whatever_becomes_of_its_pods() {
    let full = Pool { max_nodes: Some(1), ..forever() };
    let cluster = old(full, "a")
        .pod_but("web-a-1", |pod| pod.stays_until = Some(always()))
        .claim_but("a", |claim| claim.ends_at = Some(soon(30)));
    let (plan, _) = cluster.plan();
    assert_eq!(plan.disruptions.len(), 1);
    assert_eq!(cluster.going_on().removed(), ["a"]);
}

#[test]
fn a_node_whose_end_is_told_is_looked_at_when_it_begins_to_give_way() {
    let cluster = old(forever(), "a").claim_but("a", |claim| claim.ends_at = Some(soon(10_000)));
    let begins = goes_at(&cluster, "a");
    assert!((NOW + 8_840..=NOW + 9_940).contains(&begins), "{begins}");
}

#[test]
fn a_node_that_is_to_go_and_waits_for_its_replacement_is_looked_at_at_the_last_call() {
    let cluster = old(forever(), "a").claim_but("a", |claim| claim.ends_at = Some(soon(70)));
    assert_eq!(cluster.plan().0.wake_at, Some(soon(10)), "should the replacement not come");
    let deciding = cluster.going_on();
    assert_eq!(deciding.removed(), NOTHING);
    assert_eq!(deciding.plan().0.wake_at, Some(soon(10)));
    assert_eq!(plan(&deciding.0, soon(10)).0.removals.len(), 1);
}

#[test]
fn a_node_that_a_pod_holds_is_looked_at_at_the_last_call() {
    let held = old(forever(), "a")
        .pod_but("web-a-1", |pod| pod.stays_until = Some(always()))
        .claim_but("a", |claim| claim.ends_at = Some(soon(70)));
    let (now, _) = held.plan();
    assert!(now.is_empty());
    assert_eq!(now.wake_at, Some(soon(10)));
    assert_eq!(plan(&held.0, soon(10)).0.disruptions.len(), 1);
}

#[test]
fn a_node_that_goes_for_another_reason_is_looked_at_at_the_last_call() {
    let cluster = half_empty_in(thrifty(), "ab", 500);
    let deciding = cluster.going_on().claim_but("a", |claim| claim.ends_at = Some(soon(200)));
    let waiting = deciding.node_but("a", |node| node.taints.clear());
    assert_eq!((waiting.removed(), waiting.plan().0.wake_at), (Vec::<String>::new(), Some(soon(140))));
    assert_eq!(plan(&waiting.0, soon(140)).0.removals.len(), 1);
}

#[test]
fn the_last_call_comes_even_if_the_pool_would_begin_later() {
    let late = Pool { rotate_before: Duration::from_secs(1), ..forever() };
    let cluster = old(late, "a")
        .claim_but("a", |claim| (claim.created_at, claim.ends_at) = (soon(-10), Some(soon(100))));
    assert_eq!(goes_at(&cluster, "a"), NOW + 40);
}

#[test]
fn a_machine_that_ends_is_not_held_back_by_budgets_because_its_time_is_over_as_well() {
    let none = DisruptionBudget { nodes: Share::Count(0), reasons: [].into(), window: None };
    let cluster = old(Pool { budgets: vec![none], ..living(900) }, "a")
        .claim_but("a", |claim| claim.ends_at = Some(soon(50)));
    assert_eq!(cluster.rotated(DisruptionReason::Expiring), ["a"]);
}

#[test]
fn a_claim_that_is_gone_already_is_not_waited_for() {
    let cluster = old(forever(), "a")
        .claim_but("a", |claim| (claim.ends_at, claim.deleting) = (Some(soon(100_000)), true));
    assert_eq!(cluster.plan().0.wake_at, None);
}
