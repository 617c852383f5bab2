//! From the decision until the node goes: what has to happen first, and what has it taken back.

use windlass_core::model::{DisruptionReason, PodOwner};

use crate::cluster::{Cluster, NOW};
use crate::nodes::{NOTHING, half_empty, half_empty_in, owned, small, stays, thrifty, web};
use crate::shapes::{asks, at};
use crate::workload::app;

fn oversized() -> Cluster {
    Cluster::new([thrifty()]).large("big").run(app("web").asking(500, 128).on("node-of-big"))
}

#[test]
fn a_claim_goes_for_the_reason_and_with_the_words_of_its_decision() {
    let (plan, _) = half_empty("ab", 500).going_on().plan();
    let removal = &plan.removals[0];
    assert_eq!((&*removal.claim, &*removal.uid), ("a", "uid-a"));
    assert_eq!(removal.reason, DisruptionReason::Underutilized);
    assert_eq!(removal.message, "1 pod of 1 node can move to others, which saves 0.10/h");
}

#[test]
fn a_decision_names_the_very_claims_that_it_is_about() {
    let decision = half_empty("ab", 500).decision().unwrap();
    assert_eq!(decision.claims, [("a".into(), "uid-a".into())]);
}

#[test]
fn a_node_that_somebody_opens_again_is_closed_before_it_goes() {
    let opened = half_empty("ab", 500).going_on().node_but("a", |node| node.unschedulable = false);
    assert_eq!(opened.removed(), NOTHING);
    assert_eq!(opened.why("a"), "is to go: underutilized; its node is being closed to new pods");
}

#[test]
fn a_pod_that_came_in_the_last_moment_moves_along_if_there_is_room() {
    let late = |milli| half_empty("ab", 500).going_on().run(app("late").asking(milli, 128).on("node-of-a"));
    assert_eq!(late(900).removed(), ["a"]);
    assert_eq!(late(1100).taken_back(), stays("a", "1 pod of it would find no place"));
}

#[test]
fn a_pod_that_came_in_the_last_moment_and_cannot_move_has_the_decision_taken_back() {
    let late = |pod: crate::workload::Workload| half_empty("ab", 500).going_on().run(pod.on("node-of-a"));
    let bare = late(owned("bare", PodOwner::Nobody));
    assert_eq!(bare.taken_back(), stays("a", "pod default/bare-1 has no controller that would make it anew"));
    let mut foreign = app("foreign");
    foreign.shape.foreign_scheduler = true;
    assert_eq!(late(foreign).taken_back(), stays("a", "another scheduler places pod default/foreign-1"));
}

#[test]
fn an_empty_node_on_which_a_pod_came_stays() {
    let decided = Cluster::new([thrifty()]).small("a").small("b").going_on();
    let late = decided.bound("late", 2, asks(100, 128), "node-of-a");
    assert_eq!(late.taken_back(), stays("a", "2 pods came before it was closed"));
    assert_eq!(late.removed(), ["b"]);
}

#[test]
fn an_empty_node_on_which_only_a_daemon_came_goes() {
    let decided = Cluster::new([thrifty()]).small("a").going_on();
    assert_eq!(decided.run(owned("agent", PodOwner::DaemonSet).on("node-of-a")).removed(), ["a"]);
}

#[test]
fn a_decision_is_taken_back_if_the_pool_is_deleted_meanwhile() {
    let gone = half_empty("ab", 500).going_on().without_pool("general");
    assert_eq!(gone.taken_back(), stays("a", "its pool general is not there"));
}

#[test]
fn a_replacement_that_is_given_up_has_the_decision_taken_back() {
    let decided = oversized().going_on();
    let name = decided.names_of_replacements("big").remove(0);
    let given_up = decided.claim_but(&name, |claim| claim.deleting = true);
    assert_eq!(given_up.taken_back(), stays("big", &format!("its replacement {name} did not come about")));
    assert_eq!(given_up.removed(), NOTHING);
}

#[test]
fn a_replacement_that_falls_ill_before_the_node_goes_is_waited_for() {
    let standing = oversized().going_on().replaced();
    let name = standing.names_of_replacements("big").remove(0);
    let ill = standing.not_ready(&name, NOW);
    assert_eq!(ill.removed(), NOTHING);
    assert_eq!(ill.why("big"), format!("is to go: underutilized; waits for its replacement {name}"));
}

#[test]
fn room_that_others_took_on_the_replacement_has_the_decision_taken_back() {
    let standing = oversized().going_on().replaced();
    let name = standing.names_of_replacements("big").remove(0);
    let taken = standing.bound("greedy", 1, asks(1800, 128), &format!("node-of-{name}"));
    assert_eq!(taken.taken_back(), stays("big", "1 pod of it would find no place"));
}

#[test]
fn a_replacement_that_is_not_needed_after_all_goes_when_it_has_been_empty_for_long_enough() {
    let standing = oversized().going_on().replaced();
    let name = standing.names_of_replacements("big").remove(0);
    let asking = standing.pod_but("web-1", |pod| pod.stays_until = Some(crate::nodes::always()));
    let (plan, _) = asking.plan();
    assert_eq!(plan.cancellations.len(), 1);
    let stays = asking.after(&plan).claim_but(&name, |claim| claim.initialized_at = Some(at(NOW - 30)));
    assert_eq!(stays.emptied(), [name]);
}

