//! Pools of a fixed number of nodes.

use windlass_core::model::{DisruptionReason, Pool};

use crate::cluster::Cluster;
use crate::nodes::{NOTHING, half_empty_in, large, small, web};
use crate::shapes::{asks, pool};

fn fixed(replicas: u32) -> Pool {
    Pool { replicas: Some(replicas), min_nodes: replicas, ..pool("general", vec![small(), large()]) }
}

#[test]
fn a_pool_gets_the_nodes_that_it_is_to_have() {
    assert_eq!(Cluster::new([fixed(3)]).launches(), vec![("small".to_owned(), 0); 3]);
}

#[test]
fn a_lost_node_is_replaced() {
    assert_eq!(half_empty_in(fixed(3), "ab", 500).launches(), [("small".to_owned(), 0)]);
}

#[test]
fn pods_get_no_machines_from_it() {
    let cluster = half_empty_in(fixed(1), "a", 1500).pending("new", 1, asks(1500, 128));
    assert!(cluster.plan().0.is_empty());
    assert_eq!(cluster.excuse(), "pool general: the pool has 1 nodes whatever pods ask for");
}

#[test]
fn pods_wait_for_its_nodes_that_are_on_their_way() {
    let cluster = Cluster::new([fixed(1)]).pending("new", 1, asks(1500, 128));
    let (plan, _) = cluster.plan();
    assert_eq!(plan.launches.len(), 1);
    let next = cluster.after(&plan);
    assert!(next.plan().0.is_empty() && next.excuse().is_empty(), "{}", next.excuse());
}

#[test]
fn its_empty_nodes_stay() {
    let cluster = Cluster::new([fixed(2)]).small("a").small("b");
    assert!(cluster.plan().0.is_empty());
    assert_eq!(cluster.why("a"), "kept: its pool has 2 nodes, whatever runs on them");
}

#[test]
fn its_nodes_are_not_consolidated() {
    let thrifty = Pool { consolidation: windlass_core::model::Consolidation::Underutilized, ..fixed(4) };
    assert_eq!(half_empty_in(thrifty, "abcd", 200).consolidated(), NOTHING);
}

#[test]
fn those_with_the_fewest_pods_go_when_it_is_to_have_fewer() {
    let cluster = half_empty_in(fixed(2), "abcd", 200).run(web('a', 200).pods(3)).run(web('c', 200).pods(2));
    assert_eq!(cluster.rotated(DisruptionReason::Surplus), ["b", "d"]);
    assert_eq!(cluster.why("b"), "surplus: its pool is to have 2 nodes");
}

#[test]
fn too_many_go_also_where_their_pods_find_no_place() {
    let cluster = half_empty_in(fixed(1), "ab", 1500);
    assert_eq!(cluster.plan().0.disruptions.len(), 1);
    assert_eq!(cluster.going_on().removed().len(), 1);
}

#[test]
fn one_of_its_nodes_that_has_drifted_is_replaced_by_another() {
    let pool = Pool { template: Some("new".into()), ..fixed(2) };
    let cluster = Cluster::new([pool])
        .small("a")
        .small("b")
        .claim_but("a", |claim| claim.template = Some("old".into()));
    let (plan, _) = cluster.plan();
    assert_eq!((plan.disruptions.len(), plan.launches.len()), (1, 1));
    assert_eq!(cluster.going_on().removed(), NOTHING);
    assert_eq!(cluster.going_on().replaced().removed(), ["a"]);
}
