//! What pods ask for and machines have.

use windlass_core::model::{PodShape, Resources};

use crate::cluster::Cluster;
use crate::shapes::{machine, pool};
use crate::workload::{app, three_zones};

const GPU: &str = "nvidia.com/gpu";

fn sizes() -> Cluster {
    let machines = vec![
        machine("tiny", 1, 4, "0.05"),
        machine("small", 2, 8, "0.10"),
        machine("medium", 8, 32, "0.40"),
        machine("large", 32, 128, "1.60"),
    ];
    Cluster::new([pool("general", machines)])
}

fn with_devices() -> Cluster {
    let mut gpu = machine("gpu", 8, 64, "3.00");
    let mut disk = machine("disk", 8, 64, "1.00");
    for (machine, device) in [(&mut gpu, GPU), (&mut disk, "example.com/disk")] {
        machine.capacity.set(device, 2);
        machine.allocatable.set(device, 2);
    }
    Cluster::new([pool("general", vec![machine("plain", 8, 32, "0.40"), gpu, disk])])
}

#[test]
fn a_small_pod_gets_the_smallest_machine() {
    assert_eq!(sizes().run(app("web")).outcome().machines(), ["tiny"]);
}

#[test]
fn a_larger_pod_gets_the_smallest_machine_that_holds_it() {
    for (milli, expected) in [(1000, "tiny"), (1001, "small"), (2001, "medium"), (8001, "large")] {
        assert_eq!(sizes().run(app("web").asking(milli, 128)).outcome().machines(), [expected], "{milli}");
    }
}

#[test]
fn a_pod_is_as_large_as_the_larger_of_what_it_asks_for() {
    assert_eq!(sizes().run(app("web").asking(100, 30 * 1024)).outcome().machines(), ["medium"]);
}

#[test]
fn small_pods_share_a_machine() {
    let outcome = sizes().run(app("web").pods(10)).outcome();
    assert_eq!((outcome.launched(), outcome.placed("web")), (1, 10));
}

#[test]
fn small_pods_fill_what_large_ones_leave() {
    let cluster = sizes().run(app("big").asking(1500, 1024)).run(app("small").pods(5).asking(100, 128));
    assert_eq!(cluster.outcome().machines(), ["small"]);
}

#[test]
fn pods_are_packed_without_waste() {
    let outcome = sizes().run(app("web").pods(32).asking(1000, 1024)).outcome();
    let gap = outcome.report.cost.micros() - outcome.report.lower_bound.micros();
    assert!((0..10).contains(&gap), "{gap}");
}

#[test]
fn a_full_node_is_followed_by_another() {
    let cluster = Cluster::new([pool("general", vec![machine("small", 2, 8, "0.10")])]);
    assert_eq!(cluster.run(app("web").pods(5).asking(1000, 1024)).outcome().launched(), 3);
}

#[test]
fn nothing_is_launched_for_a_pod_that_no_machine_holds() {
    let outcome = sizes().run(app("web").asking(33_000, 128)).outcome();
    assert_eq!((outcome.launched(), outcome.pending("web")), (0, 1));
}

#[test]
fn a_pod_that_is_too_large_holds_up_no_other() {
    let outcome = sizes().run(app("giant").asking(99_000, 128)).run(app("web")).outcome();
    assert_eq!((outcome.pending("giant"), outcome.placed("web")), (1, 1));
}

#[test]
fn places_for_pods_are_limited() {
    let mut crowded = machine("crowded", 32, 128, "1.00");
    crowded.allocatable.set(Resources::PODS, 4);
    let outcome = Cluster::new([pool("general", vec![crowded])]).run(app("web").pods(9)).outcome();
    assert_eq!(outcome.hosts("web"), [1, 4, 4]);
}

#[test]
fn a_pod_that_asks_for_a_device_gets_a_machine_with_one() {
    assert_eq!(with_devices().run(app("train").asking_for(GPU, 1)).outcome().machines(), ["gpu"]);
}

