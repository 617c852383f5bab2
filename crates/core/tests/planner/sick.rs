use windlass_core::model::{
    Claim, Consolidation, DisruptionReason, InstanceType, Node, PodOwner, PodShape, Pool, Readiness,
};
use windlass_core::plan::LaunchPurpose;

use crate::cluster::Cluster;
use crate::shapes::{asks, at, claim, machine, pool};

fn small() -> InstanceType {
    machine("small", 2, 8, "0.10")
}

fn fall_ill(claim: &mut Claim, node: &mut Node) {
    claim.disrupted = Some(DisruptionReason::Sick);
    node.readiness = Readiness::NotReady { since: at(0) };
}

/// As many well nodes as named, each with a pod on it.
fn well(pool: Pool, names: &[&str]) -> Cluster {
    names.iter().fold(Cluster::new([pool]), |cluster, name| {
        let cluster = cluster.standing(name, "general", &small());
        cluster.bound(name, 1, asks(1000, 1024), &format!("node-of-{name}"))
    })
}

/// One sick node beside those.
fn cluster(pool: Pool, names: &[&str]) -> Cluster {
    well(pool, names).standing_but("sick", "general", &small(), fall_ill)
}

fn general() -> Pool {
    pool("general", vec![small()])
}

#[test]
fn a_sick_node_whose_pods_fit_elsewhere_goes() {
    let cluster = cluster(general(), &["well"]).bound("web", 1, asks(1000, 1024), "node-of-sick");
    let (plan, _) = cluster.plan();
    assert!(plan.launches.is_empty());
    assert_eq!(
        (cluster.removals(), plan.removals[0].reason),
        (vec!["sick".to_owned()], DisruptionReason::Sick)
    );
    assert_eq!(cluster.why("sick"), "sick; all its pods can go to other nodes");
    assert!(cluster.after(&plan).plan().0.is_empty());
}

#[test]
fn nothing_is_consolidated_in_the_plan_that_gives_the_pods_of_a_sick_node_their_places() {
    let thrifty = || Pool { consolidation: Consolidation::Underutilized, ..general() };
    let names = ["a", "b", "c"];
    assert_eq!(well(thrifty(), &names).plan().0.disruptions.len(), 1, "two of the three would do");
    let sick = cluster(thrifty(), &names).bound("web", 1, asks(1000, 1024), "node-of-sick");
    let (plan, _) = sick.plan();
    assert_eq!((sick.removals(), plan.disruptions.len()), (vec!["sick".to_owned()], 0));
}

#[test]
fn a_sick_node_is_replaced_before_it_goes() {
    let cluster = cluster(general(), &["well"]).bound("web", 1, asks(1500, 1024), "node-of-sick");
    let (plan, _) = cluster.plan();
    assert!(plan.removals.is_empty());
    assert_eq!(cluster.why("sick"), "sick; a replacement is launched");
    let launch = &plan.launches[0];
    assert_eq!((launch.purpose, &*launch.replaces[0]), (LaunchPurpose::Replacement, "sick"));
    assert!(launch.message.starts_with("sick is sick and will go; 1 pod needs cpu 1500m, memory 1Gi"));

    let arriving = cluster.after(&plan).machines_launched(0).nodes_joined();
    assert!(arriving.plan().0.is_empty());
    assert_eq!(arriving.why("sick"), "sick; waiting for the replacement that 1 pod of it will go to");
    let ready = arriving.nodes_ready();
    let (plan, _) = ready.plan();
    assert_eq!((ready.removals(), plan.launches.len()), (vec!["sick".to_owned()], 0));
}

#[test]
fn a_replacement_that_was_got_is_waited_for_even_if_its_pods_have_gone() {
    let cluster = cluster(general(), &["well"]).bound("web", 1, asks(1500, 1024), "node-of-sick");
    let (plan, _) = cluster.plan();
    let mut arriving = cluster.after(&plan).machines_launched(0);
    arriving.0.pods = std::sync::Arc::default();
    assert!(!arriving.removals().contains(&"sick".to_owned()));
    assert!(
        arriving.why("sick").starts_with("sick; waiting for its replacement "),
        "{}",
        arriving.why("sick")
    );
}

