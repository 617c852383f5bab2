//! Nodes that are there, ours or not, and those that are on their way.

use std::sync::Arc;

use windlass_core::model::{Claim, ClaimPhase, PodState, Readiness};

use crate::cluster::{Cluster, NOW, just_made};
use crate::shapes::{at, claim, joined, launched, machine, node, size, taint};
use crate::workload::{HOST, Workload, ZONE, app, three_zones, told};

fn on_its_way() -> Claim {
    claim("new", "general", &[machine("small", 2, 8, "0.10")])
}

fn starting(taints: &[&str]) -> Cluster {
    let claim = Claim {
        phase: ClaimPhase::Registered,
        startup_taints: vec![taint("starting")],
        ..launched(on_its_way(), 0)
    };
    let mut node = joined(&claim, at(0));
    node.taints.extend(taints.iter().map(|key| taint(key)));
    three_zones().node(node).claim(claim)
}

#[test]
fn a_node_that_is_not_ours_is_used() {
    let outcome = three_zones().node_in("foreign", "a", 4, 16).run(app("web").pods(3)).outcome();
    assert_eq!((outcome.launched(), outcome.nodes("web")), (0, vec!["foreign".to_owned()]));
}

#[test]
fn what_does_not_fit_the_nodes_gets_a_new_one() {
    let outcome = three_zones().node_in("old", "a", 1, 4).run(app("web").pods(3).asking(500, 128)).outcome();
    assert_eq!((outcome.launched(), outcome.hosts("web")), (1, vec![1, 2]));
}

#[test]
fn a_pod_that_suits_the_pool_but_not_the_node_gets_a_new_one() {
    let outcome = three_zones().node_in("old", "a", 4, 16).run(app("web").selecting(ZONE, "b")).outcome();
    assert_eq!(outcome.launched(), 1);
}

#[test]
fn a_node_is_chosen_by_its_name() {
    let cluster = three_zones().node_in("n1", "a", 4, 16).node_in("n2", "a", 4, 16);
    assert_eq!(cluster.run(app("web").selecting(HOST, "n2")).outcome().nodes("web"), ["n2"]);
}

#[test]
fn labels_of_a_node_count_as_they_are() {
    let cluster =
        three_zones().node_with("ssd", 4, 16, &[("disk", "ssd")]).node_with("hdd", 4, 16, &[("disk", "hdd")]);
    assert_eq!(cluster.run(app("web").selecting("disk", "ssd")).outcome().nodes("web"), ["ssd"]);
}

#[test]
fn nodes_that_stay_anyway_are_filled_before_empty_ones() {
    let cluster =
        three_zones().node_in("empty", "a", 4, 16).node_in("used", "a", 4, 16).run(app("old").on("used"));
    assert_eq!(cluster.run(app("web")).outcome().nodes("web"), ["used"]);
}

#[test]
fn pods_that_run_take_their_room() {
    let cluster = three_zones().node_in("old", "a", 2, 8).run(app("old").asking(1500, 128).on("old"));
    assert_eq!(cluster.run(app("web").asking(600, 128)).outcome().launched(), 1);
}

#[test]
fn an_overdrawn_node_takes_nothing_more_of_what_it_lacks() {
    let cluster = three_zones().node_in("old", "a", 2, 8).run(app("old").asking(2500, 128).on("old"));
    assert_eq!(cluster.clone().run(app("web")).outcome().launched(), 1);
    assert_eq!(cluster.run(app("web").asking(0, 128)).outcome().launched(), 0);
}

#[test]
fn a_machine_on_its_way_is_waited_for() {
    let outcome = three_zones().claim(on_its_way()).run(app("web").pods(2)).outcome();
    assert_eq!((outcome.launched(), outcome.placed("web")), (0, 2));
}

#[test]
fn a_machine_on_its_way_is_chosen_by_its_labels() {
    let cluster = three_zones().claim(launched(on_its_way(), 0));
    assert_eq!(cluster.clone().run(app("web").selecting(ZONE, "a")).outcome().launched(), 0);
    assert_eq!(cluster.run(app("web").selecting(ZONE, "b")).outcome().launched(), 1);
}

#[test]
fn what_a_machine_on_its_way_does_not_hold_gets_another() {
    assert_eq!(
        three_zones().claim(on_its_way()).run(app("web").pods(3).asking(900, 128)).outcome().launched(),
        1
    );
}

#[test]
fn a_machine_on_its_way_out_is_not_waited_for() {
    let leaving = Claim { deleting: true, ..on_its_way() };
    assert_eq!(three_zones().claim(leaving).run(app("web")).outcome().launched(), 1);
}

#[test]
fn taints_that_pass_keep_nobody_off_a_node_that_starts() {
    for passing in [
        "starting",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.kubernetes.io/network-unavailable",
    ] {
        assert_eq!(starting(&[passing]).run(app("web")).plan().0.launches.len(), 0, "{passing}");
    }
}

