//! Nodes whose pods fit on others.

use std::time::Duration;

use windlass_core::model::{Consolidation, PodOwner, Pool};

use crate::cluster::{Cluster, NOW};
use crate::nodes::{
    NOTHING, discontinued, frugal, half_empty, half_empty_in, large, owned, small, stays, thrifty,
    thrifty_with, web,
};
use crate::shapes::{asks, at, machine, node, pool, size, taint};
use crate::workload::app;

#[test]
fn pods_move_to_nodes_that_are_not_ours() {
    let cluster = half_empty("a", 500).node(node("theirs", size(4, 16)));
    assert_eq!(cluster.consolidated(), ["a"]);
    assert_eq!(cluster.decision().unwrap().message, "1 pod of 1 node can move to others, which saves 0.10/h");
}

#[test]
fn a_pod_that_no_machine_could_serve_does_not_keep_nodes() {
    let cluster = half_empty("ab", 500).pending("giant", 1, asks(100_000, 128));
    assert_eq!(cluster.consolidated(), ["a"]);
}

#[test]
fn a_node_stays_whose_pods_would_have_to_wait() {
    let full = Pool { max_nodes: Some(2), ..thrifty() };
    let cluster = Cluster::new([full]).small("a").small("b").run(web('a', 1200)).run(web('b', 1200));
    assert_eq!(cluster.consolidated(), NOTHING);
    assert_eq!(cluster.why("a"), "runs 1 pod");
}

#[test]
fn there_must_be_room_in_every_resource() {
    let hungry = |letter| web(letter, 100).asking(100, 6 << 10);
    assert_eq!(
        half_empty("", 0).small("a").small("b").run(hungry('a')).run(hungry('b')).consolidated(),
        NOTHING
    );
    let gpu = half_empty("b", 100).large("a").run(web('a', 100).asking_for("nvidia.com/gpu", 1));
    assert_eq!(gpu.consolidated(), ["b"], "the other way round");
    let crowded = node("theirs", size(8, 32).with("pods", 2));
    let cluster = half_empty("ab", 1200).node(crowded).bound("x", 1, asks(1, 1), "theirs");
    assert_eq!(cluster.consolidated(), ["a"], "one place for a pod is left there");
}

#[test]
fn the_node_that_saves_most_for_each_pod_that_moves_goes_first() {
    let keeping = Pool { min_nodes: 2, ..frugal() };
    let busy = Cluster::new([keeping]).large("a").large("b").large("c");
    let cluster =
        busy.bound("many", 5, asks(100, 128), "node-of-a").bound("few", 1, asks(100, 128), "node-of-b");
    let cluster = cluster.bound("some", 2, asks(100, 128), "node-of-c");
    assert_eq!(cluster.consolidated(), ["b"]);
}

#[test]
fn of_two_nodes_with_equally_many_pods_the_dearer_goes() {
    let cluster = Cluster::new([thrifty()]).small("a").large("b").run(web('a', 500)).run(web('b', 500));
    assert_eq!(cluster.consolidated(), ["b"]);
}

#[test]
fn a_node_that_takes_pods_does_not_go_in_the_same_decision() {
    assert_eq!(half_empty("abcd", 900).consolidated(), ["a", "b"]);
    let cluster = Cluster::new([frugal()]).small("a").small("b").run(web('a', 500)).run(web('b', 300));
    let nearly_full = cluster.node(node("theirs", size(2, 8))).bound("x", 1, asks(1600, 128), "theirs");
    assert_eq!(nearly_full.consolidated(), ["a"], "b has taken its pod, though its own would fit elsewhere");
}

#[test]
fn pods_move_to_nodes_of_other_pools() {
    let other = Pool { consolidation: Consolidation::Empty, ..pool("other", vec![small()]) };
    let cluster = Cluster::new([thrifty(), other]).small("a").run(web('a', 500));
    let cluster = cluster.standing("b", "other", &small()).run(web('b', 500));
    assert_eq!(cluster.consolidated(), ["a"], "the other pool gives back only what is empty");
}

