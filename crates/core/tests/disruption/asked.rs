//! Nodes that somebody wants replaced.

use windlass_core::model::{DisruptionBudget, DisruptionReason, Pool, Share};

use crate::cluster::Cluster;
use crate::nodes::{always, half_empty_in, large, small};
use crate::shapes::pool;

fn plain() -> Pool {
    pool("general", vec![small(), large()])
}

fn asked(pool: Pool) -> Cluster {
    half_empty_in(pool, "ab", 1500).claim_but("a", |claim| claim.asked_to_go = true)
}

#[test]
fn a_claim_that_somebody_wants_replaced_is() {
    let cluster = asked(plain());
    assert_eq!(
        (cluster.rotated(DisruptionReason::Manual), cluster.machines()),
        (vec!["a".to_owned()], vec!["small".to_owned()])
    );
    assert_eq!(cluster.why("a"), "manual: somebody asked for another in its place");
}

#[test]
fn the_same_can_be_asked_of_a_node() {
    let cluster = half_empty_in(plain(), "ab", 1500).node_but("b", |node| node.asked_to_go = true);
    assert_eq!(cluster.rotated(DisruptionReason::Manual), ["b"]);
}

#[test]
fn who_asks_for_a_replacement_is_not_held_back_by_budgets() {
    let none = DisruptionBudget { nodes: Share::Count(0), reasons: [].into(), window: None };
    assert_eq!(asked(Pool { budgets: vec![none], ..plain() }).rotated(DisruptionReason::Manual), ["a"]);
}

#[test]
fn pods_that_must_not_be_disturbed_keep_a_node_that_somebody_wants_replaced() {
    let cluster = asked(plain()).pod_but("web-a-1", |pod| pod.stays_until = Some(always()));
    assert!(cluster.plan().0.is_empty());
    assert!(cluster.why("a").starts_with("manual: somebody asked"), "{}", cluster.why("a"));
}
