//! Getting a machine.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_core::Text;
use windlass_core::model::Effect as TaintEffect;
use windlass_providers::ProviderError;

use super::{ID, Life, START, machine, no_capacity};
use crate::lifecycle::node::first_taints;
use crate::lifecycle::{Answer, Effect};

#[test]
fn a_launch_is_written_down_before_the_provider_is_asked() {
    let mut life = Life::begin();
    let next = life.step();
    assert_eq!(next.effect, Some(Effect::Launch(0)));
    assert_eq!(life.status().launch.as_ref().unwrap().started_at.as_ref().unwrap().0, START);
}

#[test]
fn no_taint_that_a_node_is_launched_with_evicts_pods_unless_its_pool_asks_for_that() {
    let mut life = Life::begin();
    life.claim.spec.startup_taints =
        vec![serde_json::from_value(json!({"key": "cni", "effect": "NoExecute"})).unwrap()];
    let taints = first_taints(&life.claim);
    let evicts = taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute);
    assert_eq!(evicts.map(|taint| &*taint.key).collect::<Vec<_>>(), ["cni"]);
    assert!(taints.iter().any(|taint| &*taint.key == "windlass.dev/unregistered"));
}

#[test]
fn a_claim_made_by_hand_is_held_before_anything_is_launched() {
    let mut life = Life::begin();
    life.claim.metadata.finalizers = None;
    assert_eq!(life.step().effect, Some(Effect::HoldClaim));
}

#[test]
fn a_launch_that_was_under_way_when_the_process_died_is_asked_for_again() {
    let mut life = Life::begin();
    life.step();
    assert_eq!(life.later(Duration::from_secs(60)).effect, Some(Effect::Launch(0)));
    assert_eq!(
        life.status().launch.as_ref().unwrap().started_at.as_ref().unwrap().0,
        START,
        "the deadline counts on"
    );
}

#[test]
fn an_offering_that_cannot_be_had_gives_way_to_the_next() {
    let mut life = Life::begin();
    life.step();
    let next = life.answer(no_capacity());
    assert_eq!(next.effect, Some(Effect::Launch(1)));
    assert_eq!(&*next.failed_offering.unwrap().instance_type, "t1");
    assert_eq!(
        life.status().launch.as_ref().unwrap().offering,
        1,
        "written down, so that a restart goes on from there"
    );
    let next = life.answer(no_capacity());
    assert_eq!(
        (next.effect, life.condition("Launched")),
        (Some(Effect::DeleteClaim), ("False", "InsufficientCapacity"))
    );
    assert_eq!(life.step().effect, Some(Effect::DeleteClaim), "given up for good");
}

#[test]
fn an_error_that_may_pass_is_tried_again_under_the_same_key() {
    let mut life = Life::begin();
    life.step();
    life.seen.errors = 3;
    let next = life.answer(Answer::Launched(Err(ProviderError::transient("timed out"))));
    assert_eq!((next.effect, next.again_after), (None, Some(Duration::from_secs(4))));
    assert_eq!(life.later(Duration::from_secs(4)).effect, Some(Effect::Launch(0)));
}

#[test]
fn a_provider_that_asks_for_patience_gets_it() {
    let mut life = Life::begin();
    life.step();
    let throttled =
        ProviderError::Throttled { message: "slow down".into(), retry_after: Some(Duration::from_secs(42)) };
    assert_eq!(life.answer(Answer::Launched(Err(throttled))).again_after, Some(Duration::from_secs(42)));
}

#[test]
fn a_claim_without_a_machine_after_the_deadline_is_given_up() {
    let mut life = Life::begin();
    life.step();
    assert_eq!(life.later(Duration::from_secs(300)).effect, Some(Effect::DeleteClaim));
    assert_eq!(life.condition("Launched"), ("False", "LaunchTimeout"));
}

#[test]
fn a_machine_that_is_tagged_for_another_claim_is_not_taken() {
    let mut life = Life::begin();
    life.step();
    let next = life.answer(Answer::Launched(Ok(machine("someone else"))));
    assert_eq!((next.effect, life.status().provider_id.clone()), (None, None));
}

#[test]
fn an_adopted_machine_must_carry_the_tag_it_was_found_with() {
    let adopt = |uid: &str| {
        let mut life = Life::begin();
        life.claim.spec.offerings.clear();
        let adoption: Value = json!({"providerID": ID, "claimUID": "old"});
        life.claim.spec.adopt = Some(serde_json::from_value(adoption).unwrap());
        assert_eq!(life.step().effect, Some(Effect::Get(ID.into())));
        let next = life.answer(Answer::Got(Ok(machine(uid))));
        (next.effect, life.status().provider_id.clone().map(Text::from))
    };
    assert_eq!(adopt("old"), (None, Some(ID.into())));
    assert_eq!(adopt("older"), (Some(Effect::DeleteClaim), None));
}
