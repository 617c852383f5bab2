//! Why claims go: said in a condition, told in an event, and counted once.

use std::time::Duration;

use windlass_core::model::{DisruptionReason, Node, Readiness};
use windlass_providers::Termination;

use super::{Life, START, cordoned, no_capacity, node};
use crate::index::Registrant;
use crate::lifecycle::{Answer, Count, DrainProgress, Effect, Step};

/// What a claim tells and counts from now until it is let go of, in a life in which all goes well.
fn until_it_is_gone(mut life: Life) -> (Life, Vec<&'static str>, Vec<Count>) {
    let (mut told, mut counted) = (Vec::new(), Vec::new());
    let mut next = life.step();
    for _ in 0..20 {
        told.extend(next.notes.iter().map(|note| note.reason));
        counted.extend(next.counts.clone());
        next = match next.effect {
            Some(Effect::DeleteClaim) => {
                life = life.deleting();
                life.step()
            }
            Some(Effect::CordonNode) => life.node(cordoned()),
            Some(Effect::Drain { .. }) => life.answer(Answer::Drained(DrainProgress::default())),
            Some(Effect::ListVolumes) => life.answer(Answer::Volumes(Vec::new())),
            Some(Effect::DeleteNode) => {
                life.seen.registrant = Registrant::Nobody;
                life.step()
            }
            Some(Effect::Terminate(_)) => {
                life.proven_absent();
                life.answer(Answer::Terminated(Ok(Termination::Gone)))
            }
            Some(Effect::Find) => {
                life.proven_absent();
                life.answer(Answer::Found(Ok(None)))
            }
            Some(Effect::ReleaseClaim) => return (life, told, counted),
            other => panic!("{other:?}"),
        };
    }
    panic!("the claim is still there: {:?}", life.status());
}

fn gone(reason: &str) -> Count {
    Count::Gone(reason.to_owned())
}

fn decided(reason: &str) -> Life {
    let mut life = Life::initialized();
    let annotations = life.claim.metadata.annotations.get_or_insert_default();
    annotations.insert("windlass.dev/disruption".to_owned(), reason.to_owned());
    annotations.insert("windlass.dev/disrupted-at".to_owned(), START.to_string());
    life
}

#[test]
fn every_reason_of_the_planner_is_in_the_claims_condition_and_is_counted_once() {
    for reason in DisruptionReason::ALL.map(DisruptionReason::as_str) {
        let (life, told, counted) = until_it_is_gone(decided(&format!("{reason}: because")).deleting());
        assert_eq!(life.condition("Disrupted"), ("True", reason));
        assert_eq!(life.message("Disrupted"), "because");
        assert_eq!(counted, [gone(reason)]);
        assert_eq!(told, ["Drained", "Terminated"], "who decided it has told it");
    }
}

#[test]
fn a_claim_that_somebody_deletes_says_so() {
    let (life, told, counted) = until_it_is_gone(Life::initialized().deleting());
    assert_eq!(life.condition("Disrupted"), ("True", "Manual"));
    assert_eq!(life.message("Disrupted"), "the claim was deleted");
    assert_eq!((told, counted), (vec!["Manual", "Drained", "Terminated"], vec![gone("Manual")]));
}

#[test]
fn a_claim_whose_node_somebody_deletes_says_so() {
    let mut life = Life::initialized();
    life.seen.registrant = Registrant::Node(Node { deleting: true, ..node() }.into());
    let (life, told, counted) = until_it_is_gone(life);
    assert_eq!(life.message("Disrupted"), "the node was deleted");
    assert_eq!(
        (told, counted),
        (vec!["NodeDeleted", "Manual", "Drained", "Terminated"], vec![gone("Manual")])
    );
}

#[test]
fn a_claim_whose_node_somebody_deletes_past_our_finalizer_says_so() {
    let mut life = Life::initialized();
    life.seen.registrant = Registrant::Nobody;
    let (life, told, counted) = until_it_is_gone(life);
    assert_eq!(life.message("Disrupted"), "the node was deleted");
    assert_eq!((told, counted), (vec!["NodeGone", "Manual", "Terminated"], vec![gone("Manual")]));
}

#[test]
fn a_claim_that_loses_its_machine_says_so() {
    let mut life = decided("Underutilized: because");
    life.seen.registrant =
        Registrant::Node(Node { readiness: Readiness::NotReady { since: START }, ..cordoned() }.into());
    life.proven_absent();
    let (life, told, counted) = until_it_is_gone(life);
    assert_eq!(life.condition("Disrupted"), ("True", "Lost"), "whatever was decided about it");
    assert_eq!((told, counted), (vec!["MachineLost"], vec![gone("Lost")]));
}

#[test]
fn a_claim_that_gets_no_machine_says_so() {
    let mut life = Life::begin();
    life.step();
    life.answer(no_capacity());
    life.answer(no_capacity());
    let (life, told, counted) = until_it_is_gone(life);
    assert_eq!(life.condition("Disrupted"), ("True", "NeverLaunched"));
    assert_eq!(life.message("Disrupted"), life.message("Launched"));
    assert_eq!((told.len(), counted), (0, vec![gone("NeverLaunched")]), "it was told when it was given up");
}

#[test]
fn a_claim_whose_machine_does_not_join_says_so() {
    let mut life = Life::launched();
    life.now += jiff::SignedDuration::from_mins(15);
    let (life, told, counted) = until_it_is_gone(life);
    assert_eq!(life.condition("Disrupted"), ("True", "NeverRegistered"));
    assert_eq!((told, counted), (vec!["RegistrationTimeout", "Terminated"], vec![gone("NeverRegistered")]));
}

#[test]
fn what_others_write_for_a_reason_is_taken_for_words() {
    let (life, _, counted) = until_it_is_gone(decided("I want: no such node").deleting());
    assert_eq!(life.condition("Disrupted"), ("True", "Manual"));
    assert_eq!(life.message("Disrupted"), "I want: no such node");
    assert_eq!(counted, [gone("Manual")]);
}

#[test]
fn a_claim_that_is_gone_is_not_counted_again_after_a_restart() {
    let (mut life, ..) = until_it_is_gone(Life::initialized().deleting());
    life.seen.absence = super::Absence::default();
    let next = life.step();
    assert_eq!((next.effect, next.counts), (Some(Effect::ReleaseClaim), Vec::new()));
}

#[test]
fn that_a_node_is_sick_is_counted_once_and_taken_back_if_it_recovers() {
    let mut life = Life::initialized();
    let ill = |life: &mut Life| -> Step {
        life.node(Node { readiness: Readiness::NotReady { since: START }, ..node() });
        life.later(Duration::from_secs(700))
    };
    assert_eq!(ill(&mut life).counts, [Count::Decided(DisruptionReason::Sick)]);
    assert_eq!(life.later(Duration::from_secs(60)).counts, [], "nor by the next process");
    assert_eq!(life.node(node()).counts, [Count::TakenBack]);
    assert_eq!(life.later(Duration::from_secs(60)).counts, []);
}
