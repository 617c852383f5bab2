//! Pods that come with every node.

use windlass_core::model::{Effect, Operator, PodOwner, PodShape, Pool, Taint};

use crate::cluster::{Cluster, NOW};
use crate::shapes::{at, machine, pool, taint};
use crate::workload::{HOST, Workload, ZONE, app, general};

fn small() -> Cluster {
    Cluster::new([pool("general", vec![machine("small", 2, 8, "0.10")])])
}

fn agent(workload: Workload) -> PodShape {
    PodShape { owner: PodOwner::DaemonSet, ..workload.shape }
}

/// How many new nodes two pods of a core each need beside an agent.
fn nodes_beside(pool: Pool, workload: Workload) -> usize {
    let cluster = Cluster::new([pool]).daemon_set("agent", agent(workload));
    cluster.run(app("web").pods(2).asking(1000, 128)).outcome().launched()
}

fn only_small() -> Pool {
    pool("general", vec![machine("small", 2, 8, "0.10")])
}

#[test]
fn they_take_their_room_on_new_nodes() {
    assert_eq!(nodes_beside(only_small(), app("agent").asking(500, 128)), 2);
}

#[test]
fn those_that_ask_for_nothing_take_only_a_place() {
    assert_eq!(nodes_beside(only_small(), app("agent").asking(0, 0)), 1);
}

#[test]
fn those_that_do_not_tolerate_the_pool_do_not_come() {
    let tainted = Pool { taints: vec![taint("team")], ..only_small() };
    let cluster = Cluster::new([tainted]).daemon_set("agent", agent(app("agent").asking(500, 128)));
    assert_eq!(cluster.run(app("web").pods(2).asking(1000, 128).tolerating("team")).outcome().launched(), 1);
}

#[test]
fn a_startup_taint_keeps_them_off_only_for_a_while() {
    let starting = Pool { startup_taints: vec![taint("starting")], ..only_small() };
    assert_eq!(nodes_beside(starting, app("agent").asking(500, 128)), 2);
}

#[test]
fn a_taint_that_discourages_does_not_keep_them_off() {
    let discouraging = Pool { taints: vec![Taint::new("old", "", Effect::PreferNoSchedule)], ..only_small() };
    assert_eq!(nodes_beside(discouraging, app("agent").asking(500, 128)), 2);
}

#[test]
fn those_that_select_a_label_come_where_it_is() {
    let mut labelled = only_small();
    labelled.labels.set("team", "blue");
    assert_eq!(nodes_beside(labelled, app("agent").asking(500, 128).selecting("team", "blue")), 2);
    assert_eq!(nodes_beside(only_small(), app("agent").asking(500, 128).selecting("team", "blue")), 1);
}

#[test]
fn each_machine_carries_those_that_suit_it() {
    let mut machines = vec![machine("amd", 2, 8, "0.10"), machine("arm", 2, 8, "0.11")];
    machines[1].labels.set("kubernetes.io/arch", "arm64");
    let on_amd = app("agent").asking(500, 128).selecting("kubernetes.io/arch", "amd64");
    let cluster = Cluster::new([pool("general", machines)]).daemon_set("agent", agent(on_amd));
    assert_eq!(cluster.run(app("web").pods(2).asking(1000, 128)).outcome().machines(), ["arm"]);
}

#[test]
fn one_of_several_terms_is_enough_for_them() {
    let agent = app("agent").asking(500, 128).requiring("x", Operator::In, &["y"]).requiring(
        ZONE,
        Operator::In,
        &["a"],
    );
    assert_eq!(nodes_beside(only_small(), agent), 2);
}

#[test]
fn those_that_avoid_a_label_that_is_not_there_come() {
    let agent = app("agent").asking(500, 128).requiring("virtual", Operator::NotIn, &["yes"]);
    assert_eq!(nodes_beside(only_small(), agent), 2);
}

#[test]
fn those_that_only_prefer_a_label_come_everywhere() {
    assert_eq!(nodes_beside(only_small(), app("agent").asking(500, 128).preferring(9, ZONE, &["z"])), 2);
}

#[test]
fn those_that_are_for_one_node_do_not_come_to_others() {
    assert_eq!(nodes_beside(only_small(), app("agent").asking(500, 128).selecting(HOST, "n1")), 1);
}

#[test]
fn a_pod_that_fits_only_without_them_stays_pending() {
    let cluster = small().daemon_set("agent", agent(app("agent").asking(500, 128)));
    let outcome = cluster.run(app("web").asking(1600, 128)).outcome();
    assert_eq!((outcome.launched(), outcome.pending("web")), (0, 1));
}

#[test]
fn one_that_no_machine_holds_takes_nothing() {
    assert_eq!(nodes_beside(only_small(), app("agent").asking(5000, 128)), 1);
}

#[test]
fn several_are_added_up() {
    let cluster = small().daemon_set("one", agent(app("one").asking(300, 128)));
    let cluster = cluster.daemon_set("two", agent(app("two").asking(300, 128)));
    assert_eq!(cluster.run(app("web").pods(2).asking(800, 128)).outcome().launched(), 2);
}

#[test]
fn on_nodes_that_have_stood_for_long_they_have_come_or_will_not() {
    let cluster = small().daemon_set("agent", agent(app("agent").asking(500, 128)));
    let old = cluster.standing("old", "general", &machine("small", 2, 8, "0.10"));
    assert_eq!(old.run(app("web").pods(2).asking(1000, 128)).outcome().launched(), 0);
}

#[test]
fn one_that_is_there_is_not_counted_again() {
    let small_machine = machine("small", 2, 8, "0.10");
    let cluster = small().daemon_set("agent", agent(app("agent").asking(500, 128)));
    let cluster = cluster.standing_but("new", "general", &small_machine, |claim, _| {
        claim.initialized_at = Some(at(NOW - 1));
    });
    let mut here = app("agent").asking(500, 128).in_namespace("kube-system").on("node-of-new");
    here.shape.owner = PodOwner::DaemonSet;
    assert_eq!(cluster.run(here).run(app("web").asking(1500, 128)).plan().0.launches.len(), 0);
}

#[test]
fn pods_of_daemonsets_keep_no_node_and_need_none() {
    let mut stray = app("agent");
    stray.shape.owner = PodOwner::DaemonSet;
    assert_eq!(Cluster::new([general()]).run(stray).outcome().launched(), 0);
}

#[test]
fn what_they_take_does_not_depend_on_how_many_pods_share_the_node() {
    let cluster = small().daemon_set("agent", agent(app("agent").asking(1000, 128)));
    assert_eq!(cluster.run(app("web").pods(10).asking(100, 128)).outcome().launched(), 1);
}
