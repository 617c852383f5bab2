//! Pods that wait, and nodes that are not there yet.

use windlass_core::model::{ClaimPhase, DisruptionReason, Nomination, PodState, Pool};

use crate::cluster::{Cluster, NOW, just_made};
use crate::nodes::{NOTHING, half_empty, half_empty_in, small, stays, thrifty, web};
use crate::shapes::{asks, at, claim, joined, launched};
use crate::workload::app;

/// A large node with a small pod, decided to be replaced and closed.
fn being_replaced() -> Cluster {
    Cluster::new([thrifty()]).large("big").run(app("web").asking(500, 128).on("node-of-big")).going_on()
}

#[test]
fn a_node_that_is_not_initialized_is_not_cleared() {
    let young = |phase| {
        half_empty("ab", 500).claim_but("a", |claim| claim.phase = phase).pod_changed("node-of-b", NOW)
    };
    assert_eq!(young(ClaimPhase::Registered).consolidated(), NOTHING);
    assert_eq!(young(ClaimPhase::Registered).why("a"), "arriving: waits for its node to be ready for pods");
    assert_eq!(young(ClaimPhase::Initialized).consolidated(), ["a"]);
}

#[test]
fn a_node_whose_pods_would_go_to_one_that_is_arriving_stays_until_that_is_ready() {
    let new = launched(claim("new", "general", &[small()]), 0);
    let cluster = half_empty("a", 500).node(joined(&new, at(NOW)));
    let cluster = cluster.claim(windlass_core::model::Claim { phase: ClaimPhase::Registered, ..new });
    let decided = cluster.going_on();
    assert_eq!(decided.removed(), NOTHING);
    assert_eq!(decided.why("a"), "is to go: underutilized; waits for the nodes that 1 pod of it will go to");
    assert_eq!(decided.clone().nodes_ready().removed(), ["a"]);
    let given_up = decided.claim_but("new", |claim| claim.deleting = true);
    assert_eq!(given_up.taken_back(), stays("a", "1 pod of it would find no place"));
}

#[test]
fn a_node_that_is_ready_is_used_before_one_that_is_arriving() {
    let cluster = half_empty("ab", 500).claim(claim("new", "general", &[small()]));
    let cluster = cluster.pending("new", 1, asks(1200, 128)).claim_but("new", |claim| {
        claim.pods = vec![windlass_core::model::PodId::new("default", "new-1")];
    });
    assert_eq!(cluster.going_on().removed(), ["a"], "without waiting");
}

#[test]
fn a_claim_without_a_node_and_a_node_without_a_claim_are_not_considered() {
    let cluster = half_empty("ab", 500).claim(claim("lonely", "general", &[small()]));
    assert_eq!(cluster.why("lonely"), "arriving: waits for its machine");
    let foreign = cluster.without_claim("lonely").without_claim("a");
    assert_eq!(foreign.consolidated(), ["b"], "the node of a is nobody's now and takes pods");
    assert_eq!(foreign.why("a"), "");
}

#[test]
fn the_node_that_pending_pods_are_expected_on_stays_and_others_go() {
    let cluster = half_empty("abc", 300).pending("new", 1, asks(1600, 128));
    let (plan, _) = cluster.plan();
    let windlass_core::plan::Target::Node(node) = &plan.placements[0].target else { panic!("{plan:?}") };
    let going = cluster.consolidated();
    assert_eq!(going.len(), 1, "the other two are merged");
    assert!(going.iter().all(|claim| **node != format!("node-of-{claim}")));
}

#[test]
fn pods_that_come_while_a_node_is_replaced_get_no_machine_that_they_do_not_need() {
    let cluster = being_replaced();
    assert_eq!(cluster.clone().pending("new", 1, asks(1000, 128)).launches(), [], "beside those that move");
    assert_eq!(cluster.pending("new", 1, asks(1800, 128)).launches().len(), 1, "the room is taken");
}

