use windlass_core::model::{
    Claim, ClaimPhase, DisruptionReason, InstanceType, Operator, PodOwner, PodShape, Resources, well_known,
};
use windlass_core::plan::Target;

use crate::cluster::{Cluster, NOW};
use crate::shapes::{asks, at, claim, joined, launched, machine, offering, pool, selecting, taint, term};

fn small() -> InstanceType {
    machine("small", 2, 8, "0.10")
}

fn large() -> InstanceType {
    machine("large", 4, 16, "0.20")
}

fn cluster() -> Cluster {
    Cluster::new([pool("general", vec![small(), large()])])
}

#[test]
fn a_pod_waits_for_a_machine_that_is_on_its_way() {
    let cluster = cluster().claim(claim("new", "general", &[small()])).pending("web", 2, asks(1000, 1024));
    let (plan, _) = cluster.plan();
    assert!(plan.launches.is_empty());
    assert!(plan.placements.iter().all(|placement| placement.target == Target::Claim("new".into())));
    assert_eq!(cluster.why("new"), "arriving: waits for its machine");
}

#[test]
fn as_long_as_the_machine_is_not_known_only_the_least_of_what_it_may_be_counts() {
    let open = claim("new", "general", &[large(), small()]);
    let pods = |claim| cluster().claim(claim).pending("web", 4, asks(1000, 1024)).launches();
    assert_eq!(pods(open.clone()), [("small".to_owned(), 2)]);
    assert_eq!(pods(launched(open, 0)), []);
}

#[test]
fn a_pod_that_only_one_of_the_alternatives_suits_is_not_promised_the_claim() {
    let mut elsewhere = small();
    elsewhere.offerings = vec![offering("b", "0.10")];
    let open = claim("new", "general", &[small(), elsewhere]);
    let to_claim = |shape: PodShape| {
        let (plan, _) = cluster().claim(open.clone()).pending("web", 1, shape).plan();
        plan.placements.iter().any(|placement| placement.target == Target::Claim("new".into()))
    };
    let zoned = |operator, values: &[&str]| PodShape {
        node_affinity: vec![term(well_known::ZONE, operator, values)],
        ..asks(100, 128)
    };
    assert!(!to_claim(selecting(well_known::ZONE, "a", asks(100, 128))));
    assert!(!to_claim(zoned(Operator::NotIn, &["a"])));
    assert!(to_claim(zoned(Operator::In, &["a", "b"])));
    assert!(to_claim(selecting(well_known::ARCH, "amd64", asks(100, 128))));
    assert!(to_claim(selecting(well_known::POOL, "general", asks(100, 128))));
}

#[test]
fn daemonsets_take_their_room_on_what_is_arriving_until_they_are_there() {
    let agent = PodShape { owner: PodOwner::DaemonSet, ..asks(1000, 1024) };
    let cluster = cluster().daemon_set("agent", agent.clone()).pending("web", 1, asks(1500, 1024));
    let booting = launched(claim("new", "general", &[small()]), 0);
    assert_eq!(cluster.clone().claim(booting.clone()).launches(), [("large".to_owned(), 1)]);
    let here = cluster
        .clone()
        .node(joined(&booting, at(NOW)))
        .claim(Claim { phase: ClaimPhase::Registered, ..booting });
    let (plan, _) = here
        .clone()
        .bound("other", 1, PodShape { requests: Resources::new(), ..agent.clone() }, "node-of-new")
        .plan();
    assert_eq!(plan.launches.len(), 1);
    let mut with_agent =
        here.bound("agent", 1, PodShape { requests: Resources::new(), ..agent }, "node-of-new");
    move_to_kube_system(&mut with_agent);
    assert_eq!(with_agent.launches(), []);
}

/// Daemonsets of the tests are in `kube-system`, and so are their pods.
fn move_to_kube_system(cluster: &mut Cluster) {
    let pods = std::sync::Arc::make_mut(&mut cluster.0.pods);
    let moved =
        pods.values().filter(|pod| pod.shape.owner == PodOwner::DaemonSet).cloned().collect::<Vec<_>>();
    for pod in moved {
        pods.remove(&pod.id);
        let mut pod = (*pod).clone();
        pod.id.namespace = "kube-system".into();
        pods.insert(pod.id.clone(), pod.into());
    }
}

