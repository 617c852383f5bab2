//! Pools whose size Cluster Autoscaler decides.

use std::time::Duration;

use jiff::ToSpan;
use windlass_core::model::{
    Claim, Consolidation, Decision, DisruptionReason, Driver, InstanceType, Pool, Readiness, Utilization,
    well_known,
};
use windlass_core::plan::{Target, why_kept};

use crate::cluster::{Cluster, NOW};
use crate::shapes::{asks, at, claim, launched, machine, pool, selecting, taint, tolerating};

fn small() -> InstanceType {
    machine("small", 2, 8, "0.10")
}

/// A pool of which everything would be decided that can be, were it not for its driver.
fn driven() -> Pool {
    Pool {
        driver: Driver::ClusterAutoscaler,
        min_nodes: 3,
        spare_nodes: 2,
        utilization: vec![Utilization { resource: "cpu".into(), floor: Some(90), ceiling: Some(95) }],
        consolidation: Consolidation::Underutilized,
        template: Some("new".into()),
        expire_after: Some(Duration::from_mins(1)),
        ..pool("driven", vec![small()])
    }
}

const LEFT_TO_IT: &str = "Cluster Autoscaler decides whether it stays";

#[test]
fn nothing_is_launched_for_pods_nor_for_a_minimum_nor_for_headroom() {
    let cluster = Cluster::new([driven()]).pending("web", 3, asks(500, 128));
    let (plan, report) = cluster.plan();
    assert!(plan.is_empty() && report.short_pools.is_empty(), "{plan:?} {report:?}");
    assert_eq!(
        cluster.excuse(),
        "pool driven: it could serve them, and Cluster Autoscaler decides whether it grows"
    );
}

#[test]
fn another_pool_serves_what_both_could() {
    let cluster = Cluster::new([Pool { weight: 10, ..driven() }, pool("own", vec![small()])]);
    let (plan, _) = cluster.pending("web", 1, asks(500, 128)).plan();
    assert_eq!(plan.launches.iter().map(|launch| &*launch.pool).collect::<Vec<_>>(), ["own"]);
}

#[test]
fn pods_that_it_could_not_serve_either_are_told_why() {
    let tainted = Pool { taints: vec![taint("gpu")], ..driven() };
    let cluster = Cluster::new([tainted.clone()]).pending("web", 1, asks(500, 128));
    assert_eq!(cluster.excuse(), "pool driven: taint gpu:NoSchedule is not tolerated");
    let large = Cluster::new([tainted.clone()]).pending("web", 1, tolerating("gpu", asks(9000, 128)));
    assert!(large.excuse().contains("none has 9 of cpu free"), "{}", large.excuse());
    let elsewhere = selecting(well_known::ZONE, "z", tolerating("gpu", asks(500, 128)));
    let elsewhere = Cluster::new([tainted]).pending("web", 1, elsewhere);
    assert!(elsewhere.excuse().contains("no machine has label"), "{}", elsewhere.excuse());
}

#[test]
fn its_nodes_take_pods() {
    let cluster = Cluster::new([driven(), pool("own", vec![small()])]).standing("a", "driven", &small());
    let (plan, _) = cluster.pending("web", 1, asks(500, 128)).plan();
    assert!(plan.launches.is_empty());
    assert_eq!(plan.placements[0].target, Target::Node("node-of-a".into()));
}

#[test]
fn pods_wait_for_its_nodes_that_are_on_their_way() {
    let pools = [driven(), pool("own", vec![small()])];
    let asked_for = claim("new", "driven", &[small()]);
    for arriving in [asked_for.clone(), launched(asked_for, 0)] {
        let cluster = Cluster::new(pools.clone()).claim(arriving).pending("web", 1, asks(500, 128));
        let (plan, _) = cluster.plan();
        assert!(plan.launches.is_empty());
        assert_eq!(plan.placements[0].target, Target::Claim("new".into()));
    }
}

