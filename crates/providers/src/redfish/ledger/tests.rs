use std::time::Duration;

use jiff::Timestamp;
use windlass_core::Price;
use windlass_core::model::{Labels, OfferingKey, Resources};

use super::{Ending, Hold, Ledger, Place, Shape, Standing};
use crate::MachineTag;

const HOUR: Duration = Duration::from_secs(3600);

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn hold(claim: &str) -> Hold {
    Hold {
        tag: MachineTag {
            cluster_id: "cluster".into(),
            claim_uid: claim.into(),
            claim_name: claim.into(),
            pool: "pool".into(),
        },
        taken_at: at(0),
        place: Place { address: "https://bmc".to_owned(), system_id: None, secret: None, tls: None },
        shape: Shape {
            offering: OfferingKey {
                instance_type: "t".into(),
                zone: "z".into(),
                capacity_type: "on-demand".into(),
            },
            price: Price::ZERO,
            capacity: Resources::new(),
            allocatable: Resources::new(),
            labels: Labels::new(),
            node_name: "a".into(),
        },
        joined: false,
        standing: Standing::Taken,
    }
}

fn ending(blame: Option<&str>, failed: bool) -> Standing {
    Standing::Ending(Ending { since: at(1), may_go_on_since: None, blame: blame.map(str::to_owned), failed })
}

#[test]
fn a_host_is_one_claims_until_it_is_given_back() {
    let mut ledger = Ledger::default();
    assert!(ledger.may_be_taken("a", Some(HOUR), at(0)));
    ledger.take("a", hold("one"));
    assert!(!ledger.may_be_taken("a", Some(HOUR), at(0)));
    assert_eq!(&**ledger.of_claim("one").unwrap().0, "a");
    assert!(ledger.hold("a", "two").is_none() && !ledger.set("a", "two", ending(None, false)));
    ledger.release("a", "two", false, at(2));
    assert!(ledger.hold("a", "one").is_some(), "another's claim frees nothing");
    ledger.release("a", "one", false, at(2));
    assert_eq!(ledger, Ledger::default(), "nothing is left of it");
}

#[test]
fn only_a_host_whose_power_was_not_touched_is_given_back_at_once() {
    let mut ledger = Ledger::default();
    ledger.take("a", hold("one"));
    ledger.set("a", "one", Standing::Starting { since: at(0), asked_at: at(0), restart: false });
    assert!(!ledger.withdraw("a", "one"));
    ledger.set("a", "one", Standing::Taken);
    assert!(ledger.withdraw("a", "one"));
    assert_eq!(ledger, Ledger::default());
}

#[test]
fn a_host_that_failed_is_not_its_claims_and_is_quarantined_once_it_is_off() {
    let mut ledger = Ledger::default();
    ledger.take("a", hold("one"));
    ledger.set("a", "one", ending(Some("it never went on"), true));
    assert!(ledger.of_claim("one").is_none() && ledger.hold("a", "one").is_some());
    ledger.release("a", "one", false, at(10));
    assert!(!ledger.may_be_taken("a", Some(HOUR), at(11)));
    assert!(!ledger.may_be_taken("a", None, at(100_000)), "for ever, if so");
    assert!(ledger.may_be_taken("a", Some(HOUR), at(10 + 3600)));
    ledger.take("a", hold("two"));
    assert!(ledger.record("a").unwrap().quarantine.is_none());
}

#[test]
fn that_a_host_was_left_on_is_known_until_it_is_seen_to_be_off() {
    let mut ledger = Ledger::default();
    ledger.take("a", hold("one"));
    ledger.release("a", "one", true, at(1));
    assert!(ledger.record("a").unwrap().left_on && ledger.may_be_taken("a", Some(HOUR), at(1)));
    ledger.went_off("a");
    assert_eq!(ledger, Ledger::default());
}
