use std::time::Duration;

use windlass_core::model::{DisruptionReason, InstanceType, PodOwner, PodShape, PodState, Pool, Readiness};

use crate::cluster::{Cluster, NOW, just_made};
use crate::shapes::{asks, at, machine, pool};

fn small() -> InstanceType {
    machine("small", 2, 8, "0.10")
}

fn general() -> Pool {
    pool("general", vec![small()])
}

fn cluster() -> Cluster {
    Cluster::new([general()]).standing("one", "general", &small())
}

#[test]
fn an_empty_node_goes_after_the_pools_delay() {
    let (plan, _) = cluster().plan();
    let decided = &plan.disruptions[0];
    assert_eq!((&*decided.claims[0].0, decided.reason), ("one", DisruptionReason::Empty));
    assert_eq!(cluster().why("one"), "empty for 1000 s");
    assert!(cluster().after(&plan).plan().0.is_empty());

    let fresh = cluster().pod_changed("node-of-one", NOW - 12);
    assert_eq!(fresh.removals(), Vec::<String>::new());
    assert_eq!(fresh.why("one"), "empty for 12 s, goes after 30 s");
    assert_eq!(fresh.plan().0.wake_at, Some(at(NOW + 18)));
    assert_eq!(cluster().pod_changed("node-of-one", NOW - 30).removals(), ["one"]);
}

#[test]
fn a_node_counts_as_empty_from_when_it_could_take_pods() {
    let young = |claim: &mut windlass_core::model::Claim| claim.initialized_at = Some(at(NOW - 1));
    let cluster = Cluster::new([general()]).standing_but("one", "general", &small(), |claim, _| young(claim));
    assert_eq!(cluster.plan().0.wake_at, Some(at(NOW + 29)));
}

#[test]
fn a_pool_may_keep_its_nodes_for_ever() {
    for delay in [None, Some(Duration::MAX)] {
        let keeps = Pool { consolidate_after: delay, ..general() };
        let cluster = Cluster::new([keeps]).standing("one", "general", &small());
        assert_eq!((cluster.removals().len(), cluster.plan().0.wake_at), (0, None));
    }
}

#[test]
fn pods_keep_their_node_even_while_they_are_deleted_and_even_if_they_are_nobodys() {
    let busy =
        cluster().bound("web", 3, PodShape { owner: PodOwner::Nobody, ..asks(100, 128) }, "node-of-one");
    assert_eq!(busy.why("one"), "runs 3 pods");
    assert_eq!(busy.deleting_pods().removals(), Vec::<String>::new());
}

#[test]
fn pods_that_belong_to_the_node_do_not_keep_it() {
    let daemons =
        cluster().bound("agent", 2, PodShape { owner: PodOwner::DaemonSet, ..asks(100, 128) }, "node-of-one");
    let mirrors =
        daemons.bound("etcd", 1, PodShape { owner: PodOwner::Node, ..asks(100, 128) }, "node-of-one");
    assert_eq!(mirrors.removals(), ["one"]);
}

#[test]
fn pods_that_may_go_to_a_node_keep_it() {
    let pending = cluster().pending("web", 1, asks(1000, 1024));
    assert_eq!(pending.why("one"), "pods are expected on it");
    let waiting = cluster().pods("web", 1, asks(1000, 1024), &just_made());
    assert_eq!(waiting.removals(), Vec::<String>::new());
    let gated = cluster().pods("web", 1, asks(1000, 1024), &PodState::Gated);
    assert_eq!(gated.removals(), ["one"]);
}

#[test]
fn pods_go_to_nodes_that_stay_anyway() {
    let cluster =
        cluster().standing("two", "general", &small()).bound("web", 1, asks(500, 512), "node-of-two");
    assert_eq!(cluster.pods("new", 1, asks(500, 512), &just_made()).removals(), ["one"]);
}

#[test]
fn the_pools_minimum_stays_and_the_dearest_go_first() {
    let pool = Pool { min_nodes: 1, ..pool("general", vec![small(), machine("large", 8, 32, "0.40")]) };
    let cluster = Cluster::new([pool]).standing("a", "general", &small());
    let cluster =
        cluster.standing("b", "general", &machine("large", 8, 32, "0.40")).standing("c", "general", &small());
    assert_eq!(cluster.removals(), ["a", "b"]);
    assert_eq!(cluster.why("c"), "kept for the pool's minimum of 1");
}

#[test]
fn what_is_arriving_does_not_count_for_the_minimum_that_must_stand() {
    let keeping = Pool { min_nodes: 1, ..general() };
    let cluster = Cluster::new([keeping]).standing("one", "general", &small());
    let cluster = cluster.claim(crate::shapes::claim("new", "general", &[small()]));
    assert_eq!(cluster.removals(), Vec::<String>::new());
}

#[test]
fn a_node_that_is_not_ready_is_not_called_empty() {
    let cluster = Cluster::new([general()]).standing_but("one", "general", &small(), |_, node| {
        node.readiness = Readiness::NotReady { since: at(0) };
    });
    assert_eq!((cluster.removals().len(), &*cluster.why("one")), (0, "its node is not ready"));
}

#[test]
fn a_node_whose_pool_is_gone_stays() {
    let cluster = Cluster::new([]).standing("one", "gone", &small());
    assert_eq!(cluster.why("one"), "empty, but its pool gone is not there to say for how long");
}

#[test]
fn an_empty_node_that_is_cordoned_goes_too() {
    let cluster = Cluster::new([general()])
        .standing_but("one", "general", &small(), |_, node| node.unschedulable = true);
    assert_eq!(cluster.removals(), ["one"]);
}
