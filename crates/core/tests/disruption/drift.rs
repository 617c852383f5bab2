//! Nodes that are not what their pool would launch today.

use windlass_core::model::{Claim, DisruptionBudget, DisruptionReason, Operator, Pool, Share};

use crate::cluster::Cluster;
use crate::nodes::{NOTHING, always, half_empty_in, large, small, stays, web};
use crate::shapes::{asks, machine, pool, term};

/// A pool that gives back only what is empty, with a template.
fn plain() -> Pool {
    Pool { template: Some("new".into()), ..pool("general", vec![small(), large()]) }
}

/// Nodes that were made when the template was another, each half full so that none can take another's pods.
fn drifted(pool: Pool, names: &str) -> Cluster {
    let cluster = half_empty_in(pool, names, 1500);
    names.chars().fold(cluster, |cluster, letter| {
        cluster.claim_but(&letter.to_string(), |claim| claim.template = Some("old".into()))
    })
}

fn at_most(nodes: u32) -> Pool {
    let reasons = [DisruptionReason::Drifted].into();
    let budget = DisruptionBudget { nodes: Share::Count(nodes), reasons, window: None };
    Pool { budgets: vec![budget], ..plain() }
}

#[test]
fn a_node_whose_template_has_changed_is_replaced() {
    let cluster = drifted(plain(), "a");
    assert_eq!(
        (cluster.rotated(DisruptionReason::Drifted), cluster.machines()),
        (vec!["a".to_owned()], vec!["small".to_owned()])
    );
    assert_eq!(cluster.why("a"), "drifted: its pool's template has changed");
}

#[test]
fn a_node_of_todays_template_stays() {
    let cluster = drifted(plain(), "a").claim_but("a", |claim| claim.template = Some("new".into()));
    assert!(cluster.plan().0.is_empty());
}

#[test]
fn a_node_whose_template_is_not_known_has_not_drifted() {
    let cluster = drifted(plain(), "a").claim_but("a", |claim| claim.template = None);
    assert!(cluster.plan().0.is_empty());
}

#[test]
fn a_node_that_its_provider_would_launch_differently_is_replaced() {
    let cluster = half_empty_in(plain(), "a", 1500)
        .claim_but("a", |claim| claim.drift = Some("it runs image 1, new ones run 2".into()));
    assert_eq!(cluster.rotated(DisruptionReason::Drifted), ["a"]);
    assert_eq!(cluster.why("a"), "drifted: it runs image 1, new ones run 2");
}

#[test]
fn a_node_that_the_pools_requirements_forbid_is_replaced_by_one_that_they_allow() {
    let cluster = half_empty_in(plain(), "a", 1500).pool_but("general", |pool| {
        pool.requirements = term("node.kubernetes.io/instance-type", Operator::In, &["large"]);
    });
    assert_eq!(
        (cluster.rotated(DisruptionReason::Drifted), cluster.machines()),
        (vec!["a".to_owned()], vec!["large".to_owned()])
    );
    assert!(cluster.why("a").ends_with("does not allow node.kubernetes.io/instance-type=small any more"));
}

#[test]
fn a_node_that_lacks_a_label_which_its_pool_requires_has_not_drifted() {
    let cluster = half_empty_in(plain(), "a", 1500)
        .pool_but("general", |pool| pool.requirements = term("rack", Operator::Exists, &[]));
    assert!(cluster.plan().0.is_empty(), "the next one might lack it as well");
}

#[test]
fn several_drifted_nodes_give_way_at_once_as_far_as_budgets_allow() {
    assert_eq!(drifted(at_most(2), "abcd").rotated(DisruptionReason::Drifted), ["a", "b"]);
    assert_eq!(drifted(plain(), "abcd").rotated(DisruptionReason::Drifted), ["a", "b", "c", "d"]);
    let cluster = drifted(at_most(2), "abcd");
    assert_eq!(
        cluster.why("c"),
        "drifted: its pool's template has changed, but the pool's budgets let 2 nodes of 4 go at a time, and 2 are missing already"
    );
}

#[test]
fn a_budget_of_none_keeps_drifted_nodes() {
    assert!(drifted(at_most(0), "ab").plan().0.is_empty());
}

#[test]
fn nodes_that_are_not_ready_count_against_the_budget_for_drift() {
    assert!(drifted(at_most(1), "ab").not_ready("b", 900).plan().0.disruptions.is_empty());
}

#[test]
fn an_empty_node_that_has_drifted_goes_without_a_replacement() {
    let cluster = drifted(plain(), "ab").without_pod("web-a-1").pod_changed("node-of-a", 990);
    let (plan, _) = cluster.plan();
    let going = plan.disruptions.iter().find(|each| &*each.claims[0].0 == "a").unwrap();
    assert!(going.replacements.is_empty());
}

#[test]
fn drifted_nodes_whose_pods_fit_on_others_go_without_a_replacement() {
    let cluster = drifted(plain(), "a").large("b");
    let (plan, _) = cluster.run(web('b', 500)).plan();
    assert_eq!((plan.launches.len(), plan.disruptions.len()), (0, 1));
}

#[test]
fn one_replacement_may_do_for_several_drifted_nodes() {
    let cluster = half_empty_in(plain(), "abcd", 700);
    let cluster = ["a", "b", "c", "d"]
        .into_iter()
        .fold(cluster, |cluster, name| cluster.claim_but(name, |claim| claim.template = Some("old".into())));
    let (plan, _) = cluster.plan();
    assert_eq!((plan.disruptions.len(), plan.launches.len()), (4, 2));
}

