//! Which claims go.

use std::collections::BTreeSet;

use kube::ResourceExt;
use serde_json::{Value, json};
use windlass_core::Text;

use super::{LARGE_A, Lab, NOW, SMALL_A, by_id, condition};
use crate::groups::GroupError;
use crate::groups::removal::Roster;

impl Lab {
    fn deleted(&self, group: &str, ids: &[&str], going: &[&str]) -> Result<Vec<String>, GroupError> {
        let nodes: Vec<_> = ids.iter().map(|id| by_id(id)).collect();
        self.chosen(going, |roster| roster.named(roster.table.get(group).unwrap(), &nodes))
    }

    fn decreased(&self, by: u32) -> Result<Vec<String>, GroupError> {
        self.chosen(&[], |roster| roster.superfluous(roster.table.get(SMALL_A).unwrap(), by))
    }

    fn chosen(
        &self,
        going: &[&str],
        choose: impl FnOnce(&Roster<'_>) -> Result<Vec<std::sync::Arc<windlass_api::NodeClaim>>, GroupError>,
    ) -> Result<Vec<String>, GroupError> {
        let (table, going) =
            (self.table(), going.iter().map(|uid| Text::from(*uid)).collect::<BTreeSet<_>>());
        let (index, settings, going) = (&self.index, &self.settings, &going);
        let roster = Roster { index, table: &table, settings, going, now: NOW };
        choose(&roster).map(|claims| claims.iter().map(|claim| claim.name_any()).collect())
    }
}

fn lab(pool: Value) -> Lab {
    let mut lab = Lab::new(pool);
    for name in ["one", "two", "three"] {
        lab.node(name, "web", "small");
    }
    lab.node("big", "web", "large");
    lab.pool("own", json!({"driver": "Windlass"}));
    lab.node("foreign", "own", "small");
    lab
}

fn refusal(outcome: Result<Vec<String>, GroupError>) -> String {
    match outcome {
        Err(GroupError::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn exactly_those_that_are_named_go_once_each() {
    let lab = lab(json!({}));
    let named = ["sim://one", "sim://two", "sim://one"];
    assert_eq!(lab.deleted(SMALL_A, &named, &[]).unwrap(), ["one", "two"]);
    assert!(lab.deleted(SMALL_A, &[], &[]).unwrap().is_empty());
}

#[test]
fn one_that_is_not_of_the_group_keeps_all() {
    let lab = lab(json!({}));
    for (stranger, words) in [
        ("sim://big", LARGE_A),
        ("sim://foreign", "of none about which Cluster Autoscaler decides"),
        ("aws://x", "knows no such machine"),
    ] {
        let why = refusal(lab.deleted(SMALL_A, &["sim://one", stranger], &[]));
        assert!(why.contains(words), "{why}");
    }
}

#[test]
fn what_is_going_or_gone_already_is_fine() {
    let mut lab = lab(json!({"minNodes": 2}));
    lab.claim_but("left", "web", "small", |claim| {
        claim["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:00:00Z");
    });
    lab.claim("lost", "small");
    lab.index.claims.lost("lost", "u-lost", NOW);
    let ids = ["windlass://claim/u-left", "windlass://claim/u-lost", "sim://one", "sim://two"];
    assert_eq!(lab.deleted(SMALL_A, &ids, &["u-one"]).unwrap(), ["two"]);
}

#[test]
fn a_pool_keeps_its_minimum_over_all_groups_and_counts_what_is_being_deleted() {
    let lab = lab(json!({"minNodes": 3}));
    assert_eq!(lab.deleted(SMALL_A, &["sim://one"], &[]).unwrap(), ["one"]);
    let why = refusal(lab.deleted(SMALL_A, &["sim://one", "sim://two"], &[]));
    assert_eq!(why, "no node of pool web goes: it keeps 3 and has 4, of which 2 were to go");
    refusal(lab.deleted(LARGE_A, &["sim://big"], &["u-one"]));
}

#[test]
fn what_failed_goes_whatever_the_minimum_and_whether_or_not_the_pool_is_paused() {
    let mut lab = lab(json!({"minNodes": 4, "paused": true}));
    lab.failed("failed", "small");
    assert_eq!(lab.deleted(SMALL_A, &["windlass://claim/u-failed"], &[]).unwrap(), ["failed"]);
    assert!(refusal(lab.deleted(SMALL_A, &["sim://one"], &[])).ends_with("the pool is paused"));
}

#[test]
fn no_more_go_within_a_minute_than_may() {
    let mut lab = lab(json!({"scaleDown": {"maxPerMinute": 2}}));
    lab.claim_but("left", "web", "small", |claim| {
        claim["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:00:00Z");
    });
    assert_eq!(lab.deleted(SMALL_A, &["sim://one"], &[]).unwrap(), ["one"]);
    let why = refusal(lab.deleted(SMALL_A, &["sim://one", "sim://two"], &[]));
    assert!(why.ends_with("no more than 2 go within a minute"), "{why}");
}

#[test]
fn a_target_comes_down_only_by_what_has_no_machine_for_certain() {
    let mut lab = Lab::new(json!({}));
    lab.node("node", "web", "small");
    lab.claim_but("asked", "web", "small", |claim| claim["status"] = json!({"launch": {"offering": 0}}));
    lab.claim_but("timed-out", "web", "small", |claim| {
        claim["status"] =
            json!({"launch": {"offering": 0}, "conditions": [condition("Launched", "False", "LaunchTimeout")]});
    });
    assert!(refusal(lab.decreased(1)).contains("0 of its 3 have no machine"));
    lab.claim("new", "small");
    lab.failed("failed", "small");
    assert_eq!(lab.decreased(1).unwrap(), ["failed"], "what failed goes first");
    assert_eq!(lab.decreased(2).unwrap(), ["new", "failed"]);
    assert!(refusal(lab.decreased(3)).contains("2 of its 5 have no machine"));
    refusal(lab.decreased(u32::MAX));
}