#[test]
fn nodes_that_are_never_given_back_take_pods() {
    let other = Pool { consolidate_after: None, ..pool("other", vec![small()]) };
    let cluster = Cluster::new([thrifty(), other]).small("a").run(web('a', 500));
    let cluster = cluster.standing("b", "other", &small()).run(web('b', 500));
    assert_eq!(cluster.consolidated(), ["a"]);
}

#[test]
fn a_pool_that_cannot_be_used_does_not_keep_the_others_from_it() {
    let broken = Pool { unusable: Some("its provider is not there".into()), ..pool("broken", vec![]) };
    let cluster = half_empty("ab", 500).with_pool(broken);
    assert_eq!(cluster.consolidated(), ["a"]);
}

#[test]
fn nodes_of_a_pool_that_cannot_be_used_are_cleared_but_not_replaced() {
    let broken = Pool { unusable: Some("its provider is not there".into()), ..thrifty() };
    let cluster = Cluster::new([broken]).small("a").small("b").run(web('a', 500)).run(web('b', 500));
    assert_eq!(cluster.consolidated(), ["a"]);
    let broken = Pool { unusable: Some("its provider is not there".into()), ..thrifty() };
    assert_eq!(Cluster::new([broken]).large("c").run(web('c', 500)).consolidated(), NOTHING);
}

#[test]
fn a_node_that_somebody_cordoned_is_cleared_and_takes_no_pods() {
    let cluster = half_empty("ab", 500).node_but("b", |node| node.unschedulable = true);
    assert_eq!(cluster.consolidated(), ["b"]);
}

#[test]
fn nodes_that_are_on_their_way_out_or_not_ready_take_no_pods() {
    let two = || half_empty("ab", 500);
    assert_eq!(two().node_but("b", |node| node.deleting = true).consolidated(), NOTHING);
    assert_eq!(two().claim_but("b", |claim| claim.deleting = true).consolidated(), NOTHING);
    assert_eq!(two().not_ready("b", NOW - 600).consolidated(), NOTHING);
}

#[test]
fn a_node_that_may_be_back_in_a_moment_is_waited_for_and_not_relied_on() {
    let cluster = half_empty("ab", 500).not_ready("b", NOW - 5);
    let decided = cluster.going_on();
    assert_eq!(decided.removed(), NOTHING);
    assert_eq!(decided.why("a"), "is to go: underutilized; waits for the nodes that 1 pod of it will go to");
    let lost = decided.not_ready("b", NOW - 600);
    assert_eq!(lost.taken_back(), stays("a", "1 pod of it would find no place"));
}

#[test]
fn pods_that_come_and_go_with_the_node_need_no_other_place() {
    let daemon = owned("agent", PodOwner::DaemonSet).asking(1000, 128).on("node-of-a");
    let cluster = half_empty_in(frugal(), "ab", 900).run(daemon);
    assert_eq!(cluster.consolidated(), ["a"]);
    assert!(cluster.decision().unwrap().message.starts_with("1 pod of 1 node"));
    let mirror = owned("etcd", PodOwner::Node).asking(1000, 128).on("node-of-b");
    assert_eq!(cluster.run(mirror).consolidated(), NOTHING, "they take room where they are");
}

#[test]
fn a_taint_keeps_pods_away_that_do_not_tolerate_it_and_no_others() {
    let dedicated = |tolerant: bool| {
        let pod = if tolerant { web('a', 500).tolerating("dedicated") } else { web('a', 500) };
        let cluster = half_empty("b", 1100).small("a").run(pod);
        cluster.node_but("b", |node| node.taints.push(taint("dedicated")))
    };
    assert_eq!(dedicated(false).consolidated(), ["b"], "only the untainted one takes pods");
    assert_eq!(dedicated(true).consolidated(), ["a"]);
}

#[test]
fn a_machine_that_nobody_offers_any_more_can_be_cleared() {
    let cluster = half_empty("b", 500).standing("a", "general", &discontinued());
    assert_eq!(cluster.run(web('a', 500)).consolidated(), ["a"]);
}

#[test]
fn a_node_without_the_usual_labels_can_be_cleared() {
    let bare = |cluster: Cluster| {
        cluster.node_but("a", |node| {
            let kept = node.labels.iter().filter(|(key, _)| &***key == "kubernetes.io/hostname");
            node.labels = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
        })
    };
    assert_eq!(bare(half_empty("ab", 500)).consolidated(), ["a"]);
}

