//! Drained, given back, let go.

use std::time::Duration;

use jiff::ToSpan;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;
use windlass_core::model::{Node, Readiness};
use windlass_providers::{ProviderError, Termination};

use super::{ID, Life, START, cordoned, machine};
use crate::index::Registrant;
use crate::lifecycle::{Absence, Answer, Blocked, DrainProgress, Effect};

#[test]
fn a_machine_lost_during_a_drain_is_asked_about_and_no_longer_drained() {
    let mut life = Life::initialized().deleting();
    let silent = Node { readiness: Readiness::NotReady { since: START }, ..cordoned() };
    assert_eq!(life.node(silent).effect, Some(Effect::Drain { deadline: None }));
    life.seen.absence = Absence::default().said_again(life.now, Duration::from_secs(5));
    assert_eq!(life.step().effect, Some(Effect::Drain { deadline: None }), "too soon to ask again");
    assert_eq!(life.later(Duration::from_secs(5)).effect, Some(Effect::Get(ID.into())));
    life.proven_absent();
    assert_eq!(life.step().effect, Some(Effect::DeleteNode));
    assert_eq!(life.condition("Terminated"), ("True", "MachineLost"));
}

#[test]
fn a_leaving_node_is_cordoned_drained_detached_terminated_deleted_and_let_go_in_this_order() {
    let mut life = Life::initialized().deleting();
    assert_eq!(life.step().effect, Some(Effect::CordonNode));
    assert_eq!(life.node(cordoned()).effect, Some(Effect::Drain { deadline: None }));
    let next = life.answer(Answer::Drained(DrainProgress { remaining: 2, blocked: Vec::new() }));
    assert_eq!((next.effect, life.condition("Drained").0), (None, "Unknown"));
    assert_eq!(life.step().effect, Some(Effect::Drain { deadline: None }));
    assert_eq!(life.answer(Answer::Drained(DrainProgress::default())).effect, Some(Effect::ListVolumes));
    assert_eq!(life.answer(Answer::Volumes(vec!["pv".into()])).effect, None);
    life.step();
    assert_eq!(life.answer(Answer::Volumes(Vec::new())).effect, Some(Effect::Terminate(ID.into())));
    assert_eq!(life.answer(Answer::Terminated(Ok(Termination::UnderWay))).effect, None);
    life.proven_absent();
    assert_eq!(life.step().effect, Some(Effect::DeleteNode));
    assert_eq!(life.condition("Terminated").0, "True");
    life.seen.registrant = Registrant::Nobody;
    assert_eq!(life.step().effect, Some(Effect::ReleaseClaim));
}

#[test]
fn a_blocked_drain_says_which_pod_and_why() {
    let mut life = Life::initialized().deleting();
    life.node(cordoned());
    let blocked = vec![Blocked { pod: "default/db-0".into(), why: "the budget db allows none".into() }];
    let next = life.answer(Answer::Drained(DrainProgress { remaining: 1, blocked }));
    let note = next.notes.iter().find(|note| note.reason == "DrainBlocked").unwrap();
    assert!(note.message.contains("default/db-0") && note.message.contains("budget db"), "{}", note.message);
}

#[test]
fn a_machine_is_not_gone_on_the_word_of_a_single_answer() {
    let mut life = Life::launched().deleting();
    assert_eq!(life.step().effect, Some(Effect::Terminate(ID.into())));
    life.seen.absence = Absence::default().said_again(life.now, Duration::from_secs(5));
    let next = life.answer(Answer::Terminated(Err(ProviderError::NotFound { provider_id: ID.into() })));
    assert_eq!((next.effect, next.again_after), (None, Some(Duration::from_secs(5))));
    assert_eq!(life.condition("Terminated"), ("Unknown", "SaidToBeGone"));
    for condition in ["Terminated", "Ready"] {
        let message = life.message(condition);
        assert!(message.starts_with("waiting for a second answer") && message.ends_with(ID), "{message}");
    }
    assert_eq!(life.later(Duration::from_secs(5)).effect, Some(Effect::Terminate(ID.into())));
}

