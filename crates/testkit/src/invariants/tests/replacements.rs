use super::super::{Invariant, Writer};
use super::objects::{
    claim, deleted, evicted, initialized, launched, machine, node, pod, replacing, tainted,
};
use super::script::Script;

/// A claim with a node and a pod, and another that is to replace it.
fn replacement_under_way() -> Script {
    let mut script = Script::new();
    script
        .add(&claim("old"))
        .add(&machine("old", "old"))
        .change(&initialized(claim("old")))
        .add(&node("old"));
    script.add(&pod("web", "old")).add(&replacing(claim("new"), "older,old"));
    script.add(&machine("new", "new")).change(&replacing(launched(claim("new"), "4"), "older,old"));
    script
}

#[test]
fn i6_allows_a_victim_to_go_once_its_replacement_is_ready() {
    let mut script = replacement_under_way();
    let now = script.now();
    script.change(&replacing(initialized(claim("new")), "older,old")).change(&tainted(node("old")));
    script.change(&deleted(initialized(claim("old")), now)).change(&evicted(pod("web", "old")));
    script.is_clean();
}

#[test]
fn i6_catches_a_victim_that_is_deleted_too_early() {
    let mut script = replacement_under_way();
    script.is_clean();
    let now = script.now();
    script.change(&deleted(initialized(claim("old")), now)).remove(&claim("old"));
    script.is_caught(Invariant::ReplacementFirst, &["NodeClaim old was deleted", "replacement new"]);
}

#[test]
fn i6_allows_a_node_to_be_closed_to_new_pods() {
    let mut script = replacement_under_way();
    script.change(&tainted(node("old")));
    script.is_clean();
}

#[test]
fn i6_catches_a_pod_that_is_evicted_too_early() {
    let mut script = replacement_under_way();
    script.change(&evicted(pod("web", "old")));
    script.is_caught(Invariant::ReplacementFirst, &["NodeClaim old had its pod default/web evicted"]);
}

#[test]
fn i6_allows_a_replacement_to_be_given_up() {
    let mut script = replacement_under_way();
    let now = script.now();
    script.change(&deleted(replacing(launched(claim("new"), "4"), "older,old"), now));
    script.change(&deleted(initialized(claim("old")), now));
    script.is_clean();
}

#[test]
fn i6_does_not_blame_windlass_for_a_victim_that_is_lost() {
    let mut script = replacement_under_way();
    let now = script.now();
    script.remove(&machine("old", "old")).change(&deleted(initialized(claim("old")), now));
    script.is_clean();
    let mut script = replacement_under_way();
    script.change(&deleted(node("old"), now)).change(&deleted(initialized(claim("old")), now));
    script.is_clean();
    let mut script = replacement_under_way();
    script.by(Writer::Other).change(&deleted(initialized(claim("old")), now));
    script.is_clean();
}

#[test]
fn i6_allows_to_replace_what_is_leaving_already() {
    let mut script = Script::new();
    let leaving = deleted(initialized(claim("old")), script.now());
    script.add(&claim("old")).add(&machine("old", "old")).add(&node("old")).add(&pod("web", "old"));
    script.change(&leaving).add(&replacing(claim("new"), "old"));
    script.change(&evicted(pod("web", "old"))).change(&tainted(node("old")));
    script.is_clean();
}
