use std::time::Duration;

use serde_json::{Value, json};
use windlass_api::{LimitedDuration, ProviderCall};
use windlass_core::model::OfferingKey;

use super::super::aim::Subject;
use super::Faults;
use crate::ErrorKind;

fn faults(given: Value) -> Faults {
    Faults::read(&serde_json::from_value::<Vec<_>>(given).unwrap()).unwrap()
}

fn small() -> OfferingKey {
    OfferingKey { instance_type: "small".into(), zone: "a".into(), capacity_type: "spot".into() }
}

fn struck_launches(faults: &Faults, claims: u32) -> Vec<u32> {
    let offering = small();
    let fails = |claim: &u32| {
        let subject = Subject { claim_uid: &format!("claim-{claim}"), offering: &offering };
        faults.strike(ProviderCall::Launch, Some(subject)).before.is_some()
    };
    (0..claims).filter(fails).collect()
}

#[test]
fn the_same_share_of_claims_is_struck_each_time() {
    let half = faults(json!([{"effect": "Error", "error": "Quota", "percent": 30}]));
    let struck = struck_launches(&half, 1000);
    assert!((250..350).contains(&struck.len()), "{}", struck.len());
    assert_eq!(struck, struck_launches(&half, 1000));
}

#[test]
fn two_faults_strike_independently() {
    let error = json!({"effect": "Error", "error": "Quota", "percent": 50});
    let other = json!({"effect": "NeverRegister", "percent": 50});
    let both = struck_launches(&faults(json!([error, other])), 1000);
    let moved = struck_launches(&faults(json!([other, error])), 1000);
    let common = both.iter().filter(|claim| moved.contains(claim)).count();
    assert!((200..300).contains(&common), "{common}");
}

#[test]
fn a_fault_strikes_only_the_calls_and_machines_that_it_names() {
    let aimed = faults(json!([
        {"effect": "Error", "error": "Unauthorized", "calls": ["Launch"], "instanceTypes": ["big"]},
        {"effect": "Error", "error": "Throttled", "calls": ["Get", "List"]},
        {"effect": "ErrorAfterEffect", "error": "Transient", "calls": ["Terminate"], "zones": ["a"]}
    ]));
    let (small, big) = (small(), OfferingKey { instance_type: "big".into(), ..small() });
    let subject = |offering| Some(Subject { claim_uid: "claim", offering });
    let before = |call, subject| aimed.strike(call, subject).before.map(|error| error.kind());
    assert_eq!(before(ProviderCall::Launch, subject(&small)), None);
    assert_eq!(before(ProviderCall::Launch, subject(&big)), Some(ErrorKind::Unauthorized));
    assert_eq!(before(ProviderCall::List, None), Some(ErrorKind::Throttled));
    assert_eq!(before(ProviderCall::InstanceTypes, None), None);
    assert!(aimed.strike(ProviderCall::Terminate, subject(&small)).after.is_some());
    assert!(aimed.strike(ProviderCall::Terminate, None).after.is_none());
}

#[test]
fn calls_about_no_machine_are_struck_in_their_share() {
    let half = faults(json!([{"effect": "Error", "error": "Transient", "percent": 50}]));
    let struck = (0..1000).filter(|_| half.strike(ProviderCall::List, None).before.is_some()).count();
    assert!((430..570).contains(&struck), "{struck}");
}

#[test]
fn the_earliest_end_is_the_machines_fate() {
    let ends = faults(json!([
        {"effect": "Vanish", "after": "1h"},
        {"effect": "Vanish", "after": "1m"},
        {"effect": "NotReady", "after": "Never"},
        {"effect": "NeverRegister", "zones": ["elsewhere"]}
    ]));
    let fate = ends.fate(Subject { claim_uid: "claim", offering: &small() }, LimitedDuration::seconds(5));
    assert_eq!(fate.boot, Some(Duration::from_secs(5)));
    assert_eq!((fate.vanish, fate.not_ready), (Some(Duration::from_mins(1)), None));
}

#[test]
fn a_fault_that_lacks_something_is_refused_by_its_place() {
    for (fault, part) in [
        (json!({"effect": "Error"}), "faults[0] (Error): error"),
        (json!({"effect": "Vanish"}), "faults[0] (Vanish): after"),
        (json!({"effect": "NeverRegister", "percent": 101}), "percent"),
        (json!({"effect": "NeverRegister", "percent": -1}), "percent"),
    ] {
        let given: Vec<_> = serde_json::from_value(json!([fault])).unwrap();
        let error = Faults::read(&given).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
