//! Pods and nodes that ask to be left alone.

use std::time::Duration;

use windlass_core::model::{DisruptionReason, PodOwner, Pool};

use crate::cluster::Cluster;
use crate::nodes::{NOTHING, always, half_empty, half_empty_in, large, owned, soon, stays, thrifty, web};

#[test]
fn an_empty_node_that_asks_for_it_stays() {
    let cluster =
        Cluster::new([thrifty()]).small("a").node_but("a", |node| node.stays_until = Some(always()));
    assert_eq!(cluster.emptied(), NOTHING);
    assert_eq!(cluster.why("a"), "empty for 1000 s, but node node-of-a is not to be disrupted");
    assert_eq!(cluster.plan().0.wake_at, None);
}

#[test]
fn an_empty_node_that_asks_for_a_while_goes_after_it() {
    let asking = |seconds| {
        Cluster::new([thrifty()]).small("a").node_but("a", |node| node.stays_until = Some(soon(seconds)))
    };
    assert_eq!((asking(60).emptied().len(), asking(60).plan().0.wake_at), (0, Some(soon(60))));
    assert_eq!(asking(0).emptied(), ["a"]);
}

#[test]
fn a_node_is_left_alone_until_the_last_of_its_pods_no_longer_asks_for_it() {
    let two = half_empty("ab", 200).run(web('b', 200)).run(web('a', 200).pods(2));
    let asking = |first, second| {
        let cluster = two.clone().pod_but("web-a-1", |pod| pod.stays_until = Some(soon(first)));
        let cluster = cluster.pod_but("web-a-2", |pod| pod.stays_until = Some(soon(second)));
        cluster.pod_but("web-b-1", |pod| pod.stays_until = Some(always()))
    };
    assert_eq!(asking(0, 60).consolidated(), NOTHING);
    assert_eq!(asking(0, 0).consolidated(), ["a"]);
}

#[test]
fn a_node_that_is_left_alone_takes_pods_of_others() {
    let cluster = half_empty("ab", 500).node_but("a", |node| node.stays_until = Some(always()));
    assert_eq!(cluster.consolidated(), ["b"]);
}

#[test]
fn a_node_that_is_left_alone_is_not_replaced_either() {
    let big = |until| {
        let cluster = Cluster::new([thrifty()]).large("a").run(web('a', 500));
        cluster.node_but("a", |node| node.stays_until = until)
    };
    assert_eq!(big(None).consolidated(), ["a"]);
    assert_eq!(big(Some(soon(1))).consolidated(), NOTHING);
    assert_eq!(big(Some(soon(0))).consolidated(), ["a"]);
}

#[test]
fn a_time_limit_for_drains_does_not_make_pods_that_ask_to_stay_movable() {
    let limited = Pool { termination_grace_period: Some(Duration::from_mins(5)), ..thrifty() };
    let cluster =
        half_empty_in(limited, "ab", 500).pod_but("web-a-1", |pod| pod.stays_until = Some(always()));
    assert_eq!(cluster.consolidated(), ["b"]);
}

#[test]
fn pods_of_daemonsets_and_static_pods_do_not_keep_a_node_whatever_they_ask() {
    for owner in [PodOwner::DaemonSet, PodOwner::Node] {
        let cluster = half_empty("ab", 500).run(owned("own", owner).on("node-of-a"));
        let cluster = cluster.pod_but("own-1", |pod| pod.stays_until = Some(always()));
        assert_eq!(cluster.consolidated(), ["a"]);
    }
}

#[test]
fn a_pod_that_is_being_deleted_keeps_no_node_for_itself() {
    let cluster = half_empty("ab", 500).run(owned("gone", PodOwner::Nobody).on("node-of-a").deleting());
    let cluster = cluster.pod_but("gone-1", |pod| pod.stays_until = Some(always()));
    assert_eq!(cluster.consolidated(), ["a"]);
    assert!(cluster.decision().unwrap().message.starts_with("1 pod of 1 node"), "the other one moves");
}

#[test]
fn a_pod_that_asks_to_stay_after_the_decision_has_it_taken_back() {
    let cluster = half_empty("ab", 500).going_on();
    assert_eq!(cluster.removed(), ["a"]);
    let asking = cluster.clone().pod_but("web-a-1", |pod| pod.stays_until = Some(always()));
    assert_eq!(asking.taken_back(), stays("a", "pod default/web-a-1 is not to be disrupted"));
    let node_asks = cluster.node_but("a", |node| node.stays_until = Some(always()));
    assert_eq!(node_asks.taken_back(), stays("a", "node node-of-a is not to be disrupted"));
}

#[test]
fn a_sick_node_goes_whatever_was_asked() {
    let cluster =
        half_empty("ab", 500).not_ready("a", 0).node_but("a", |node| node.stays_until = Some(always()));
    let cluster = cluster.pod_but("web-a-1", |pod| pod.stays_until = Some(always()));
    let sick = cluster.claim_but("a", |claim| claim.disrupted = Some(DisruptionReason::Sick));
    assert_eq!(sick.removed(), ["a"]);
}

#[test]
fn one_pod_that_stays_keeps_only_its_own_node() {
    let cluster = half_empty("abc", 500).standing("d", "general", &large());
    let cluster = cluster.run(web('d', 500)).pod_but("web-d-1", |pod| pod.stays_until = Some(always()));
    assert_eq!(cluster.consolidated(), ["a", "b", "c"]);
}

#[test]
fn a_pod_without_a_controller_that_is_called_safe_to_evict_keeps_no_node() {
    let cluster = half_empty("ab", 500).run(owned("own", PodOwner::Nobody).on("node-of-a"));
    assert_eq!(cluster.consolidated(), ["b"]);
    let safe = cluster.pod_but("own-1", |pod| pod.may_go = true);
    let safe = safe.pod_but("web-b-1", |pod| pod.stays_until = Some(always()));
    assert_eq!(safe.consolidated(), ["a"]);
}

#[test]
fn a_node_with_a_pod_that_is_called_safe_to_evict_gives_way_when_its_time_comes() {
    let cluster = half_empty("a", 500).run(owned("own", PodOwner::Nobody).on("node-of-a"));
    let asked = cluster.claim_but("a", |claim| claim.asked_to_go = true);
    assert!(asked.plan().0.is_empty());
    assert_eq!(asked.pod_but("own-1", |pod| pod.may_go = true).rotated(DisruptionReason::Manual), ["a"]);
}
