//! Which groups there are and how large they may be.

use jiff::Timestamp;
use serde_json::json;
use windlass_core::model::{Draw, InstanceType, Resources};

use super::{LARGE_A, Lab, NOW, SMALL_A, machine};
use crate::index::Catalogue;

fn names(lab: &Lab) -> Vec<String> {
    lab.table().iter().map(|entry| entry.name.clone()).collect()
}

#[test]
fn a_pool_is_one_group_for_each_kind_of_machine_that_it_takes() {
    let lab = Lab::new(json!({}));
    assert_eq!(names(&lab), [LARGE_A, "web/large/b/on-demand", SMALL_A, "web/small/b/on-demand"]);
    let requirement = json!({"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["b"]});
    let lab = Lab::new(json!({"template": {"spec": {"requirements": [requirement]}}}));
    assert_eq!(names(&lab), ["web/large/b/on-demand", "web/small/b/on-demand"]);
}

#[test]
fn pools_that_windlass_drives_are_no_groups() {
    let mut lab = Lab::new(json!({"driver": "Windlass"}));
    lab.node("n", "web", "small");
    assert!(names(&lab).is_empty());
}

#[test]
fn prices_and_what_is_to_be_had_change_no_names() {
    let mut lab = Lab::new(json!({}));
    let before = names(&lab);
    let sold_out = |mut kind: InstanceType| {
        for offering in &mut kind.offerings {
            offering.available = Some(0);
        }
        kind
    };
    lab.offers(vec![machine("large", 8, 1), sold_out(machine("small", 2, 900_000))]);
    assert_eq!(names(&lab), before);
    assert_eq!((lab.size(SMALL_A).2, lab.size(LARGE_A).2), (0, 10_000));
}

#[test]
fn a_provider_that_falls_silent_keeps_its_groups_and_they_stay_as_they_are() {
    let mut lab = Lab::new(json!({}));
    lab.node("n", "web", "small");
    let before = names(&lab);
    lab.index.saw_catalogue("s", Catalogue::Failed("it does not answer".into()));
    assert_eq!(names(&lab), before);
    assert_eq!(lab.size(SMALL_A), (0, 1, 1));
}

#[test]
fn a_claim_whose_like_is_not_offered_any_more_keeps_its_group() {
    let mut lab = Lab::new(json!({}));
    lab.node("n", "web", "small");
    lab.offers(vec![machine("large", 8, 1)]);
    assert_eq!(names(&lab), [LARGE_A, "web/large/b/on-demand", SMALL_A]);
    assert_eq!(lab.size(SMALL_A), (0, 1, 1));
}

#[test]
fn a_target_counts_all_that_stays_also_what_is_being_written() {
    let mut lab = Lab::new(json!({}));
    lab.node("node", "web", "small");
    lab.claim("waits", "small");
    lab.failed("failed", "small");
    lab.claim_but("going", "web", "small", |claim| {
        claim["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:00:00Z");
    });
    assert_eq!(lab.size(SMALL_A).1, 3);
    let mut intended = (*lab.get("waits")).clone();
    (intended.metadata.name, intended.metadata.uid) = (Some("new".to_owned()), None);
    lab.index.claims.intend(&intended, NOW);
    assert_eq!(lab.size(SMALL_A).1, 4);
}

#[test]
fn a_claim_counts_for_what_it_became() {
    let mut lab = Lab::new(json!({}));
    lab.claim_but("odd", "web", "small", |claim| claim["status"] = super::running("odd", "large"));
    assert_eq!((lab.size(SMALL_A).1, lab.size(LARGE_A).1), (0, 1));
}

#[test]
fn all_groups_share_what_the_pools_limits_leave() {
    let mut lab = Lab::new(json!({"limits": {"nodes": 5, "cpu": 20}}));
    lab.node("n", "web", "small");
    lab.claim_but("going", "web", "large", |claim| {
        claim["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:00:00Z");
    });
    // Of 20 cores 2 and 8 are taken, and of 5 nodes 2.
    assert_eq!((lab.size(SMALL_A), lab.size(LARGE_A)), ((0, 1, 4), (0, 0, 1)));
    lab.settings.plan.max_nodes = Some(3);
    assert_eq!((lab.size(SMALL_A).2, lab.size(LARGE_A).2), (2, 1));
}

#[test]
fn what_a_provider_has_is_less_by_what_was_not_launched_yet() {
    let mut lab = Lab::new(json!({}));
    let mut scarce = machine("small", 2, 100_000);
    scarce.offerings[0].available = Some(3);
    lab.offers(vec![scarce]);
    lab.claim("waits", "small");
    lab.failed("failed", "small");
    assert_eq!(lab.size(SMALL_A), (0, 2, 4));
}

/// A machine that takes so many cores of a host that has twelve left.
fn cut(name: &str, cores: i64) -> InstanceType {
    let mut machine = machine(name, cores, 100_000);
    let amounts = |cores: i64| Resources::from_iter([("cpu", cores * 1000)]);
    machine.offerings.truncate(1);
    machine.offerings[0].draws = Some(Draw { from: "pve1".into(), left: amounts(12), takes: amounts(cores) });
    machine
}

#[test]
fn what_was_launched_after_a_provider_was_asked_is_missing_on_its_host() {
    let mut lab = Lab::new(json!({}));
    lab.offers(vec![cut("small", 2), cut("large", 8)]);
    lab.node("n", "web", "large");
    assert_eq!(lab.size(LARGE_A).2, 1 + 1, "it is not known when the provider was asked");
    lab.index.told("s", Timestamp::UNIX_EPOCH);
    assert_eq!((lab.size(SMALL_A).2, lab.size(LARGE_A).2), (2, 1));
    lab.index.told("s", Timestamp::from_second(1).unwrap());
    assert_eq!((lab.size(SMALL_A).2, lab.size(LARGE_A).2), (6, 1 + 1));
}

#[test]
fn groups_that_draw_on_one_host_grow_only_as_far_as_it_has_room() {
    let mut lab = Lab::new(json!({}));
    lab.offers(vec![cut("small", 2), cut("large", 8)]);
    lab.claim("waits", "small");
    lab.failed("failed", "large");
    assert_eq!((lab.size(SMALL_A).2, lab.size(LARGE_A).2), (1 + 5, 1 + 1));
    lab.claim("also", "small");
    assert_eq!((lab.size(SMALL_A).2, lab.size(LARGE_A).2), (2 + 4, 1 + 1));
    lab.claim("more", "small");
    assert_eq!((lab.size(SMALL_A).2, lab.size(LARGE_A).2), (3 + 3, 1));
}

#[test]
fn no_more_is_launched_within_a_minute_than_may() {
    let mut lab = Lab::new(json!({"scaleUp": {"maxPerMinute": 3}}));
    lab.claim("new", "small");
    assert_eq!((lab.size(SMALL_A).2, lab.size(LARGE_A).2), (3, 2));
}

#[test]
fn the_cheapest_group_is_to_make_up_for_what_the_pool_keeps() {
    let mut lab = Lab::new(json!({"minNodes": 3}));
    let least = |lab: &Lab| {
        let sizes = lab.sizes().into_values();
        sizes.map(|(min, target, _)| min.max(target)).sum::<u32>()
    };
    assert_eq!((lab.size(SMALL_A).0, least(&lab)), (3, 3));
    lab.node("n", "web", "large");
    assert_eq!((lab.size(LARGE_A).0, lab.size(SMALL_A).0, least(&lab)), (1, 2, 3));
}

#[test]
fn what_is_paused_stays_as_it_is() {
    let mut lab = Lab::new(json!({"paused": true, "minNodes": 3}));
    lab.node("n", "web", "small");
    assert_eq!((lab.size(SMALL_A), lab.size(LARGE_A)), ((1, 1, 1), (0, 0, 0)));
    let mut lab = Lab::new(json!({}));
    lab.node("n", "web", "small");
    lab.index.saw_pause("ns", Some("a holiday".into()));
    assert_eq!((lab.size(SMALL_A), lab.size(LARGE_A)), ((1, 1, 1), (0, 0, 0)));
}

#[test]
fn labels_that_the_pool_defines_make_groups_of_their_own() {
    let requirements = json!([
        {"key": "team", "operator": "In", "values": ["red", "blue"]},
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["small"]},
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]},
    ]);
    let mut lab = Lab::new(json!({"template": {"spec": {"requirements": requirements}}}));
    lab.claim_but("c", "web", "small", |claim| claim["spec"]["labels"] = json!({"team": "red"}));
    let sizes = lab.sizes();
    assert_eq!(sizes["web/small/a/on-demand/team=red"].1, 1);
    assert_eq!(sizes["web/small/a/on-demand/team=blue"].1, 0);
}