#[test]
fn the_replacement_is_kept_while_the_pods_leave_the_sick_node() {
    let cluster = cluster(general(), &[]).standing("new", "general", &small());
    let cluster = cluster.bound("web", 1, asks(1500, 1024), "node-of-sick");
    let (plan, _) = cluster.plan();
    assert_eq!(cluster.removals(), ["sick"]);
    assert!(cluster.after(&plan).plan().0.is_empty());
}

#[test]
fn pods_that_nobody_makes_anew_and_those_of_the_node_itself_need_no_replacement() {
    let mut cluster = cluster(general(), &["well"]);
    for (name, owner) in
        [("bare", PodOwner::Nobody), ("agent", PodOwner::DaemonSet), ("static", PodOwner::Node)]
    {
        cluster = cluster.bound(name, 1, PodShape { owner, ..asks(1500, 1024) }, "node-of-sick");
    }
    assert_eq!((cluster.launches(), cluster.removals()), (vec![], vec!["sick".to_owned()]));
}

#[test]
fn a_dead_node_goes_even_if_its_pods_can_go_nowhere() {
    let full = Pool { max_nodes: Some(2), ..general() };
    let cluster = cluster(full, &["well"]).bound("web", 1, asks(1500, 1024), "node-of-sick");
    assert_eq!((cluster.launches(), cluster.removals()), (vec![], vec!["sick".to_owned()]));
    assert_eq!(cluster.why("sick"), "sick; 1 pod of it can go nowhere else at present");
}

#[test]
fn a_sick_node_waits_for_the_pools_minimum() {
    let cluster = cluster(Pool { min_nodes: 2, ..general() }, &["well"]);
    let (plan, _) = cluster.plan();
    assert_eq!((plan.launches.len(), plan.removals.len()), (1, 0));
    assert_eq!(cluster.why("sick"), "sick; waiting for the node that keeps the pool at its minimum");
    let later = cluster.after(&plan).machines_launched(0).nodes_joined();
    assert!(later.plan().0.is_empty());
    assert_eq!(later.nodes_ready().removals(), ["sick"]);
}

#[test]
fn a_sick_node_that_itself_stands_in_the_way_of_the_minimum_goes() {
    let capped = Pool { min_nodes: 2, max_nodes: Some(2), ..general() };
    let cluster = cluster(capped, &["well"]);
    assert_eq!((cluster.launches(), cluster.removals()), (vec![], vec!["sick".to_owned()]));
}

#[test]
fn when_much_of_a_pool_is_sick_the_nodes_are_not_blamed() {
    let ill = |well: &[&str]| {
        let cluster = cluster(general(), well).standing_but("sick-too", "general", &small(), fall_ill);
        cluster.bound("web", 1, asks(1500, 1024), "node-of-sick")
    };
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let doubtful = ill(&names[..7]);
    assert!(doubtful.plan().0.is_empty());
    assert_eq!(
        doubtful.why("sick"),
        "sick, but so are 2 of 9 nodes of its pool: the fault is likely elsewhere"
    );
    let credible = ill(&names);
    assert_eq!((credible.launches().len(), credible.removals()), (1, vec!["sick-too".to_owned()]));
}

#[test]
fn a_single_sick_node_is_believed_however_small_its_pool() {
    assert_eq!(cluster(general(), &[]).removals(), ["sick"]);
}

#[test]
fn a_sick_claim_without_a_node_goes() {
    let lost = Claim { disrupted: Some(DisruptionReason::Sick), ..claim("lost", "general", &[small()]) };
    assert_eq!(Cluster::new([general()]).claim(lost).removals(), ["lost"]);
}