#[test]
fn taints_that_stay_keep_pods_off_a_node_that_starts() {
    assert_eq!(starting(&["team"]).run(app("web")).outcome().launched(), 1);
}

#[test]
fn a_startup_taint_that_comes_back_keeps_pods_off() {
    let cluster =
        three_zones().standing_but("old", "general", &machine("small", 2, 8, "0.10"), |claim, node| {
            claim.startup_taints = vec![taint("starting")];
            node.taints.push(taint("starting"));
        });
    assert_eq!(cluster.run(app("web")).outcome().launched(), 1);
}

#[test]
fn a_node_that_is_cut_off_for_a_moment_is_waited_for() {
    let mut lost = node("lost", size(4, 16));
    lost.readiness = Readiness::NotReady { since: at(NOW - 10) };
    lost.taints.push(taint("node.kubernetes.io/unreachable"));
    assert_eq!(three_zones().node(lost).run(app("web")).plan().0.launches.len(), 0);
}

#[test]
fn nodes_that_are_ready_come_before_machines_on_their_way() {
    let outcome = three_zones().claim(on_its_way()).node_in("old", "a", 4, 16).run(app("web")).outcome();
    assert_eq!(outcome.nodes("web"), ["old"]);
}

#[test]
fn pods_are_balanced_over_zones_with_machines_on_their_way() {
    let mut cluster = three_zones();
    for zone in ["a", "b"] {
        let mut there = machine("small", 2, 8, "0.10");
        there.offerings[0].zone = zone.into();
        cluster = cluster.claim(launched(claim(zone, "general", &[there]), 0));
    }
    let outcome = cluster.run(app("web").pods(4).spread(ZONE, 1)).outcome();
    assert_eq!((outcome.zones("web"), outcome.launched()), (told(&[("a", 2), ("b", 2)]), 0));
}

#[test]
fn pods_with_a_port_go_to_different_machines_on_their_way() {
    let cluster = three_zones().claim(on_its_way()).claim(Claim {
        name: "new2".into(),
        uid: "uid-new2".into(),
        ..on_its_way()
    });
    let outcome = cluster.run(app("web").pods(2).port(80)).outcome();
    assert_eq!((outcome.launched(), outcome.hosts("web")), (0, vec![1, 1]));
}

#[test]
fn pods_on_a_node_that_leaves_find_room_elsewhere_without_a_machine_being_got_for_them() {
    let mut leaving = node("leaving", size(4, 16));
    leaving.deleting = true;
    let cluster = three_zones().node(leaving).run(app("old").pods(3).on("leaving"));
    assert!(cluster.plan().0.launches.is_empty());
    let cluster = cluster.node_in("other", "a", 1, 4).run(app("web").asking(700, 128));
    assert_eq!(cluster.plan().0.launches.len(), 0);
}

#[test]
fn pods_that_the_scheduler_has_yet_to_look_at_get_no_machine() {
    assert_eq!(three_zones().run(app("web").in_state(just_made())).outcome().launched(), 0);
}

#[test]
fn pods_behind_a_gate_get_no_machine() {
    assert_eq!(three_zones().run(app("web").in_state(PodState::Gated)).outcome().launched(), 0);
}

#[test]
fn pods_of_other_schedulers_get_no_machine() {
    let mut foreign = app("web");
    foreign.shape.foreign_scheduler = true;
    assert_eq!(three_zones().run(foreign).outcome().launched(), 0);
}

#[test]
fn pods_that_are_deleted_get_no_machine() {
    assert_eq!(three_zones().run(app("web").deleting()).outcome().launched(), 0);
}

#[test]
fn a_pod_stays_with_the_machine_that_was_got_for_it() {
    let cluster = three_zones().run(app("web").pods(4).asking(900, 128));
    let (plan, _) = cluster.plan();
    let mut after = cluster.after(&plan).node_in("free", "a", 8, 32);
    assert!(
        after
            .plan()
            .0
            .placements
            .iter()
            .all(|each| !matches!(each.target, windlass_core::plan::Target::Node(_)))
    );
    Arc::make_mut(&mut after.0.claims).clear();
    assert_eq!(after.outcome().nodes("web"), ["free"]);
}

#[test]
fn workloads_of_many_kinds_use_up_nodes_before_any_is_got() {
    let mut cluster = three_zones().node_in("n1", "a", 4, 16).node_in("n2", "b", 4, 16);
    for number in 0..4 {
        cluster = cluster.run(app(&format!("kind{number}")).pods(2).asking(900, 512));
    }
    assert_eq!(cluster.run(Workload { count: 2, ..app("tiny") }).outcome().launched(), 0);
}