#[test]
fn pods_that_get_no_machines_do_not_keep_one_either() {
    let mut cluster = half_empty("", 0).small("a").run(web('a', 500).priority(-100));
    assert_eq!(cluster.consolidated(), NOTHING);
    cluster.0.settings.min_priority = 0;
    assert_eq!(cluster.consolidated(), ["a"]);
}

#[test]
fn what_is_saved_is_what_the_machine_cost_when_it_was_launched() {
    let cheaper_today = Pool { max_nodes: Some(0), ..thrifty_with(vec![machine("small", 2, 8, "0.04")]) };
    let cluster = Cluster::new([cheaper_today]).small("a").small("b").run(web('a', 500)).run(web('b', 500));
    assert!(cluster.decision().unwrap().message.ends_with("which saves 0.10/h"));
}

#[test]
fn a_node_is_left_alone_until_nothing_has_changed_on_it_for_the_pools_delay() {
    let patient = Pool { consolidate_after: Some(Duration::from_mins(10)), ..thrifty() };
    let changed = |second| {
        let cluster = half_empty_in(patient.clone(), "ab", 500);
        cluster.pod_changed("node-of-a", second).pod_changed("node-of-b", NOW)
    };
    assert_eq!(changed(NOW - 599).consolidated(), NOTHING);
    assert_eq!(changed(NOW - 600).consolidated(), ["a"]);
}

#[test]
fn a_node_that_has_only_just_become_ready_is_left_alone() {
    let young = |second| {
        half_empty("ab", 500)
            .claim_but("a", |claim| claim.initialized_at = Some(at(second)))
            .pod_changed("node-of-b", NOW)
    };
    assert_eq!(young(NOW - 29).consolidated(), NOTHING);
    assert_eq!(young(NOW - 30).consolidated(), ["a"]);
    assert_eq!(
        half_empty("ab", 500).claim_but("a", |claim| claim.initialized_at = None).consolidated(),
        ["b"]
    );
}

#[test]
fn a_large_node_takes_what_many_small_ones_hold() {
    let cluster = half_empty("abcdef", 1000).standing("z", "general", &large());
    let cluster = cluster.run(app("z").asking(500, 128).on("node-of-z")).pod_changed("node-of-z", NOW);
    assert_eq!(cluster.consolidated(), ["a", "b", "c", "d", "e", "f"]);
}

#[test]
fn a_pool_keeps_its_minimum_where_nothing_new_may_be_launched() {
    let fixed = Pool { min_nodes: 3, max_nodes: Some(3), ..thrifty() };
    let cluster = half_empty_in(fixed, "abc", 200);
    assert_eq!(cluster.consolidated(), NOTHING, "what goes would have to be got again");
    let one_more = Pool { min_nodes: 2, max_nodes: Some(2), ..thrifty() };
    assert_eq!(half_empty_in(one_more, "abc", 200).consolidated(), ["a"]);
}

#[test]
fn pods_do_not_move_into_room_that_those_of_a_node_on_its_way_out_wait_for() {
    let goes = |milli: i64| {
        let four = || machine("four", 4, 16, "0.10");
        let varied = Pool { template: Some("new".into()), ..thrifty_with(vec![four()]) };
        let cluster = Cluster::new([varied]).large("old").standing("free", "general", &four());
        let cluster = cluster.bound("big", 2, asks(2900, 128), "node-of-old");
        let cluster = ["old", "free"].iter().fold(cluster, |cluster, name| {
            let template = if *name == "old" { "old" } else { "new" };
            cluster.claim_but(name, |claim| claim.template = Some(template.into()))
        });
        // One of its pods is to move to the node that is free, and a machine is got for the other.
        assert_eq!(cluster.machines(), ["four"]);
        let waiting = cluster.going_on().small("half").bound("tiny", 3, asks(milli, 128), "node-of-half");
        waiting.claim_but("half", |claim| claim.template = Some("new".into())).decision().is_some()
    };
    assert!(goes(300), "there is room for all of them wherever they go");
    assert!(!goes(400), "until the machine is there, the three have nowhere to go but to the free node");
}
