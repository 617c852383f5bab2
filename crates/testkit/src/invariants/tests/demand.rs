use windlass_api::conditions::{self, Truth};

use super::super::{Invariant, Writer};
use super::objects::{claim, deleted, launched, made_for, pod, saying};
use super::script::Script;

/// A claim on its way for two pods.
fn on_its_way() -> Script {
    let mut script = Script::new();
    let first = || made_for(claim("first"), &["default/a", "default/b"]);
    script.add(&first()).change(&launched(first(), "4"));
    script
}

#[test]
fn i9_allows_claims_for_different_pods() {
    let mut script = on_its_way();
    script.add(&made_for(claim("second"), &["default/c"])).add(&claim("third"));
    script.is_clean();
}

#[test]
fn i9_catches_a_second_claim_for_a_pod_whose_machine_is_on_its_way() {
    let mut script = on_its_way();
    script.add(&made_for(claim("second"), &["default/c", "default/b"]));
    script.is_caught(
        Invariant::OneMachinePerPod,
        &["NodeClaim second was made for pod default/b while first was on its way for it"],
    );
}

#[test]
fn i9_allows_another_claim_once_the_first_is_a_node_or_given_up() {
    let ended = [
        (conditions::REGISTERED, Truth::True),
        (conditions::REGISTERED, Truth::False),
        (conditions::LAUNCHED, Truth::False),
        (conditions::DISRUPTED, Truth::True),
    ];
    for (kind, truth) in ended {
        let mut script = Script::new();
        let first = made_for(claim("first"), &["default/a"]);
        script.add(&first).change(&saying(first.clone(), kind, truth));
        script.add(&made_for(claim("second"), &["default/a"]));
        script.is_clean();
    }
}

#[test]
fn i9_allows_another_claim_while_the_first_is_being_deleted() {
    let mut script = on_its_way();
    let leaving = deleted(made_for(claim("first"), &["default/a", "default/b"]), script.now());
    script.change(&launched(leaving, "4")).add(&made_for(claim("second"), &["default/a"]));
    script.is_clean();
}

#[test]
fn i9_allows_another_claim_for_a_pod_that_has_a_node() {
    let mut script = on_its_way();
    script.add(&pod("a", "sick")).add(&made_for(claim("second"), &["default/a"]));
    script.is_clean();
}

#[test]
fn i9_does_not_judge_claims_that_others_make() {
    let mut script = on_its_way();
    script.by(Writer::Other).add(&made_for(claim("second"), &["default/a"]));
    script.is_clean();
}
