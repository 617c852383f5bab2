//! Ports of the node that pods take for themselves.

use windlass_core::model::{PodOwner, PodShape};

use crate::workload::{Workload, app, three_zones};

fn hosts(workloads: impl IntoIterator<Item = Workload>) -> usize {
    workloads.into_iter().fold(three_zones(), |cluster, workload| cluster.run(workload)).outcome().launched()
}

#[test]
fn pods_with_the_same_port_get_different_nodes() {
    assert_eq!(three_zones().run(app("web").pods(3).port(80)).outcome().hosts("web"), [1, 1, 1]);
}

#[test]
fn pods_with_different_ports_share_a_node() {
    assert_eq!(hosts([app("one").port(80), app("two").port(81)]), 1);
}

#[test]
fn the_same_number_of_another_protocol_is_another_port() {
    assert_eq!(hosts([app("one").port(53), app("two").port_at("UDP", "0.0.0.0", 53)]), 1);
}

#[test]
fn the_same_port_on_different_addresses_can_be_shared() {
    assert_eq!(
        hosts([app("one").port_at("TCP", "10.0.0.1", 80), app("two").port_at("TCP", "10.0.0.2", 80)]),
        1
    );
}

#[test]
fn a_port_on_all_addresses_clashes_with_the_same_on_one() {
    assert_eq!(hosts([app("one").port(80), app("two").port_at("TCP", "10.0.0.1", 80)]), 2);
}

#[test]
fn the_same_port_on_the_same_address_clashes() {
    let one = |name: &str| app(name).port_at("TCP", "10.0.0.1", 80);
    assert_eq!(hosts([one("one"), one("two")]), 2);
}

#[test]
fn a_pod_that_names_a_port_twice_takes_it_once() {
    assert_eq!(hosts([app("web").port(80).port_at("TCP", "10.0.0.1", 80)]), 1);
}

#[test]
fn a_port_that_is_taken_on_a_node_keeps_others_off() {
    let cluster = three_zones().node_in("old", "a", 8, 32).run(app("old").port(80).on("old"));
    assert_eq!(cluster.clone().run(app("web").port(80)).outcome().launched(), 1);
    assert_eq!(cluster.run(app("web").port(81)).outcome().nodes("web"), ["old"]);
}

#[test]
fn a_port_of_a_daemonset_is_taken_on_every_new_node() {
    let mut agent: PodShape = app("agent").port(9100).shape;
    agent.owner = PodOwner::DaemonSet;
    let cluster = three_zones().daemon_set("agent", agent);
    assert_eq!(cluster.clone().run(app("web").port(9100)).outcome().pending("web"), 1);
    assert_eq!(cluster.run(app("web").port(9101)).outcome().placed("web"), 1);
}

#[test]
fn a_port_of_a_daemonset_that_does_not_run_there_is_free() {
    let mut agent: PodShape = app("agent").port(9100).selecting("disk", "ssd").shape;
    agent.owner = PodOwner::DaemonSet;
    assert_eq!(
        three_zones().daemon_set("agent", agent).run(app("web").port(9100)).outcome().placed("web"),
        1
    );
}

#[test]
fn pods_without_ports_share_nodes_with_those_that_have() {
    let outcome = three_zones().run(app("web").pods(2).port(80)).run(app("job").pods(4)).outcome();
    assert_eq!(outcome.launched(), 2);
}

#[test]
fn several_ports_are_all_taken() {
    assert_eq!(hosts([app("one").port(80).port(443), app("two").port(443), app("three").port(80)]), 2);
}
