//! A machine that is told how to join, and a node that is known by its name.

use std::time::Duration;

use windlass_api::JoinMethod;
use windlass_providers::{Machine, Termination};

use super::{Life, machine, node};
use crate::index::Registrant;
use crate::lifecycle::{Answer, Effect};

/// A claim of a pool that says `join: UserData`.
fn begin() -> Life {
    let mut life = Life::begin();
    life.claim.spec.join = JoinMethod::UserData;
    life
}

fn launched() -> Life {
    let mut life = begin();
    life.step();
    life.answer(Answer::Launched(Ok(machine("u"))));
    life
}

fn says_token(life: &Life) -> bool {
    life.status().launch.as_ref().unwrap().bootstrap_token
}

#[test]
fn that_there_may_be_a_token_is_written_down_before_it_is_made() {
    let mut life = begin();
    assert_eq!(life.step().effect, Some(Effect::Launch(0)));
    assert!(says_token(&life));
    let mut other = Life::begin();
    other.step();
    assert!(!says_token(&other), "its image joins by itself");
}

#[test]
fn a_machine_that_cannot_be_told_how_to_join_is_not_blamed_on_its_offering_and_tried_again() {
    let mut life = begin();
    life.step();
    life.seen.errors = 3;
    let next = life.answer(Answer::Unprepared("pool p is gone".into()));
    assert_eq!((next.effect, next.again_after), (None, Some(Duration::from_secs(4))));
    assert_eq!((life.condition("Launched"), next.failed_offering), (("Unknown", "CannotJoin"), None));
    assert_eq!(life.message("Ready"), "pool p is gone");
    assert_eq!(life.later(Duration::from_secs(4)).effect, Some(Effect::Launch(0)));
}

#[test]
fn the_token_is_deleted_once_the_node_is_registered_and_not_before_that_is_written_down() {
    let mut life = launched();
    assert_ne!(life.later(Duration::from_secs(1)).effect, Some(Effect::RevokeToken), "the machine boots");
    let next = life.node(node());
    assert_eq!((next.effect, life.condition("Registered").0), (Some(Effect::RevokeToken), "True"));
    assert!(says_token(&life), "it is still there");
    assert_eq!(life.step().effect, Some(Effect::RevokeToken), "whoever died doing it does it again");
    assert_eq!(life.answer(Answer::TokenRevoked).effect, None);
    assert!(!says_token(&life));
    assert_eq!(life.step().effect, None, "nothing is asked of the API server any more");
}

#[test]
fn a_token_that_cannot_be_deleted_now_keeps_the_node_from_nothing() {
    let mut life = launched();
    life.node(node());
    life.seen.errors = 1;
    let next = life.answer(Answer::Failed("the API server does not answer".into()));
    assert_eq!((next.effect, next.again_after), (None, Some(Duration::from_secs(1))));
    assert_eq!(life.condition("Ready"), ("True", "Ready"));
    life.seen.registrant = Registrant::Nobody;
    assert_eq!(life.step().effect, Some(Effect::DeleteClaim), "what matters more comes first");
}

#[test]
fn a_claim_is_let_go_only_after_its_token_is_deleted() {
    let mut life = launched().deleting();
    assert_eq!(life.step().effect, Some(Effect::Terminate(super::ID.into())));
    life.proven_absent();
    assert_eq!(life.answer(Answer::Terminated(Ok(Termination::Gone))).effect, Some(Effect::RevokeToken));
    assert_eq!(life.step().effect, Some(Effect::RevokeToken), "whoever died doing it does it again");
    assert_eq!(life.answer(Answer::TokenRevoked).effect, Some(Effect::ReleaseClaim));
    assert!(!says_token(&life));
}

#[test]
fn what_the_node_will_be_called_is_written_down_with_the_machine() {
    let mut life = Life::begin();
    life.step();
    let named = Machine { node_name: Some("rack-1".into()), ..machine("u") };
    life.answer(Answer::Launched(Ok(named)));
    assert_eq!(life.status().expected_node_name.as_deref(), Some("rack-1"));
    assert_eq!(Life::launched().status().expected_node_name, None);
}

#[test]
fn a_stranger_of_the_expected_name_is_spoken_of_and_waited_out() {
    let mut life = Life::launched();
    life.seen.registrant = Registrant::Stranger("node rack-1 was there before; it is left alone".into());
    let next = life.step();
    assert_eq!((next.effect, life.condition("Registered")), (None, ("Unknown", "ForeignNode")));
    assert!(life.message("Ready").contains("rack-1"));
    assert_eq!(life.later(Duration::from_secs(900)).effect, Some(Effect::DeleteClaim));
    assert_eq!(life.condition("Registered"), ("False", "RegistrationTimeout"));
    assert_eq!(life.step().effect, Some(Effect::DeleteClaim), "given up for good");
}

#[test]
fn a_stranger_of_the_expected_name_is_not_drained_when_the_claim_leaves() {
    let mut life = Life::launched().deleting();
    life.seen.registrant = Registrant::Stranger("node rack-1 was there before; it is left alone".into());
    assert_eq!(life.step().effect, Some(Effect::Terminate(super::ID.into())));
}