#[test]
fn a_machine_that_is_there_after_all_is_no_longer_said_to_be_gone() {
    let mut life = Life::launched().deleting();
    life.seen.absence = Absence::default().said_again(life.now, Duration::from_secs(5));
    life.answer(Answer::Terminated(Ok(Termination::Gone)));
    life.seen.absence = Absence::default();
    life.answer(Answer::Terminated(Ok(Termination::UnderWay)));
    assert_eq!(life.condition("Terminated"), ("Unknown", "Terminating"));
    assert_eq!(life.message("Ready"), format!("{ID} is being given back"));
}

#[test]
fn a_machine_that_has_lost_our_mark_is_left_alone_and_its_claim_let_go() {
    let mut life = Life::launched().deleting();
    let not_ours =
        || Err(ProviderError::NotOurs { provider_id: ID.into(), message: "it bears no tag".to_owned() });
    life.seen.absence = Absence::default().said_again(life.now, Duration::from_secs(5));
    let next = life.answer(Answer::Terminated(not_ours()));
    assert_eq!((next.effect, next.again_after), (None, Some(Duration::from_secs(5))));
    assert_eq!(life.condition("Terminated"), ("Unknown", "NotOurs"));
    life.proven_absent();
    assert_eq!(life.answer(Answer::Terminated(not_ours())).effect, Some(Effect::ReleaseClaim));
    assert_eq!(life.condition("Terminated"), ("True", "NotOurs"));
}

#[test]
fn what_the_provider_last_answered_stays_said_while_it_is_asked_again() {
    let mut life = Life::launched().deleting();
    life.step();
    life.answer(Answer::Terminated(Err(ProviderError::transient("connection refused"))));
    let said = life.message("Ready").to_owned();
    assert_eq!(life.later(Duration::from_secs(60)).effect, Some(Effect::Terminate(ID.into())));
    assert_eq!(life.message("Ready"), said);
}

#[test]
fn a_provider_that_does_not_answer_keeps_the_claim_and_is_named() {
    let mut life = Life::launched().deleting();
    life.step();
    let next = life.answer(Answer::Terminated(Err(ProviderError::transient("connection refused"))));
    assert_eq!(next.effect, None);
    let (status, reason) = life.condition("Terminated");
    assert_eq!((status, reason), ("Unknown", "Transient"));
}

#[test]
fn a_claim_that_never_asked_for_a_machine_is_let_go_at_once() {
    assert_eq!(Life::begin().deleting().step().effect, Some(Effect::ReleaseClaim));
}

#[test]
fn a_claim_that_has_just_been_made_keeps_its_name_until_nothing_can_make_it_anew() {
    let mut life = Life::begin().deleting();
    life.claim.metadata.creation_timestamp = Some(Time(life.now));
    let next = life.later(Duration::from_secs(20));
    assert_eq!((next.effect, next.again_after), (None, Some(Duration::from_secs(40))));
    assert_eq!(life.condition("Terminated"), ("True", "NeverLaunched"));
    assert_eq!(life.later(Duration::from_secs(40)).effect, Some(Effect::ReleaseClaim));
}

#[test]
fn a_claim_counts_until_a_launch_that_went_unanswered_can_have_no_effect_any_more() {
    let mut life = Life::begin();
    life.step();
    let mut life = life.deleting();
    life.proven_absent();
    let next = life.answer(Answer::Found(Ok(None)));
    assert_eq!((next.effect, next.again_after), (None, Some(Duration::from_secs(60))));
    assert_eq!(life.condition("Terminated").0, "", "it may yet have a machine");
    assert_eq!(life.later(Duration::from_secs(60)).effect, Some(Effect::Find), "it may have shown up");
    life.seen.absence = Absence::default();
    let next = life.answer(Answer::Found(Ok(Some(machine("u")))));
    assert_eq!(next.effect, Some(Effect::Terminate(ID.into())));
}

