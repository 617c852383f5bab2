mod histories;

use std::time::Duration;

use jiff::{Timestamp, ToSpan as _};
use windlass_core::Price;
use windlass_core::model::{Labels, OfferingKey, Resources};

use super::{Hold, InstanceState, Ledger, Seen, Settled, Shape, Standing};
use crate::MachineTag;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;
const DOUBT: Duration = Duration::from_secs(30);

fn tag(claim: &str) -> MachineTag {
    MachineTag {
        cluster_id: "cluster".into(),
        claim_uid: claim.into(),
        claim_name: claim.into(),
        pool: "pool".into(),
    }
}

fn shape() -> Shape {
    Shape {
        offering: OfferingKey {
            instance_type: "small".into(),
            zone: "a".into(),
            capacity_type: "on-demand".into(),
        },
        price: Price::ZERO,
        capacity: Resources::new(),
        allocatable: Resources::new(),
        labels: Labels::new(),
    }
}

fn present(ids: &[&str]) -> Vec<Seen> {
    let seen = |id: &&str| Seen { id: (*id).into(), state: InstanceState::Present, error: None };
    ids.iter().map(seen).collect()
}

fn waiting(claims: &[&str]) -> Ledger {
    let mut ledger = Ledger::default();
    for (claim, target) in claims.iter().zip(0..) {
        ledger.intend(tag(claim), shape(), target, NOW);
        ledger.granted(claim);
    }
    ledger
}

fn instance_of<'a>(ledger: &'a Ledger, claim: &str) -> Option<&'a str> {
    ledger.of_claim(claim)?.instance()
}

#[test]
fn instances_go_to_those_who_wait_in_the_order_in_which_they_asked() {
    let mut ledger = waiting(&["first", "second", "third"]);
    ledger.look(&present(&["x"]), NOW);
    ledger.look(&present(&["x", "y", "y"]), NOW);
    let has = |claim| instance_of(&ledger, claim);
    assert_eq!((has("first"), has("second"), has("third")), (Some("x"), Some("y"), None));
}

#[test]
fn what_appears_while_nobody_waits_is_a_stranger_for_good() {
    let mut ledger = Ledger::default();
    assert_eq!(ledger.look(&present(&["stranger"]), NOW), ["stranger".into()]);
    assert!(ledger.look(&present(&["stranger"]), NOW).is_empty(), "it was told already");
    ledger.intend(tag("claim"), shape(), 1, NOW);
    ledger.granted("claim");
    ledger.look(&present(&["stranger"]), NOW);
    assert_eq!(instance_of(&ledger, "claim"), None);
    ledger.look(&present(&["stranger", "x"]), NOW);
    assert_eq!(instance_of(&ledger, "claim"), Some("x"));
    assert!(ledger.is_stranger("stranger") && ledger.of_instance("stranger").is_none());
}

#[test]
fn what_appears_during_a_doubt_is_kept_for_whoever_it_turns_out_to_be_for() {
    let mut ledger = Ledger::default();
    ledger.intend(tag("claim"), shape(), 0, NOW);
    ledger.look(&present(&["x"]), NOW);
    assert!(!ledger.is_stranger("x") && instance_of(&ledger, "claim").is_none());
    assert_eq!(ledger.settle(1, &present(&["x"]), DOUBT, NOW), Settled::Clear);
    ledger.look(&present(&["x"]), NOW);
    assert_eq!(instance_of(&ledger, "claim"), Some("x"));
}

#[test]
fn the_target_size_tells_whether_an_increase_happened() {
    let mut happened = Ledger::default();
    happened.intend(tag("claim"), shape(), 4, NOW);
    let mut in_vain = happened.clone();
    in_vain.said("claim", "no");
    assert_eq!(happened.settle(5, &[], DOUBT, NOW), Settled::Clear);
    assert_eq!(happened.of_claim("claim").unwrap().standing, Standing::Waiting);

    assert_eq!(in_vain.settle(4, &[], DOUBT, NOW + 29.seconds()), Settled::NotYet, "it may be under way");
    let verdict = Settled::InVain { claim_uid: "claim".into(), words: Some("no".to_owned()) };
    assert_eq!(in_vain.settle(4, &[], DOUBT, NOW + 30.seconds()), verdict);
    assert_eq!(in_vain, Ledger::default(), "nothing is left of it");
}