#[test]
fn a_drifted_node_stays_until_its_replacement_stands() {
    let deciding = drifted(plain(), "a").going_on();
    assert_eq!(deciding.removed(), NOTHING);
    assert!(
        deciding.why("a").starts_with("is to go: drifted; waits for its replacement"),
        "{}",
        deciding.why("a")
    );
    assert_eq!(deciding.replaced().removed(), ["a"]);
}

#[test]
fn a_drifted_node_stays_when_its_replacement_does_not_come_about() {
    let deciding = drifted(plain(), "a").going_on();
    let [replacement] = &deciding.names_of_replacements("a")[..] else { panic!("{deciding:?}") };
    let lost = deciding.clone().without_claim(replacement);
    assert_eq!(lost.taken_back(), stays("a", &format!("its replacement {replacement} did not come about")));
}

#[test]
fn a_drifted_node_whose_pods_would_find_no_place_stays_and_says_so() {
    let cluster = drifted(Pool { max_nodes: Some(1), ..plain() }, "a");
    assert!(cluster.plan().0.is_empty());
    assert_eq!(
        cluster.why("a"),
        "drifted: its pool's template has changed, but pods of it would find no place"
    );
}

#[test]
fn of_two_drifted_nodes_the_one_goes_whose_pods_find_a_place() {
    let cluster = drifted(Pool { max_nodes: Some(3), instance_types: vec![small()].into(), ..plain() }, "ab");
    assert_eq!(cluster.plan().0.disruptions.len(), 1);
}

#[test]
fn pods_that_must_not_be_disturbed_keep_a_drifted_node() {
    let cluster = drifted(plain(), "a").pod_but("web-a-1", |pod| pod.stays_until = Some(always()));
    assert!(cluster.plan().0.is_empty());
    assert!(
        cluster.why("a").ends_with("but pod default/web-a-1 is not to be disrupted"),
        "{}",
        cluster.why("a")
    );
    let node = drifted(plain(), "a").node_but("a", |node| node.stays_until = Some(always()));
    assert!(node.plan().0.is_empty());
}

#[test]
fn a_drifted_node_that_is_not_ready_is_left_to_repair() {
    assert!(drifted(plain(), "a").not_ready("a", 900).plan().0.is_empty());
}

#[test]
fn a_claim_that_is_still_arriving_has_not_drifted() {
    let cluster = drifted(plain(), "a")
        .claim_but("a", |claim| claim.phase = windlass_core::model::ClaimPhase::Registered);
    assert!(cluster.plan().0.disruptions.is_empty());
}

#[test]
fn pods_that_wait_and_those_of_drifted_nodes_are_planned_for_together() {
    let cluster = drifted(plain(), "a").pending("new", 3, asks(1500, 128));
    let (plan, _) = cluster.plan();
    let kinds: Vec<&str> = plan.launches.iter().map(|each| &*each.offerings[0].key.instance_type).collect();
    assert_eq!(
        (plan.disruptions.len(), kinds),
        (1, vec!["large"]),
        "four pods of a core and a half share a large one"
    );
    assert_eq!(plan.disruptions[0].replacements, [0]);
}

#[test]
fn a_pools_minimum_of_empty_nodes_drifts_one_replacement_at_a_time() {
    let keeping = Pool { min_nodes: 2, ..at_most(1) };
    let cluster = drifted(keeping, "ab").without_pod("web-a-1").without_pod("web-b-1");
    let (plan, _) = cluster.plan();
    assert_eq!((plan.disruptions.len(), plan.launches.len()), (1, 1));
    let deciding = cluster.going_on();
    assert_eq!(deciding.why("a"), "is to go: drifted; waits for the node that keeps the pool at its minimum");
    assert_eq!(deciding.replaced().removed(), ["a"]);
}

#[test]
fn a_pool_that_could_not_keep_its_minimum_does_not_rotate() {
    let keeping = Pool { min_nodes: 2, max_nodes: Some(2), ..plain() };
    let cluster = drifted(keeping, "ab").without_pod("web-a-1").without_pod("web-b-1");
    assert!(cluster.plan().0.is_empty());
    assert!(cluster.why("a").ends_with("its pool would have fewer nodes than its minimum"));
}

#[test]
fn a_node_that_is_to_go_as_well_leaves_their_places_to_the_pods_of_those_decided_before() {
    let cores = |count| machine("other", count, 64, "1.00");
    let of = |template: &'static str| move |claim: &mut Claim| claim.template = Some(template.into());
    let before = Cluster::new([plain()]).large("before").bound("moves", 1, asks(2000, 128), "node-of-before");
    let before = before.claim_but("before", of("old")).going_on();
    assert_eq!(before.names_of_replacements("before").len(), 1);
    // However they are put, one of these pods and the one that came late to the node before has no place.
    let cluster = before.bound("late", 1, asks(1000, 128), "node-of-before");
    let cluster = cluster.standing("five", "general", &cores(5)).claim_but("five", of("new"));
    let cluster = cluster.standing("four", "general", &cores(4)).claim_but("four", of("new"));
    let cluster = cluster.standing("next", "general", &cores(10)).claim_but("next", of("old"));
    let cluster = [4000, 3000, 2000].into_iter().fold(cluster, |cluster, milli| {
        cluster.bound(&format!("next-{milli}"), 1, asks(milli, 128), "node-of-next")
    });
    assert_eq!(cluster.machines(), ["small"], "it gets a machine of its own for what does not fit");
    assert_eq!(cluster.going_on().taken_back(), []);
}