#[test]
fn a_claim_that_asked_and_got_no_answer_looks_for_its_machine_before_it_is_let_go() {
    let mut life = Life::begin();
    life.step();
    let mut life = life.deleting();
    assert_eq!(life.step().effect, Some(Effect::Find));
    let next = life.answer(Answer::Found(Ok(Some(machine("u")))));
    assert_eq!(
        (next.effect, life.status().provider_id.as_deref()),
        (Some(Effect::Terminate(ID.into())), Some(ID))
    );
}

#[test]
fn a_claim_whose_machine_is_not_found_twice_is_let_go() {
    let mut life = Life::begin();
    life.step();
    let mut life = life.deleting();
    life.seen.absence = Absence::default().said_again(life.now, Duration::from_secs(5));
    assert_eq!(life.answer(Answer::Found(Ok(None))).effect, None);
    life.proven_absent();
    assert_eq!(life.later(Duration::from_secs(60)).effect, Some(Effect::Find));
    assert_eq!(life.answer(Answer::Found(Ok(None))).effect, Some(Effect::ReleaseClaim));
}

/// A claim of a pool that limits the time that a drain may take, deleted at the start.
fn limited(period: &str) -> Life {
    let mut life = Life::initialized();
    life.claim.spec.termination_grace_period = Some(period.parse().unwrap());
    let mut life = life.deleting();
    life.node(cordoned());
    life
}

#[test]
fn the_time_limit_of_a_drain_counts_from_when_the_claim_was_deleted() {
    let mut life = limited("10m");
    let deadline = Some(START + 10.minutes());
    assert_eq!(life.step().effect, Some(Effect::Drain { deadline }));
    assert_eq!(
        life.later(Duration::from_secs(300)).effect,
        Some(Effect::Drain { deadline }),
        "still the same"
    );
}

#[test]
fn a_time_limit_of_never_is_none() {
    assert_eq!(limited("Never").step().effect, Some(Effect::Drain { deadline: None }));
}

#[test]
fn volumes_are_waited_for_and_named_until_the_time_limit() {
    let mut life = limited("10m");
    life.answer(Answer::Drained(DrainProgress::default()));
    let next = life.answer(Answer::Volumes(vec!["pv-1".into(), "pv-2".into()]));
    assert_eq!((next.effect, life.condition("VolumesDetached")), (None, ("Unknown", "Detaching")));
    assert!(life.message("Ready").ends_with("to be detached: pv-1, pv-2"), "{}", life.message("Ready"));
    life.later(Duration::from_secs(600));
    let next = life.answer(Answer::Volumes(vec!["pv-1".into()]));
    assert_eq!(next.effect, Some(Effect::Terminate(ID.into())));
}

#[test]
fn without_a_time_limit_volumes_are_waited_for_for_ever() {
    let mut life = limited("Never");
    life.answer(Answer::Drained(DrainProgress::default()));
    life.later(Duration::from_secs(100_000));
    assert_eq!(life.answer(Answer::Volumes(vec!["pv".into()])).effect, None);
}

#[test]
fn a_claim_whose_node_never_came_gives_its_machine_back_at_once() {
    assert_eq!(Life::launched().deleting().step().effect, Some(Effect::Terminate(ID.into())));
}

#[test]
fn a_node_marked_as_another_claims_is_not_drained() {
    let mut life = Life::launched().deleting();
    let next = life.node(Node { claim_uid: Some("other".into()), ..cordoned() });
    assert_eq!(next.effect, Some(Effect::Terminate(ID.into())));
    life.proven_absent();
    assert_eq!(life.step().effect, Some(Effect::ReleaseClaim), "nor is it deleted");
}

#[test]
fn of_several_nodes_that_name_the_machine_none_is_drained_or_deleted() {
    let mut life = Life::launched().deleting();
    life.seen.registrant = Registrant::Several(vec!["n".into(), "impostor".into()]);
    assert_eq!(life.step().effect, Some(Effect::Terminate(ID.into())));
    life.proven_absent();
    assert_eq!(life.step().effect, Some(Effect::ReleaseClaim));
}

#[test]
fn a_node_deleted_during_its_drain_leaves_only_the_machine_to_give_back() {
    let mut life = Life::initialized().deleting();
    assert_eq!(life.node(cordoned()).effect, Some(Effect::Drain { deadline: None }));
    life.seen.registrant = Registrant::Nobody;
    assert_eq!(life.step().effect, Some(Effect::Terminate(ID.into())));
}

