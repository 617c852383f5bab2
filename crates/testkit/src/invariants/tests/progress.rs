use windlass_api::conditions::{self, Truth};

use super::super::{Invariant, Writer};
use super::objects::{claim, initialized, launched, saying};
use super::script::Script;

#[test]
fn i8_allows_a_claim_to_be_ready_and_not_by_turns() {
    let mut script = Script::new();
    let ready = |truth| saying(initialized(claim("a")), conditions::READY, truth);
    script.add(&claim("a")).change(&launched(claim("a"), "4")).change(&initialized(claim("a")));
    script.change(&ready(Truth::True)).change(&ready(Truth::False)).change(&ready(Truth::True));
    script.is_clean();
}

#[test]
fn i8_catches_a_claim_that_forgets_its_machine() {
    let mut script = Script::new();
    script.add(&claim("a")).change(&launched(claim("a"), "4"));
    script.is_clean();
    script.change(&claim("a"));
    script.is_caught(Invariant::ClaimsGoForward, &["NodeClaim a no longer says", "simulated://lab/a"]);
}

#[test]
fn i8_catches_a_claim_that_exchanges_its_machine() {
    let mut script = Script::new();
    script.add(&claim("a")).change(&launched(claim("a"), "4"));
    let mut other = launched(claim("a"), "4");
    other.status.as_mut().unwrap().provider_id = Some("simulated://lab/b".to_owned());
    script.change(&other);
    script.is_caught(
        Invariant::ClaimsGoForward,
        &["had the machine simulated://lab/a and has simulated://lab/b"],
    );
}

#[test]
fn i8_catches_a_claim_that_takes_back_what_it_said() {
    for (kind, words) in
        [(conditions::LAUNCHED, "was launched"), (conditions::INITIALIZED, "was initialized")]
    {
        let mut script = Script::new();
        let said = |truth| saying(launched(claim("a"), "4"), kind, truth);
        script.add(&claim("a")).change(&said(Truth::True));
        script.is_clean();
        script.change(&said(Truth::Unknown));
        script.is_caught(Invariant::ClaimsGoForward, &[words]);
    }
}

#[test]
fn i8_catches_a_status_that_takes_the_place_of_a_newer_one() {
    let mut script = Script::new();
    let written = |times| {
        let mut claim = launched(claim("a"), "4");
        claim.status.as_mut().unwrap().revision = Some(times);
        claim
    };
    script.add(&claim("a")).change(&written(1)).change(&written(2));
    script.is_clean();
    script.change(&written(1));
    script.is_caught(Invariant::ClaimsGoForward, &["NodeClaim a has a status again that is older"]);
}

#[test]
fn i8_does_not_blame_windlass_for_what_others_write() {
    let mut script = Script::new();
    script.add(&claim("a")).change(&launched(claim("a"), "4"));
    script.by(Writer::Other).change(&claim("a"));
    script.is_clean();
}