#[test]
fn pods_do_not_wait_for_a_machine_that_was_not_to_be_had() {
    let lost = Claim { given_up: true, ..claim("new", "driven", &[small()]) };
    let cluster = Cluster::new([driven(), pool("own", vec![small()])]).claim(lost);
    assert_eq!(cluster.pending("web", 1, asks(500, 128)).launches(), [("small".to_owned(), 1)]);
}

#[test]
fn no_node_of_it_goes_for_any_reason() {
    let pool = Pool { min_nodes: 0, spare_nodes: 0, ..driven() };
    let cluster = Cluster::new([pool])
        .standing("empty", "driven", &small())
        .standing_but("drifted", "driven", &small(), |claim, _| claim.template = Some("old".into()))
        .standing_but("ending", "driven", &small(), |claim, _| claim.ends_at = Some(at(NOW + 1)))
        .standing_but("asked", "driven", &small(), |claim, node| {
            (claim.asked_to_go, node.asked_to_go) = (true, true);
        })
        .standing_but("sick", "driven", &small(), |claim, node| {
            claim.disrupted = Some(DisruptionReason::Sick);
            node.readiness = Readiness::NotReady { since: at(0) };
        })
        .standing("a", "driven", &small())
        .standing("b", "driven", &small())
        .bound("web", 1, asks(100, 128), "node-of-a")
        .bound("app", 1, asks(100, 128), "node-of-b");
    let (plan, report) = cluster.plan();
    assert!(plan.is_empty(), "{plan:?}");
    assert_eq!(report.nodes.len(), 7);
    assert!(report.nodes.iter().all(|node| node.why == LEFT_TO_IT && !node.goes), "{report:?}");
    assert_eq!(why_kept(&cluster.0, at(NOW), "a").as_deref(), Some(LEFT_TO_IT));
}

#[test]
fn its_nodes_take_what_moves_from_others_and_spend_no_budget_of_theirs() {
    let own = Pool { consolidation: Consolidation::Underutilized, ..pool("own", vec![small()]) };
    let mut cluster = Cluster::new([Pool { min_nodes: 0, ..driven() }, own])
        .standing("a", "driven", &small())
        .standing("b", "own", &small())
        .standing("c", "driven", &small())
        .bound("web", 1, asks(100, 128), "node-of-a")
        .bound("app", 1, asks(100, 128), "node-of-b");
    cluster.0.settings.removals_per_minute = Some(1);
    assert_eq!(cluster.removals(), ["b"]);
}

#[test]
fn what_was_decided_before_it_was_driven_elsewhere_is_taken_back() {
    let decision = Decision { since: at(NOW - 10), replacements: Vec::new(), message: "empty".into() };
    let cluster = Cluster::new([driven()]).standing_but("a", "driven", &small(), |claim, _| {
        (claim.disrupted, claim.decision) = (Some(DisruptionReason::Empty), Some(decision));
    });
    let (plan, _) = cluster.plan();
    assert_eq!(plan.cancellations.len(), 1);
    assert!(plan.disruptions.is_empty() && plan.removals.is_empty());
    assert!(cluster.after(&plan).plan().0.is_empty());
}

#[test]
fn its_claims_count_under_the_limits_of_all_pools() {
    let mut cluster = Cluster::new([driven(), pool("own", vec![small()])])
        .standing("a", "driven", &small())
        .bound("full", 1, asks(1900, 128), "node-of-a")
        .pending("web", 2, asks(1500, 128));
    cluster.0.settings.max_nodes = Some(2);
    assert_eq!(cluster.launches(), [("small".to_owned(), 1)]);
}

#[test]
fn a_claim_that_somebody_deletes_is_said_to_go() {
    let cluster = Cluster::new([driven()])
        .standing_but("a", "driven", &small(), |claim, _| claim.deleting = true)
        .standing_but("b", "driven", &small(), |claim, _| claim.created_at = at(NOW) - 1.hour());
    assert_eq!((cluster.why("a").as_str(), cluster.why("b").as_str()), ("is being given back", LEFT_TO_IT));
}
