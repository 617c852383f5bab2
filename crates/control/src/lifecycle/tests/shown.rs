//! Claims that came to nothing where Cluster Autoscaler decides about the pool.

use std::time::Duration;

use windlass_core::model::Driver;
use windlass_providers::ProviderError;

use super::{ID, Life, machine, no_capacity, node};
use crate::lifecycle::{Answer, Effect};

const SHOWN: Duration = Duration::from_mins(5);

fn driven() -> Life {
    let mut life = Life::begin();
    life.seen.driver = Driver::ClusterAutoscaler;
    life.claim.spec.offerings.truncate(1);
    life.step();
    life
}

#[test]
fn a_launch_that_failed_for_good_is_shown_for_a_while_and_not_tried_again() {
    for (answer, reason) in [
        (no_capacity(), "InsufficientCapacity"),
        (Answer::Launched(Err(ProviderError::Quota { message: "full".into() })), "Quota"),
    ] {
        let mut life = driven();
        let next = life.answer(answer);
        assert_eq!((next.effect, next.again_after), (None, Some(SHOWN)));
        assert!(next.failed_offering.is_some() && next.notes.len() == 1);
        assert_eq!(life.condition("Launched"), ("False", reason));
        let next = life.later(Duration::from_mins(2));
        assert_eq!((next.effect, next.again_after), (None, Some(Duration::from_mins(3))));
        assert!(next.failed_offering.is_none() && next.notes.is_empty(), "that was said already");
        assert_eq!(life.later(Duration::from_mins(3)).effect, Some(Effect::DeleteClaim));
    }
}

#[test]
fn a_launch_without_an_end_is_shown_once_its_deadline_is_over() {
    let mut life = driven();
    let next = life.later(Duration::from_secs(300));
    assert_eq!((next.effect, next.again_after), (None, Some(SHOWN)));
    assert_eq!(life.condition("Launched"), ("False", "LaunchTimeout"));
}

#[test]
fn a_machine_that_does_not_join_is_shown_and_may_still_join() {
    let mut life = driven();
    life.answer(Answer::Launched(Ok(machine("u"))));
    let next = life.later(Duration::from_mins(15));
    assert_eq!((next.effect, next.again_after), (None, Some(SHOWN)));
    assert_eq!(life.condition("Registered"), ("False", "RegistrationTimeout"));
    let next = life.later(Duration::from_mins(1));
    assert_eq!((next.effect, next.notes.len()), (None, 0));
    let mut late = Life { claim: life.claim.clone(), seen: life.seen.clone(), now: life.now };
    assert_eq!(life.later(Duration::from_mins(4)).effect, Some(Effect::DeleteClaim));
    late.node(node());
    assert_eq!(late.condition("Registered"), ("True", "Registered"));
    assert_eq!(late.status().provider_id.as_deref(), Some(ID));
}

#[test]
fn what_was_given_up_goes_at_once_when_windlass_decides_again() {
    let mut life = driven();
    life.answer(no_capacity());
    life.seen.driver = Driver::Windlass;
    assert_eq!(life.step().effect, Some(Effect::DeleteClaim));
}

#[test]
fn a_claim_that_cluster_autoscaler_gives_back_says_so() {
    let mut life = Life::initialized();
    let why = "ClusterAutoscaler: it asked for it".to_owned();
    life.claim.metadata.annotations = Some([("windlass.dev/disruption".to_owned(), why)].into());
    let mut life = life.deleting();
    life.step();
    assert_eq!(life.condition("Disrupted"), ("True", "ClusterAutoscaler"));
    assert_eq!(life.message("Disrupted"), "it asked for it");
}
