//! Several nodes that go together.

use windlass_core::model::{DisruptionBudget, Pool, Share};

use crate::cluster::Cluster;
use crate::nodes::{NOTHING, half_empty_in, large, small, stays, thrifty, thrifty_with, web};
use crate::shapes::{asks, machine};

/// A pool in which eight cores cost little more than two.
fn with_bargain(price: &str) -> Pool {
    thrifty_with(vec![small(), machine("bargain", 8, 32, price)])
}

#[test]
fn three_nodes_give_way_to_one() {
    let cluster = half_empty_in(with_bargain("0.15"), "abc", 1900);
    assert_eq!(
        (cluster.consolidated(), cluster.machines().len()),
        (vec!["a".into(), "b".into(), "c".into()], 1)
    );
    assert_eq!(
        cluster.decision().unwrap().message,
        "3 pods of 3 nodes can move to others and 1 new node, which saves 0.15/h"
    );
}

#[test]
fn nodes_do_not_give_way_to_one_that_costs_as_much() {
    assert_eq!(half_empty_in(with_bargain("0.30"), "abc", 1900).consolidated(), NOTHING);
    assert_eq!(half_empty_in(with_bargain("0.20"), "ab", 1100).consolidated(), NOTHING);
}

#[test]
fn the_new_machine_replaces_all_whose_pods_it_takes() {
    let (plan, _) = half_empty_in(with_bargain("0.15"), "abc", 1900).plan();
    assert_eq!(plan.launches[0].replaces, ["a".into(), "b".into(), "c".into()]);
    assert!(plan.launches[0].message.starts_with("a, b and c are to go; "), "{}", plan.launches[0].message);
}

#[test]
fn what_can_be_cleared_and_what_is_replaced_go_in_one_decision() {
    let cluster = Cluster::new([thrifty()]).small("a").small("b").large("c");
    let cluster =
        cluster.run(web('a', 100)).run(web('b', 1800).selecting("kubernetes.io/hostname", "node-of-b"));
    let cluster = cluster.run(web('c', 1950));
    assert_eq!(
        (cluster.consolidated(), cluster.machines()),
        (vec!["a".to_owned(), "c".to_owned()], vec!["small".to_owned()])
    );
}

#[test]
fn none_of_them_goes_before_all_replacements_stand() {
    let cluster = Cluster::new([thrifty()]).large("big").bound("web", 2, asks(1500, 512), "node-of-big");
    let decided = cluster.going_on();
    let names = decided.names_of_replacements("big");
    assert_eq!(names.len(), 2);
    let half = decided.machines_launched(0).nodes_joined();
    let late = half.0.claims[&*names[1]].clone();
    let half = half.without_claim(&names[1]).nodes_ready().claim((*late).clone());
    assert_eq!(half.removed(), NOTHING);
    assert_eq!(half.why("big"), format!("is to go: underutilized; waits for its replacement {}", names[1]));
    assert_eq!(half.nodes_ready().removed(), ["big"]);
}

#[test]
fn no_more_are_merged_than_the_pools_budget_allows() {
    let budget = |count| DisruptionBudget { nodes: Share::Count(count), reasons: [].into(), window: None };
    let limited = |count| Pool { budgets: vec![budget(count)], ..with_bargain("0.15") };
    assert_eq!(half_empty_in(limited(3), "abcd", 1900).consolidated(), ["a", "b", "c"]);
    assert_eq!(half_empty_in(limited(1), "abcd", 1900).consolidated(), NOTHING, "one alone would not pay");
}

#[test]
fn nodes_of_two_pools_are_merged() {
    let other = Pool { name: "other".into(), ..with_bargain("0.15") };
    let cluster = Cluster::new([with_bargain("0.15"), other]);
    let cluster = cluster.standing("a", "general", &small()).standing("b", "other", &small()).small("c");
    let cluster = "abc".chars().fold(cluster, |cluster, letter| cluster.run(web(letter, 1900)));
    assert_eq!(cluster.consolidated(), ["a", "b", "c"]);
    assert_eq!(cluster.machines(), ["bargain"]);
}

#[test]
fn the_minimum_of_a_pool_is_part_of_what_a_merger_costs() {
    let keeping = |least| Pool { min_nodes: least, ..with_bargain("0.15") };
    assert_eq!(half_empty_in(keeping(1), "abcd", 1900).consolidated().len(), 4);
    let three = half_empty_in(keeping(3), "abcd", 1900);
    let (going, new) = (three.consolidated().len(), three.machines().len());
    assert!(4 - going + new >= 3, "{going} go and {new} come");
}

#[test]
fn one_that_stays_after_all_does_not_keep_the_others() {
    let cluster = half_empty_in(thrifty(), "abc", 500).going_on();
    let asking = cluster.pod_but("web-a-1", |pod| pod.stays_until = Some(crate::nodes::always()));
    assert_eq!(asking.taken_back(), stays("a", "pod default/web-a-1 is not to be disrupted"));
    assert_eq!(asking.removed(), ["b"]);
}

#[test]
fn many_nodes_are_cleared_in_one_decision() {
    let mut cluster = Cluster::new([thrifty()]);
    for number in 0..40 {
        let name = format!("n{number:02}");
        cluster = cluster.small(&name).bound(&name, 1, asks(200, 128), &format!("node-of-{name}"));
    }
    assert_eq!(cluster.consolidated().len(), 36, "ten pods fit on each of those that stay");
}

#[test]
fn a_node_that_alone_saves_nothing_stays_while_others_go() {
    let cluster = Cluster::new([thrifty()]).standing("full", "general", &large()).small("a").small("b");
    let cluster =
        cluster.bound("busy", 4, asks(1950, 512), "node-of-full").run(web('a', 400)).run(web('b', 400));
    assert_eq!(cluster.consolidated(), ["a"]);
}