#[test]
fn a_node_that_somebody_opens_during_its_drain_is_closed_again() {
    let mut life = Life::initialized().deleting();
    life.node(cordoned());
    let opened = Node { unschedulable: false, ..cordoned() };
    assert_eq!(life.node(opened).effect, Some(Effect::CordonNode));
    assert_eq!(life.node(cordoned()).effect, Some(Effect::Drain { deadline: None }));
}

#[test]
fn a_drain_that_is_done_is_not_done_again() {
    let mut life = Life::initialized().deleting();
    life.node(cordoned());
    life.answer(Answer::Drained(DrainProgress::default()));
    assert_eq!(life.condition("Drained"), ("True", "Drained"));
    assert_eq!(life.later(Duration::from_secs(60)).effect, Some(Effect::ListVolumes), "after a restart, say");
}

#[test]
fn the_claim_says_how_many_pods_are_left() {
    let mut life = Life::initialized().deleting();
    life.node(cordoned());
    let next = life.answer(Answer::Drained(DrainProgress { remaining: 2, blocked: Vec::new() }));
    assert_eq!((life.condition("Ready"), life.message("Ready")), (("False", "Draining"), "2 pods are left"));
    assert_eq!(next.again_after, Some(Duration::from_secs(5)));
    assert!(next.notes.is_empty(), "nothing is in the way");
}

#[test]
fn only_some_of_many_blocked_pods_are_named() {
    let blocked = |number| Blocked { pod: format!("default/db-{number}"), why: "no".into() };
    let progress = DrainProgress { remaining: 5, blocked: (1..=5).map(blocked).collect() };
    let told = progress.to_string();
    assert!(told.starts_with("5 pods are left; default/db-1 cannot be evicted: no; "), "{told}");
    assert!(told.ends_with("default/db-3 cannot be evicted: no; and 2 more"), "{told}");
}

#[test]
fn a_node_stays_until_its_machine_is_gone() {
    let mut life = Life::initialized().deleting();
    life.node(cordoned());
    life.answer(Answer::Drained(DrainProgress::default()));
    life.answer(Answer::Volumes(Vec::new()));
    let next = life.answer(Answer::Terminated(Ok(Termination::UnderWay)));
    assert_eq!((next.effect, next.again_after), (None, Some(Duration::from_secs(5))));
    assert_eq!(life.later(Duration::from_secs(60)).effect, Some(Effect::Terminate(ID.into())), "asked again");
    assert_eq!(life.condition("Terminated"), ("Unknown", "Terminating"));
}

#[test]
fn a_node_that_is_ready_is_drained_even_if_its_machine_is_said_to_be_gone() {
    let mut life = Life::initialized().deleting();
    life.proven_absent();
    assert_eq!(life.node(cordoned()).effect, Some(Effect::Drain { deadline: None }));
    life.answer(Answer::Drained(DrainProgress::default()));
    assert_eq!(life.answer(Answer::Volumes(Vec::new())).effect, Some(Effect::DeleteNode));
}

#[test]
fn a_machine_that_was_lost_before_its_claim_was_deleted_is_let_go_at_once() {
    let mut life = Life::launched();
    life.proven_absent();
    assert_eq!(life.step().effect, Some(Effect::DeleteClaim));
    assert_eq!(life.deleting().step().effect, Some(Effect::ReleaseClaim));
}

#[test]
fn a_machine_that_shows_up_again_is_ended_after_all() {
    let mut life = Life::launched().deleting();
    life.seen.absence = Absence::default().said_again(life.now, Duration::from_secs(5));
    assert_eq!(life.step().effect, None);
    life.seen.absence = Absence::default();
    assert_eq!(life.step().effect, Some(Effect::Terminate(ID.into())));
}