#[test]
fn the_pods_of_a_node_that_goes_find_the_machine_that_was_got_for_them() {
    let standing = being_replaced().replaced();
    let (plan, _) = standing.plan();
    assert_eq!(plan.removals.len(), 1);
    let leaving = standing.after(&plan).pod_changed("node-of-big", NOW);
    let again = leaving.without_pod("web-1").pending("web", 1, asks(500, 128));
    let (plan, _) = again.plan();
    assert_eq!((plan.launches.len(), plan.placements.len()), (0, 1));
}

#[test]
fn a_replacement_is_not_empty_while_pods_have_yet_to_come() {
    let standing = being_replaced().replaced();
    let (plan, _) = standing.plan();
    let leaving = standing.after(&plan);
    let name = leaving.names_of_replacements("big").remove(0);
    let waiting = leaving.claim_but(&name, |claim| claim.initialized_at = Some(at(0)));
    assert_eq!((waiting.emptied().len(), &*waiting.why(&name)), (0, "pods are expected on it"));
}

#[test]
fn a_node_that_pods_of_a_deleted_node_will_go_to_stays() {
    let cluster = half_empty("a", 500).claim_but("a", |claim| claim.deleting = true).small("b");
    assert_eq!((cluster.emptied().len(), &*cluster.why("b")), (0, "pods are expected on it"));
    assert_eq!(cluster.without_pod("web-a-1").emptied(), ["b"]);
}

#[test]
fn a_pod_that_the_scheduler_makes_room_for_keeps_the_node() {
    let nominated = Some(Nomination { node: "node-of-b".into(), ours: false });
    let cluster = half_empty_in(Pool { max_nodes: Some(0), ..thrifty() }, "ab", 300);
    let cluster = cluster.pods("high", 1, asks(1500, 128), &PodState::Unschedulable { since: at(NOW - 5) });
    let cluster = cluster.pod_but("high-1", |pod| pod.nominated = nominated);
    assert_eq!(cluster.consolidated(), NOTHING, "a has no room beside it");
}

#[test]
fn nothing_further_is_consolidated_while_pods_are_still_on_their_way() {
    let cluster = half_empty("abcd", 900).going_on();
    let (plan, _) = cluster.plan();
    let draining = cluster.after(&plan);
    let roomy = draining.large("e").run(web('e', 100)).pod_changed("node-of-e", NOW);
    assert_eq!(roomy.consolidated(), NOTHING);
    let gone = roomy.without_claim("a").without_claim("b").without_pod("web-a-1").without_pod("web-b-1");
    assert_eq!(gone.consolidated(), ["c", "d"]);
}

#[test]
fn a_sick_node_is_neither_cleared_nor_relied_on() {
    let ill = half_empty("abc", 900).not_ready("c", 0);
    let cluster = ill.claim_but("c", |claim| claim.disrupted = Some(DisruptionReason::Sick));
    let (plan, _) = cluster.plan();
    assert_eq!(plan.removals.iter().map(|each| &*each.claim).collect::<Vec<_>>(), ["c"]);
    assert_eq!(cluster.consolidated(), NOTHING, "one of the others takes the pod of the sick one");
}

#[test]
fn a_pod_that_the_scheduler_has_yet_to_look_at_keeps_the_node_that_it_may_go_to() {
    let cluster = half_empty("", 0).small("a").small("b").run(web('b', 1500));
    let waiting = cluster.pods("new", 1, asks(1000, 128), &just_made());
    assert_eq!((waiting.emptied().len(), &*waiting.why("a")), (0, "pods are expected on it"));
}

#[test]
fn a_pod_that_is_held_back_after_vain_launches_keeps_the_node_that_it_would_fit() {
    let mut cluster = Cluster::new([thrifty()]).small("a").pending("held", 1, asks(500, 128));
    let id = cluster.0.pods.keys().next().unwrap().clone();
    std::sync::Arc::make_mut(&mut cluster.0.held).insert(id, at(NOW + 600));
    assert_eq!(cluster.emptied(), NOTHING);
}
