use std::collections::BTreeMap;

use jiff::Timestamp;
use windlass_api::{LimitedDuration, NodeClaim};

use super::super::{Invariant, Kind, ObjectName, Writer};
use super::objects::{budget, claim, deleted, evicted, initialized, machine, node, pod, tainted};
use super::script::Script;

fn leaving(at: Timestamp) -> NodeClaim {
    let mut claim = deleted(initialized(claim("a")), at);
    claim.spec.termination_grace_period = Some(LimitedDuration::seconds(300));
    claim
}

/// A node with a pod whose budget allows so many disruptions, and whose claim is being deleted.
fn draining(allowed: i32) -> Script {
    let mut script = Script::new();
    let now = script.now();
    script.add(&claim("a")).add(&machine("a", "a")).change(&initialized(claim("a"))).add(&node("a"));
    script.add(&budget(allowed)).add(&pod("web-1", "a")).change(&leaving(now)).change(&tainted(node("a")));
    script
}

#[test]
fn i5_catches_a_pod_that_is_deleted_around_the_eviction_api() {
    let mut script = draining(0);
    script.is_clean();
    let dying = deleted(pod("web-1", "a"), script.now());
    script.change(&dying).remove(&dying);
    script.is_caught(Invariant::BudgetsHold, &["default/web-1", "node a", "budget default/web"]);
}

#[test]
fn i5_catches_a_pod_that_is_gone_at_once() {
    let mut script = draining(0);
    script.remove(&pod("web-1", "a"));
    script.is_caught(Invariant::BudgetsHold, &["default/web-1"]);
}

#[test]
fn i5_allows_evictions_which_the_api_server_has_judged() {
    let mut script = draining(1);
    let victim = evicted(pod("web-1", "a"));
    let dying = deleted(victim.clone(), script.now());
    script.change(&victim).change(&budget(0)).change(&dying).remove(&victim);
    script.is_clean();
}

#[test]
fn i5_allows_everything_once_the_drain_is_over() {
    let mut script = draining(0);
    script.pass(301).remove(&pod("web-1", "a"));
    script.is_clean();
}

#[test]
fn i5_leaves_pods_alone_that_no_exhausted_budget_protects() {
    let mut script = draining(1);
    script.remove(&pod("web-1", "a"));
    script.is_clean();
}

#[test]
fn i5_leaves_users_alone_who_delete_their_own_pods() {
    let mut script = draining(0);
    script.by(Writer::Other).remove(&pod("web-1", "a"));
    script.is_clean();
    let mut script = draining(0);
    script.judge.excuse(Invariant::BudgetsHold, ObjectName::new(Kind::Pod, "default/web-1"));
    script.remove(&pod("web-1", "a"));
    script.is_clean();
}

#[test]
fn i5_catches_a_machine_that_is_ended_under_its_pods() {
    let mut script = draining(0);
    script.remove(&machine("a", "a"));
    script.is_caught(Invariant::BudgetsHold, &["the machine of node a was ended while pod default/web-1"]);
}

#[test]
fn i5_does_not_blame_windlass_for_a_machine_that_vanishes_while_it_drains() {
    let mut script = draining(0);
    let mut doomed = machine("a", "a");
    let record = r#"{"fate": {"vanish": {"secs": 60, "nanos": 0}}}"#;
    doomed.data = Some(BTreeMap::from([("machine".to_owned(), record.to_owned())]));
    script.remove(&doomed);
    script.is_clean();
}

#[test]
fn i5_catches_a_node_that_is_removed_under_its_pods() {
    let mut script = draining(0);
    script.remove(&tainted(node("a")));
    script.is_caught(Invariant::BudgetsHold, &["node a was removed while pod default/web-1"]);
}

#[test]
fn i5_does_not_blame_windlass_for_a_machine_that_is_lost() {
    let mut script = Script::new();
    script.add(&claim("a")).add(&machine("a", "a")).change(&initialized(claim("a"))).add(&node("a"));
    script.add(&budget(0)).add(&pod("web-1", "a")).remove(&machine("a", "a"));
    script.is_clean();
}
