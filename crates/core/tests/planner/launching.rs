use windlass_core::model::{InstanceType, Operator, PodOwner, PodShape, Pool, well_known};
use windlass_core::plan::LaunchPurpose;

use crate::cluster::Cluster;
use crate::shapes::{asks, machine, offering, pool, selecting, taint, term, tolerating};

fn small() -> InstanceType {
    machine("small", 2, 8, "0.10")
}

fn large() -> InstanceType {
    machine("large", 16, 64, "0.70")
}

fn one(cluster: &Cluster) -> windlass_core::plan::Launch {
    let (plan, _) = cluster.plan();
    assert_eq!(plan.launches.len(), 1, "{plan:?}");
    plan.launches[0].clone()
}

#[test]
fn a_small_remainder_gets_a_small_machine() {
    let cluster = Cluster::new([pool("general", vec![small(), large()])]);
    assert_eq!(cluster.clone().pending("web", 1, asks(1000, 1024)).launches(), [("small".to_owned(), 1)]);
    let many = cluster.pending("web", 33, asks(1000, 1024));
    assert_eq!(
        many.launches(),
        [("large".to_owned(), 16), ("large".to_owned(), 16), ("small".to_owned(), 1)]
    );
}

#[test]
fn a_pod_gets_the_machine_whose_shape_suits_it() {
    let machines = vec![machine("cpu", 16, 32, "0.60"), machine("memory", 8, 64, "0.60")];
    let cluster = Cluster::new([pool("general", machines)]);
    assert_eq!(cluster.clone().pending("c", 16, asks(1000, 1024)).launches(), [("cpu".to_owned(), 16)]);
    assert_eq!(cluster.pending("m", 8, asks(1000, 8 * 1024)).launches(), [("memory".to_owned(), 8)]);
}

#[test]
fn pods_that_need_a_gpu_share_its_machine_with_others_but_nobody_else_gets_one() {
    let mut gpu = machine("gpu", 8, 64, "3.00");
    gpu.allocatable.set("nvidia.com/gpu", 1);
    let mut train = asks(4000, 1024);
    train.requests.set("nvidia.com/gpu", 1);
    let cluster = Cluster::new([pool("general", vec![small(), gpu])]);
    assert!(
        cluster
            .clone()
            .pending("web", 8, asks(1000, 1024))
            .launches()
            .iter()
            .all(|(name, _)| name == "small")
    );
    let both = cluster.pending("web", 4, asks(1000, 1024)).pending("train", 1, train).launches();
    assert_eq!(both.iter().filter(|(name, _)| name == "gpu").count(), 1);
}

#[test]
fn the_pool_of_the_higher_weight_serves_what_it_can_whatever_it_costs() {
    let preferred = Pool { weight: 10, ..pool("preferred", vec![machine("dear", 4, 16, "9.00")]) };
    let cluster = Cluster::new([preferred, pool("general", vec![small(), large()])]);
    let cluster = cluster.pending("web", 2, asks(1000, 1024)).pending("big", 1, asks(16_000, 1024));
    assert_eq!(cluster.launches(), [("dear".to_owned(), 2), ("large".to_owned(), 1)]);
}

#[test]
fn among_pools_of_one_weight_the_cheaper_wins() {
    let pools =
        [pool("a", vec![machine("dear", 2, 8, "0.20")]), pool("b", vec![machine("cheap", 2, 8, "0.10")])];
    assert_eq!(Cluster::new(pools).pending("web", 1, asks(1000, 1024)).launches(), [("cheap".to_owned(), 1)]);
}

#[test]
fn machines_that_cost_nothing_are_used_sparingly_too() {
    let machines = vec![machine("tiny", 2, 8, "0"), machine("huge", 32, 128, "0")];
    let cluster = Cluster::new([pool("rack", machines)]);
    assert_eq!(cluster.clone().pending("web", 20, asks(1000, 1024)).launches(), [("huge".to_owned(), 20)]);
    assert_eq!(cluster.pending("web", 1, asks(1000, 1024)).launches(), [("tiny".to_owned(), 1)]);
}

#[test]
fn pods_go_only_to_pools_whose_taints_they_tolerate() {
    let tainted = Pool { taints: vec![taint("gpu")], ..pool("gpus", vec![machine("cheap", 4, 16, "0.01")]) };
    let startup = Pool { startup_taints: vec![taint("cni")], ..pool("general", vec![small()]) };
    let cluster = Cluster::new([tainted, startup]);
    assert_eq!(cluster.clone().pending("web", 1, asks(1000, 1024)).launches(), [("small".to_owned(), 1)]);
    let tolerant = tolerating("gpu", asks(1000, 1024));
    assert_eq!(cluster.pending("web", 1, tolerant).launches(), [("cheap".to_owned(), 1)]);
}