#[test]
fn devices_run_out() {
    let outcome = with_devices().run(app("train").pods(3).asking_for(GPU, 1)).outcome();
    assert_eq!(outcome.hosts("train"), [1, 2]);
}

#[test]
fn pods_that_ask_for_different_devices_get_different_machines() {
    let cluster = with_devices().run(app("train").asking_for(GPU, 1));
    let outcome = cluster.run(app("store").asking_for("example.com/disk", 1)).outcome();
    assert_eq!(outcome.machines(), ["disk", "gpu"]);
}

#[test]
fn a_pod_that_asks_for_devices_that_no_machine_has_together_stays_pending() {
    let both = app("both").asking_for(GPU, 1).asking_for("example.com/disk", 1);
    assert_eq!(with_devices().run(both).outcome().pending("both"), 1);
}

#[test]
fn a_device_that_nobody_has_keeps_its_pods_pending() {
    assert_eq!(with_devices().run(app("odd").asking_for("example.com/odd", 1)).outcome().pending("odd"), 1);
}

#[test]
fn asking_for_none_of_something_asks_for_nothing() {
    assert_eq!(
        sizes().run(app("web").asking_for(GPU, 0).asking_for("memory", 0)).outcome().machines(),
        ["tiny"]
    );
}

#[test]
fn a_pod_that_asks_for_nothing_at_all_gets_a_place() {
    let mut idle = app("idle").pods(3);
    idle.shape = PodShape::default();
    assert_eq!(sizes().run(idle).outcome().machines(), ["tiny"]);
}

#[test]
fn hugepages_and_ephemeral_storage_are_resources_like_others() {
    for resource in ["hugepages-2Mi", "ephemeral-storage"] {
        let mut rich = machine("rich", 2, 8, "0.50");
        rich.allocatable.set(resource, 4 << 30);
        let cluster = Cluster::new([pool("general", vec![machine("poor", 2, 8, "0.10"), rich])]);
        let outcome = cluster.run(app("web").pods(3).asking_for(resource, 2 << 30)).outcome();
        assert_eq!(outcome.machines(), ["rich", "rich"], "{resource}");
    }
}

#[test]
fn the_cheaper_of_two_machines_of_the_same_size_is_taken() {
    let machines = vec![machine("dear", 4, 16, "0.40"), machine("cheap", 4, 16, "0.30")];
    let outcome = Cluster::new([pool("general", machines)]).run(app("web").asking(3000, 1024)).outcome();
    assert_eq!(outcome.machines(), ["cheap"]);
}

#[test]
fn a_machine_that_holds_the_pod_is_taken_whatever_it_costs() {
    let machines = vec![machine("cheap", 2, 8, "0.01"), machine("dear", 64, 256, "99.00")];
    let outcome = Cluster::new([pool("general", machines)]).run(app("web").asking(60_000, 1024)).outcome();
    assert_eq!(outcome.machines(), ["dear"]);
}

#[test]
fn what_a_machine_reserves_for_itself_is_not_for_pods() {
    let mut reserving = machine("reserving", 2, 8, "0.10");
    reserving.allocatable.set(Resources::CPU, 1900);
    let cluster = Cluster::new([pool("general", vec![reserving])]);
    assert_eq!(cluster.clone().run(app("web").asking(1901, 128)).outcome().pending("web"), 1);
    assert_eq!(cluster.run(app("web").asking(1900, 128)).outcome().placed("web"), 1);
}

#[test]
fn many_kinds_of_pods_share_machines() {
    let mut cluster = three_zones();
    for number in 1..=8 {
        cluster = cluster.run(app(&format!("kind{number}")).pods(3).asking(number * 150, number * 300));
    }
    let outcome = cluster.outcome();
    assert!(outcome.report.unplaced.is_empty());
    assert!(outcome.launched() <= 10, "{:?}", outcome.machines());
}