#[test]
fn an_instance_too_many_tells_it_also_if_another_has_left_at_the_same_time() {
    let mut ledger = waiting(&["first"]);
    ledger.intend(tag("second"), shape(), 1, NOW);
    assert_eq!(ledger.settle(1, &present(&["x"]), DOUBT, NOW), Settled::NotYet);
    assert_eq!(ledger.settle(1, &present(&["x", "y"]), DOUBT, NOW), Settled::Clear);
    ledger.look(&present(&["x", "y"]), NOW);
    assert_eq!((instance_of(&ledger, "first"), instance_of(&ledger, "second")), (Some("x"), Some("y")));
}

#[test]
fn the_target_size_tells_whether_a_decrease_happened() {
    let mut ledger = waiting(&["claim"]);
    ledger.intend_less("claim", 1, NOW);
    let mut in_vain = ledger.clone();
    assert_eq!(ledger.settle(0, &[], DOUBT, NOW), Settled::Clear);
    assert_eq!(ledger, Ledger::default());

    in_vain.look(&present(&["x"]), NOW);
    assert_eq!(instance_of(&in_vain, "claim"), None, "it is in doubt whether it still waits");
    assert_eq!(in_vain.settle(1, &[], DOUBT, NOW), Settled::NotYet);
    assert_eq!(in_vain.settle(1, &[], DOUBT, NOW + 1.minute()), Settled::Clear);
    in_vain.look(&present(&["x"]), NOW);
    assert_eq!(instance_of(&in_vain, "claim"), Some("x"));
}

#[test]
fn an_ended_instance_that_is_shown_again_is_still_ours_for_an_hour() {
    let mut ledger = waiting(&["claim"]);
    ledger.look(&present(&["x"]), NOW);
    ledger.hold("x", Hold::Ended);
    ledger.look(&[], NOW);
    ledger.look(&present(&["x"]), NOW + 59.minutes());
    assert_eq!(ledger.of_instance("x").unwrap().tag, tag("claim"));
    ledger.look(&[], NOW + 1.hour());
    ledger.look(&[], NOW + 2.hours());
    assert_eq!(ledger, Ledger::default());
}

#[test]
fn an_id_that_is_used_again_goes_to_whoever_waits() {
    let mut ledger = waiting(&["old"]);
    ledger.look(&present(&["host-1"]), NOW);
    ledger.hold("host-1", Hold::Ended);
    ledger.look(&[], NOW);
    ledger.intend(tag("new"), shape(), 0, NOW);
    ledger.granted("new");
    ledger.look(&present(&["host-1"]), NOW + 30.seconds());
    assert_eq!(instance_of(&ledger, "new"), None, "the list may have been wrong for a moment");
    ledger.look(&[], NOW + 31.seconds());
    ledger.look(&present(&["host-1"]), NOW + 2.minutes());
    assert_eq!(instance_of(&ledger, "new"), Some("host-1"));
    assert!(ledger.of_claim("old").is_none());
}

#[test]
fn what_could_not_be_made_is_nobodys_and_given_to_nobody() {
    let mut ledger = waiting(&["claim"]);
    ledger.look(&present(&["x"]), NOW);
    ledger.hold("x", Hold::Failed);
    assert!(ledger.of_claim("claim").is_none() && ledger.of_instance("x").is_some());
    ledger.intend(tag("claim"), shape(), 0, NOW);
    ledger.granted("claim");
    ledger.look(&present(&["x", "y"]), NOW);
    assert_eq!(instance_of(&ledger, "claim"), Some("y"));
}

#[test]
fn a_ledger_survives_being_written() {
    let mut ledger = waiting(&["first", "second", "third"]);
    ledger.look(&present(&["x"]), NOW);
    ledger.intend_less("second", 3, NOW);
    let text = serde_json::to_string(&ledger).unwrap();
    assert_eq!(serde_json::from_str::<Ledger>(&text).unwrap(), ledger);
}

#[test]
fn a_thousand_instances_fit_into_an_object() {
    let claims: Vec<String> = (0..1000).map(|n| format!("00000000-0000-0000-0000-{n:012}")).collect();
    let claims: Vec<&str> = claims.iter().map(String::as_str).collect();
    let instances: Vec<String> = (0..1000).map(|n| format!("cloud:///some-zone/instance-{n:017}")).collect();
    let mut ledger = waiting(&claims);
    ledger.look(&present(&instances.iter().map(String::as_str).collect::<Vec<_>>()), NOW);
    assert!(serde_json::to_string(&ledger).unwrap().len() < 500_000, "the limit is a megabyte");
}