#[test]
fn labels_of_pool_type_and_offering_all_count() {
    let mut zoned = machine("zoned", 2, 8, "0.10");
    zoned.offerings = vec![offering("a", "0.10"), offering("b", "0.30")];
    zoned.labels.set("disk", "ssd");
    let mut labelled = pool("general", vec![zoned]);
    labelled.labels.set("team", "blue");
    let cluster = Cluster::new([labelled]);
    let shape = selecting("team", "blue", selecting("disk", "ssd", asks(100, 128)));
    let shape = selecting(well_known::POOL, "general", selecting(well_known::ZONE, "b", shape));
    let launch = one(&cluster.pending("web", 1, shape));
    assert_eq!(&*launch.offerings[0].key.zone, "b");
    assert_eq!(launch.offerings.len(), 1);
    assert_eq!(launch.labels.get("disk").map(|value| &**value), Some("ssd"));
    assert_eq!(launch.labels.get("team").map(|value| &**value), Some("blue"));
    assert_eq!(launch.labels.get(well_known::HOSTNAME), None);
}

#[test]
fn the_pools_own_requirements_choose_among_the_machines() {
    let picky = Pool {
        requirements: term(well_known::INSTANCE_TYPE, Operator::NotIn, &["small"]),
        ..pool("general", vec![small(), large()])
    };
    assert_eq!(
        Cluster::new([picky]).pending("web", 1, asks(1000, 1024)).launches(),
        [("large".to_owned(), 1)]
    );
}

#[test]
fn daemonsets_take_their_room_on_machines_where_they_will_run() {
    let agent = PodShape { owner: PodOwner::DaemonSet, ..asks(1000, 1024) };
    let cluster = Cluster::new([pool("general", vec![small()])]);
    let launches = |agent| {
        cluster.clone().daemon_set("agent", agent).pending("web", 2, asks(1000, 1024)).launches().len()
    };
    assert_eq!(launches(agent.clone()), 2);
    assert_eq!(launches(selecting(well_known::ARCH, "arm64", agent.clone())), 1);
    let too_large = PodShape { requests: asks(3000, 1).requests, ..agent };
    assert_eq!(launches(too_large), 1);
}

#[test]
fn each_alternative_holds_all_the_pods_and_costs_at_most_twice_as_much() {
    let machines = vec![
        machine("cheapest", 4, 16, "0.20"),
        machine("too-small", 2, 8, "0.25"),
        machine("other", 4, 32, "0.30"),
        machine("twice", 8, 16, "0.40"),
        machine("dear", 8, 32, "0.41"),
    ];
    let launch = one(&Cluster::new([pool("general", machines)]).pending("web", 4, asks(1000, 1024)));
    let names: Vec<&str> = launch.offerings.iter().map(|way| &*way.key.instance_type).collect();
    assert_eq!(names, ["cheapest", "other", "twice"]);
}

#[test]
fn a_claim_carries_no_more_alternatives_than_it_may() {
    let machines = (0..20).map(|number| machine(&format!("m{number:02}"), 2, 8, "0.10")).collect();
    let mut cluster = Cluster::new([pool("general", machines)]).pending("web", 1, asks(1000, 1024));
    assert_eq!(one(&cluster).offerings.len(), 8);
    cluster.0.settings.alternatives = 1;
    assert_eq!(one(&cluster).offerings.len(), 1);
    cluster.0.settings.alternatives = 0;
    assert_eq!(one(&cluster).offerings.len(), 1);
}

#[test]
fn a_launch_says_what_it_is_for() {
    let launch = one(&Cluster::new([pool("general", vec![large()])]).pending("web", 3, asks(1500, 1024)));
    assert_eq!(launch.purpose, LaunchPurpose::PendingPods);
    assert_eq!(
        launch.message,
        "3 pods need cpu 4500m, memory 3Gi that no node has: default/web-1, default/web-2 and 1 more"
    );
    assert_eq!(launch.pods.len(), 3);
}

#[test]
fn pods_that_ask_for_nothing_get_a_node_too() {
    let cluster = Cluster::new([pool("general", vec![small(), large()])]);
    assert_eq!(cluster.pending("idle", 5, PodShape::default()).launches(), [("small".to_owned(), 5)]);
}

#[test]
fn few_pods_are_packed_as_tightly_as_many() {
    let cluster = Cluster::new([pool("general", vec![machine("four", 4, 16, "0.10")])]);
    let pods = cluster.pending("small", 24, asks(1000, 128)).pending("middle", 8, asks(1500, 128));
    assert_eq!(pods.pending("large", 8, asks(2500, 128)).launches().len(), 14, "every core is used");
}