#[test]
fn a_provider_that_cannot_say_whether_there_is_a_machine_keeps_the_claim() {
    let mut life = Life::begin();
    life.step();
    let mut life = life.deleting();
    life.seen.errors = 2;
    let next = life.answer(Answer::Found(Err(ProviderError::transient("connection refused"))));
    assert_eq!((next.effect, next.again_after), (None, Some(Duration::from_secs(2))));
    assert_eq!(life.condition("Terminated"), ("Unknown", "Transient"));
    assert_eq!(life.step().effect, Some(Effect::Find));
}

#[test]
fn a_provider_that_fails_again_and_again_is_asked_more_and_more_rarely() {
    let mut life = Life::launched().deleting();
    let mut waits = Vec::new();
    for errors in [1, 2, 3, 30] {
        life.seen.errors = errors;
        let next = life.answer(Answer::Terminated(Err(ProviderError::transient("no"))));
        waits.push(next.again_after.unwrap());
    }
    assert!(waits.is_sorted() && waits[0] < waits[2], "{waits:?}");
    assert!(waits[3] <= Duration::from_mins(10), "{waits:?}");
}

#[test]
fn a_claim_that_was_refused_a_machine_makes_sure_that_it_has_none_and_makes_room_at_once() {
    let mut life = Life::begin();
    life.step();
    life.answer(super::no_capacity());
    assert_eq!(life.answer(super::no_capacity()).effect, Some(Effect::DeleteClaim));
    let mut life = life.deleting();
    assert_eq!(life.step().effect, Some(Effect::Find), "an answer may have been lost");
    life.proven_absent();
    assert_eq!(life.answer(Answer::Found(Ok(None))).effect, Some(Effect::ReleaseClaim));
    assert_eq!(life.condition("Terminated"), ("True", "NeverLaunched"));
}

#[test]
fn a_claim_that_adopted_nothing_ends_nothing() {
    let mut life = Life::begin();
    life.claim.spec.adopt =
        Some(serde_json::from_value(json!({"providerID": ID, "claimUID": "old"})).unwrap());
    life.step();
    assert_eq!(life.deleting().step().effect, Some(Effect::ReleaseClaim));
}

#[test]
fn the_reason_that_was_given_first_stays() {
    let mut life = Life::initialized();
    life.node(Node { readiness: Readiness::NotReady { since: START }, ..super::node() });
    life.later(Duration::from_secs(700));
    assert_eq!(life.condition("Disrupted"), ("True", "Sick"));
    let mut life = life.deleting();
    life.step();
    assert_eq!(life.condition("Disrupted"), ("True", "Sick"), "and not that it was deleted");
}

#[test]
fn what_the_api_server_refuses_is_tried_again() {
    let mut life = Life::initialized().deleting();
    life.seen.errors = 1;
    let next = life.answer(Answer::Failed("conflict".to_owned()));
    assert_eq!((next.effect, next.again_after), (None, Some(Duration::from_secs(1))));
    assert!(next.notes.iter().any(|note| note.reason == "Retrying"));
    assert_eq!(life.step().effect, Some(Effect::CordonNode));
}

#[test]
fn a_claim_is_let_go_only_after_its_node() {
    let mut life = Life::initialized().deleting();
    let silent = Node { readiness: Readiness::NotReady { since: START }, ..cordoned() };
    life.proven_absent();
    assert_eq!(life.node(silent).effect, Some(Effect::DeleteNode));
    assert_eq!(life.later(Duration::from_secs(60)).effect, Some(Effect::DeleteNode), "it is still there");
    life.seen.registrant = Registrant::Nobody;
    assert_eq!(life.step().effect, Some(Effect::ReleaseClaim));
}

#[test]
fn what_happens_on_the_way_out_is_told_once_each() {
    let mut life = Life::initialized().deleting();
    life.node(cordoned());
    let drained = life.answer(Answer::Drained(DrainProgress::default()));
    assert_eq!(drained.notes.iter().map(|note| note.reason).collect::<Vec<_>>(), ["Drained"]);
    assert!(life.answer(Answer::Volumes(Vec::new())).notes.is_empty());
    life.proven_absent();
    let gone = life.step();
    assert_eq!(gone.notes.iter().map(|note| note.reason).collect::<Vec<_>>(), ["Terminated"]);
    assert!(life.step().notes.is_empty());
}
