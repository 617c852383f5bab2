//! A node that is there.

use std::sync::Arc;
use std::time::Duration;

use jiff::ToSpan;
use windlass_core::model::{Node, Readiness};

use super::{ID, Life, START, cordoned, node};
use crate::index::Registrant;
use crate::lifecycle::node::{cordoned_taints, is_cordoned, uncordoned_taints, was_cordoned};
use crate::lifecycle::{Absence, Effect};

/// Writes on a claim that it is to go.
fn decide(life: &mut Life) {
    let annotations = life.claim.metadata.annotations.get_or_insert_default();
    annotations.insert("windlass.dev/disruption".to_owned(), "Empty: empty for 30 s".to_owned());
    annotations.insert("windlass.dev/disrupted-at".to_owned(), START.to_string());
}

#[test]
fn the_node_of_a_claim_that_is_to_go_is_closed_and_opened_again_if_it_stays() {
    let mut life = Life::initialized();
    decide(&mut life);
    assert_eq!(life.step().effect, Some(Effect::CordonNode));
    assert_eq!(life.condition("Disrupted"), ("True", "Empty"));
    assert_eq!(life.node(cordoned()).effect, None, "the planner says when it goes");
    life.claim.metadata.annotations = None;
    assert_eq!(life.step().effect, Some(Effect::UncordonNode));
    assert_eq!(life.node(node()).effect, None);
    assert_eq!(life.condition("Disrupted"), ("False", "Stays"));
}

#[test]
fn a_node_that_somebody_had_cordoned_stays_cordoned() {
    let mut by_hand = node();
    by_hand.unschedulable = true;
    by_hand.taints = cordoned_taints(&by_hand);
    assert!(was_cordoned(&by_hand) && is_cordoned(&by_hand));
    let mut ours = node();
    ours.taints = cordoned_taints(&ours);
    assert!(!was_cordoned(&ours));
    assert_eq!(uncordoned_taints(&ours), node().taints);
}

#[test]
fn a_healthy_node_needs_nothing() {
    let mut life = Life::initialized();
    let before = life.status().clone();
    let next = life.later(Duration::from_secs(3600));
    assert_eq!((next.effect, next.status), (None, before));
}

#[test]
fn a_node_that_stays_not_ready_is_marked_sick_and_recovers_if_it_comes_back() {
    let mut life = Life::initialized();
    let ill = Node { readiness: Readiness::NotReady { since: START }, ..node() };
    life.now = START + 60.seconds();
    assert_eq!(life.node(ill).again_after, Some(Duration::from_secs(540)));
    assert_eq!(life.condition("Ready"), ("False", "NodeNotReady"));
    life.later(Duration::from_secs(540));
    assert_eq!(life.condition("Disrupted"), ("True", "Sick"));
    life.node(node());
    assert_eq!((life.condition("Disrupted").0, life.condition("Ready").0), ("False", "True"));
}

#[test]
fn a_node_that_goes_on_and_off_is_not_reported_each_time() {
    let mut life = Life::initialized();
    life.now = START + 60.seconds();
    let off = |life: &Life| Node { readiness: Readiness::NotReady { since: life.now }, ..node() };
    life.node(off(&life));
    assert_eq!(life.condition("Ready").0, "False");
    life.now += 1.second();
    let next = life.node(node());
    assert_eq!((life.condition("Ready").0, next.again_after), ("False", Some(Duration::from_secs(2))));
    life.later(Duration::from_secs(2));
    assert_eq!(life.condition("Ready").0, "True");
    life.node(off(&life));
    assert_eq!(life.condition("Ready").0, "True");
}

#[test]
fn a_machine_that_is_provably_gone_takes_its_claim_along() {
    let mut life = Life::initialized();
    life.seen.registrant =
        Registrant::Node(Arc::new(Node { readiness: Readiness::NotReady { since: START }, ..node() }));
    life.proven_absent();
    assert_eq!(life.step().effect, Some(Effect::DeleteClaim));
    assert_eq!(life.condition("Terminated"), ("True", "MachineLost"));
}

#[test]
fn a_machine_said_to_be_gone_is_kept_while_its_node_is_ready() {
    let mut life = Life::initialized();
    life.proven_absent();
    assert_eq!(life.step().effect, None);
}

#[test]
fn a_single_empty_answer_leads_to_a_second_question_and_not_to_a_removal() {
    let mut life = Life::launched();
    life.seen.absence = Absence::default().said_again(life.now, Duration::from_secs(5));
    assert_eq!(life.step().effect, None, "too soon to ask again");
    assert_eq!(life.later(Duration::from_secs(5)).effect, Some(Effect::Get(ID.into())));
}

#[test]
fn a_node_deleted_by_hand_returns_its_machine() {
    let mut life = Life::initialized();
    assert_eq!(life.node(Node { deleting: true, ..node() }).effect, Some(Effect::DeleteClaim));
    life.seen.registrant = Registrant::Nobody;
    assert_eq!(life.step().effect, Some(Effect::DeleteClaim), "even when it was stripped of our finalizer");
}

#[test]
fn a_node_that_is_to_go_is_closed_even_while_it_is_not_ready() {
    let mut life = Life::initialized();
    decide(&mut life);
    let silent = Node { readiness: Readiness::NotReady { since: START }, ..node() };
    assert_eq!(life.node(silent).effect, Some(Effect::CordonNode));
}

#[test]
fn a_node_that_is_to_go_and_was_opened_by_somebody_is_closed_again() {
    let mut life = Life::initialized();
    decide(&mut life);
    life.node(cordoned());
    assert_eq!(life.node(Node { unschedulable: false, ..cordoned() }).effect, Some(Effect::CordonNode));
}

#[test]
fn a_decision_about_a_node_that_does_not_take_pods_yet_waits() {
    let mut life = Life::launched();
    decide(&mut life);
    let silent = Node { readiness: Readiness::NotReady { since: START }, ..node() };
    assert_eq!(life.node(silent).effect, None);
    assert_eq!(life.node(node()).effect, None, "it becomes ready first");
    assert_eq!(life.step().effect, Some(Effect::CordonNode));
}

#[test]
fn a_node_that_is_to_go_and_falls_ill_is_sick_and_opened_again_if_it_is_to_stay() {
    let mut life = Life::initialized();
    decide(&mut life);
    let silent = |node: Node| Node { readiness: Readiness::NotReady { since: START }, ..node };
    life.node(silent(cordoned()));
    life.later(Duration::from_secs(700));
    assert_eq!(life.condition("Disrupted"), ("True", "Sick"), "which is not to wait for anything else");
    life.claim.metadata.annotations = None;
    assert_eq!(life.step().effect, Some(Effect::UncordonNode));
    life.node(silent(node()));
    assert_eq!(life.condition("Disrupted"), ("True", "Sick"));
}

#[test]
fn a_machine_lost_before_its_node_came_takes_its_claim_along() {
    let mut life = Life::launched();
    life.proven_absent();
    assert_eq!(life.step().effect, Some(Effect::DeleteClaim));
    assert_eq!(life.condition("Terminated"), ("True", "MachineLost"));
}

#[test]
fn taints_of_others_survive_that_a_node_is_closed_and_opened() {
    let closed = Node { taints: cordoned_taints(&node()), ..node() };
    assert_eq!(closed.taints.len(), node().taints.len() + 1);
    assert_eq!(cordoned_taints(&closed), closed.taints, "once is enough");
    assert_eq!(uncordoned_taints(&closed), node().taints);
}
