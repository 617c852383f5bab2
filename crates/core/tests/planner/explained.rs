use windlass_core::model::{Operator, PodShape, Pool, well_known};

use crate::cluster::Cluster;
use crate::shapes::{asks, machine, offering, pool, selecting, taint, term};

fn general() -> Pool {
    let mut large = machine("large", 16, 64, "0.80");
    large.labels.set("disk", "ssd");
    pool("general", vec![machine("small", 2, 8, "0.10"), large])
}

fn excuse(shape: PodShape) -> String {
    Cluster::new([general()]).pending("web", 1, shape).excuse()
}

#[test]
fn a_cluster_without_pools_asks_for_one() {
    let excuse = Cluster::default().pending("web", 1, asks(1, 1)).excuse();
    assert_eq!(excuse, "no pool: create a NodePool that fits this pod");
}

#[test]
fn a_pod_that_is_too_large_is_told_by_how_much() {
    assert_eq!(
        excuse(asks(1000, 96 * 1024)),
        "pool general: 2 of 2 types match; none has 96Gi of memory free, largest 64Gi"
    );
    let on_ssd = selecting("disk", "ssd", asks(17_000, 1024));
    assert_eq!(excuse(on_ssd), "pool general: 1 of 2 types match; none has 17 of cpu free, largest 16");
}

#[test]
fn daemonsets_are_part_of_what_is_too_large() {
    let cluster =
        Cluster::new([general()]).daemon_set("agent", asks(500, 1024)).pending("web", 1, asks(16_000, 1024));
    assert_eq!(cluster.excuse(), "pool general: 2 of 2 types match; none has 16500m of cpu free, largest 16");
}

#[test]
fn a_pod_that_needs_much_of_two_things_is_told_the_nearest_miss() {
    let pool = pool("general", vec![machine("cpu", 16, 16, "0.5"), machine("memory", 4, 64, "0.5")]);
    let excuse = Cluster::new([pool]).pending("web", 1, asks(8000, 32 * 1024)).excuse();
    assert_eq!(excuse, "pool general: 1 of 2 types match; none has 8 of cpu free, largest 4");
}

#[test]
fn a_label_that_no_machine_has_is_named() {
    let arm = selecting("disk", "ssd", selecting(well_known::ARCH, "arm64", asks(1, 1)));
    assert_eq!(excuse(arm), "pool general: no machine has label kubernetes.io/arch in [arm64]");
    let affine = PodShape { node_affinity: vec![term("gpu", Operator::Exists, &[])], ..asks(1, 1) };
    assert_eq!(excuse(affine), "pool general: no machine has label gpu must be present");
}

#[test]
fn a_taint_that_is_not_tolerated_is_named() {
    let cluster =
        Cluster::new([Pool { taints: vec![taint("gpu")], ..general() }]).pending("web", 1, asks(1, 1));
    assert_eq!(cluster.excuse(), "pool general: taint gpu:NoSchedule is not tolerated");
}

#[test]
fn a_pool_whose_requirements_no_machine_meets_says_so() {
    let picky = Pool { requirements: term(well_known::ZONE, Operator::In, &["z"]), ..general() };
    let excuse = Cluster::new([picky]).pending("web", 1, asks(1, 1)).excuse();
    assert_eq!(excuse, "pool general: the provider offers no machine that the pool's requirements allow");
}

#[test]
fn reasons_come_in_the_order_in_which_pools_are_tried() {
    let heavy =
        Pool { weight: 9, taints: vec![taint("x")], ..pool("z", vec![machine("small", 2, 8, "0.10")]) };
    let (_, report) = Cluster::new([heavy, general()]).pending("web", 2, asks(99_000, 1)).plan();
    let pools: Vec<&str> = report.unplaced[0].pools.iter().map(|reason| &*reason.pool).collect();
    assert_eq!((report.unplaced.len(), pools), (1, vec!["z", "general"]));
}

#[test]
fn what_could_be_had_were_it_not_for_the_limit_is_blamed_on_the_limit() {
    let mut scarce = machine("small", 2, 8, "0.10");
    scarce.offerings = vec![offering("a", "0.10"), offering("b", "0.10")];
    scarce.offerings[0].available = Some(0);
    let capped = Pool { max_nodes: Some(0), ..pool("general", vec![scarce]) };
    let excuse = Cluster::new([capped]).pending("web", 1, asks(1, 1)).excuse();
    assert_eq!(excuse, "pool general: the limit of 0 nodes is reached");
}

#[test]
fn every_claim_has_a_line() {
    let small = machine("small", 2, 8, "0.10");
    let cluster = Cluster::new([general()]).standing("a", "general", &small);
    let cluster = cluster.claim(crate::shapes::claim("b", "general", &[small]));
    let (_, report) = cluster.plan();
    let told: Vec<_> =
        report.nodes.iter().map(|node| (&*node.claim, node.node.as_deref(), node.goes)).collect();
    assert_eq!(told, [("a", Some("node-of-a"), true), ("b", None, false)]);
}