#[test]
fn a_decision_that_was_taken_back_is_made_again_when_nothing_stands_against_it() {
    let decided = half_empty("ab", 500).going_on();
    let asking = decided.pod_but("web-a-1", |pod| pod.stays_until = Some(crate::nodes::soon(60)));
    let (plan, _) = asking.plan();
    let opened = asking.after(&plan).node_but("a", |node| {
        node.unschedulable = false;
        node.taints.clear();
    });
    assert_eq!(opened.consolidated(), ["b"], "the other one may go meanwhile");
    assert_eq!(opened.pod_but("web-a-1", |pod| pod.stays_until = None).consolidated(), ["a"]);
}

#[test]
fn what_is_deleted_by_hand_meanwhile_is_not_deleted_again() {
    let deleted = half_empty("ab", 500).going_on().claim_but("a", |claim| claim.deleting = true);
    let (plan, _) = deleted.plan();
    assert!(plan.is_empty(), "{plan:?}");
    assert_eq!(deleted.why("a"), "is being given back");
}

#[test]
fn a_node_that_vanished_meanwhile_has_the_decision_taken_back() {
    let mut gone = half_empty("ab", 500).going_on();
    std::sync::Arc::make_mut(&mut gone.0.nodes).remove("node-of-a");
    assert_eq!(gone.taken_back(), stays("a", "its node is not ready"));
}

#[test]
fn a_node_that_falls_ill_after_the_decision_is_treated_as_sick() {
    let ill = half_empty("ab", 500).going_on().not_ready("a", 0);
    let sick = ill.claim_but("a", |claim| claim.disrupted = Some(DisruptionReason::Sick));
    let (plan, _) = sick.plan();
    assert_eq!((plan.removals[0].reason, plan.cancellations.len()), (DisruptionReason::Sick, 0));
}

#[test]
fn pods_that_leave_by_themselves_do_not_take_the_decision_back() {
    let decided = half_empty("ab", 500).going_on();
    assert_eq!(decided.without_pod("web-a-1").removed(), ["a"]);
}

#[test]
fn where_others_went_in_the_meantime_the_pods_may_go_elsewhere() {
    let decided = half_empty("abc", 900).going_on();
    assert_eq!(decided.decision(), None);
    let going = decided.removed();
    assert_eq!(going, ["a"]);
    let shifted = decided.bound("late", 1, asks(1000, 128), "node-of-c");
    assert_eq!(shifted.removed(), ["a"], "b has room as well");
}

#[test]
fn decisions_of_two_kinds_are_carried_out_side_by_side() {
    let cluster = half_empty("ab", 500).going_on();
    let side_by_side = cluster.small("c");
    assert_eq!(
        (side_by_side.emptied(), side_by_side.removed()),
        (vec!["c".to_owned()], vec!["a".to_owned()])
    );
}

#[test]
fn nothing_changes_while_a_decision_waits() {
    let waiting = oversized().going_on();
    let (plan, _) = waiting.plan();
    assert!(plan.is_empty(), "{plan:?}");
    assert!(waiting.after(&plan).plan().0.is_empty());
}

#[test]
fn a_price_that_rises_after_the_decision_does_not_take_it_back() {
    let decided = half_empty_in(thrifty(), "ab", 500).going_on();
    let dearer = decided.pool_but("general", |pool| {
        let types = std::sync::Arc::make_mut(&mut pool.instance_types);
        types
            .iter_mut()
            .flat_map(|kind| &mut kind.offerings)
            .for_each(|way| way.price = "9".parse().unwrap());
    });
    assert_eq!(dearer.removed(), ["a"]);
}

#[test]
fn a_second_node_is_consolidated_once_the_first_is_gone() {
    let first = half_empty("abc", 900).going_on();
    let leaving = first.clone().after(&first.plan().0);
    let gone = leaving.without_claim("a").without_pod("web-a-1");
    let mut moved = gone.run(app("web-a").asking(900, 128).on("node-of-c"));
    std::sync::Arc::make_mut(&mut moved.0.nodes).remove("node-of-a");
    assert_eq!(moved.consolidated(), NOTHING, "what is left is full enough");
    assert_eq!(moved.without_pod("web-a-1").consolidated(), ["b"]);
}

#[test]
fn the_replacement_counts_for_the_pools_minimum() {
    let keeping = windlass_core::model::Pool { min_nodes: 1, ..thrifty() };
    let cluster = Cluster::new([keeping]).large("big").run(web('b', 500).on("node-of-big"));
    assert_eq!(
        (cluster.consolidated(), cluster.machines()),
        (vec!["big".to_owned()], vec!["small".to_owned()])
    );
    let standing = cluster.going_on().replaced();
    assert_eq!(standing.plan().0.launches, [], "the minimum is met");
    assert_eq!(standing.standing("other", "general", &small()).removed(), ["big"]);
}