#[test]
fn a_node_that_is_starting_up_is_not_judged_by_what_will_pass() {
    let starting = Claim {
        phase: ClaimPhase::Registered,
        startup_taints: vec![taint("cni")],
        ..launched(claim("new", "general", &[small()]), 0)
    };
    let mut node = joined(&starting, at(0));
    for passing in
        ["node.cloudprovider.kubernetes.io/uninitialized", "node.kubernetes.io/network-unavailable"]
    {
        node.taints.push(taint(passing));
    }
    let cluster = cluster().claim(starting).pending("web", 2, asks(1000, 1024));
    assert_eq!(cluster.clone().node(node.clone()).launches(), []);
    node.taints.push(taint("for-good"));
    assert_eq!(cluster.node(node).launches(), [("small".to_owned(), 2)]);
}

#[test]
fn a_device_that_has_not_shown_up_on_a_new_node_yet_is_waited_for() {
    let mut gpu = machine("gpu", 8, 32, "2.00");
    gpu.allocatable.set("nvidia.com/gpu", 1);
    let starting = Claim {
        phase: ClaimPhase::Registered,
        ..launched(claim("new", "gpus", std::slice::from_ref(&gpu)), 0)
    };
    let mut node = joined(&starting, at(NOW));
    node.allocatable.set("nvidia.com/gpu", 0);
    let mut asks = asks(1000, 1024);
    asks.requests.set("nvidia.com/gpu", 1);
    let cluster =
        Cluster::new([pool("gpus", vec![gpu])]).node(node).claim(starting).pending("train", 1, asks);
    assert_eq!(cluster.launches(), []);
}

#[test]
fn what_is_on_its_way_out_is_not_waited_for() {
    let gone = Claim { deleting: true, ..claim("new", "general", &[small()]) };
    let sick = Claim { disrupted: Some(DisruptionReason::Sick), ..claim("new", "general", &[small()]) };
    for claim in [gone, sick] {
        assert_eq!(cluster().claim(claim).pending("web", 1, asks(1000, 1024)).launches().len(), 1);
    }
}

#[test]
fn what_is_launched_is_not_launched_again_while_it_arrives() {
    let zoned = selecting(well_known::ZONE, "a", selecting(well_known::ARCH, "amd64", asks(700, 512)));
    let mut cluster = cluster().pending("web", 9, asks(1000, 1024)).pending("api", 7, zoned);
    for way in [0, 1] {
        let (plan, _) = cluster.plan();
        let after = cluster.clone().after(&plan);
        assert!(!plan.launches.is_empty() && after.plan().0.is_empty());
        let launched = after.machines_launched(way);
        assert!(launched.plan().0.is_empty());
        let joined = launched.nodes_joined();
        assert!(joined.plan().0.is_empty());
        let ready = joined.nodes_ready();
        let (plan, _) = ready.plan();
        assert!(plan.is_empty());
        let bound = ready.pods_bound(&plan);
        assert!(bound.plan().0.is_empty() && bound.plan().0.placements.is_empty());
        cluster = cluster.pending("more", way + 3, asks(900, 512));
    }
}

#[test]
fn labels_of_a_machine_on_its_way_are_known_even_when_the_provider_cannot_be_asked() {
    let cluster = cluster().pending("web", 1, selecting(well_known::ARCH, "amd64", asks(100, 128)));
    let (plan, _) = cluster.plan();
    let mut after = cluster.after(&plan);
    let pools = std::sync::Arc::make_mut(&mut after.0.pools);
    for pool in pools.values_mut() {
        std::sync::Arc::make_mut(pool).instance_types = std::sync::Arc::default();
    }
    assert!(after.plan().1.unplaced.is_empty());
}

#[test]
fn room_that_was_got_for_some_pods_is_not_given_to_others() {
    let cluster = cluster().pending("web", 2, asks(1000, 1024));
    let (plan, _) = cluster.plan();
    let urgent = PodShape { priority: 100, ..asks(2000, 1024) };
    let after = cluster.after(&plan).pending("urgent", 1, urgent);
    assert_eq!(after.launches(), [("small".to_owned(), 1)]);
}

#[test]
fn room_that_was_got_for_pods_that_are_gone_is_free_for_others() {
    let cluster = cluster().pending("web", 2, asks(1000, 1024));
    let (plan, _) = cluster.plan();
    let recreated = cluster.after(&plan).deleting_pods().pending("again", 2, asks(1000, 1024));
    assert_eq!(recreated.launches(), []);
}
