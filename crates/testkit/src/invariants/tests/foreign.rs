use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt as _;
use serde_json::json;

use super::super::{Invariant, JournalEntry, Kind, ObjectName, Options, Scope, Writer};
use super::objects::{budget, machine, named, node, pod, pool, written};
use super::script::Script;

fn unmarked() -> Node {
    Node { metadata: named("theirs"), ..Node::default() }
}

#[test]
fn i3_catches_a_write_to_a_node_without_our_mark() {
    let mut script = Script::new();
    let now = script.now();
    script.find(&unmarked()).change(&written(unmarked(), "kubelet", now, json!({})));
    script.is_clean();
    let touched = written(unmarked(), "windlass", script.now(), json!({"f:metadata": {}}));
    script.change(&touched).change(&touched);
    script.is_caught(Invariant::ForeignUntouched, &["Windlass wrote Node theirs"]);
}

#[test]
fn i3_allows_writes_to_our_own_nodes() {
    let mut script = Script::new();
    let now = script.now();
    script.add(&written(node("a"), "windlass", script.now(), json!({})));
    let mut fresh = node("b");
    fresh.metadata.labels = None;
    script.add(&machine("b", "b")).add(&written(fresh.clone(), "windlass", now, json!({})));
    script.remove(&machine("b", "b")).change(&written(fresh, "windlass", now, json!({})));
    script.is_clean();
}

#[test]
fn i3_knows_managers_that_only_begin_like_ours() {
    let mut script = Script::new();
    script.find(&written(unmarked(), "windlassify", script.now(), json!({})));
    script.is_clean();
    script.change(&written(unmarked(), "windlass-simulated", script.now(), json!({})));
    script.is_caught(Invariant::ForeignUntouched, &["Node theirs"]);
}

#[test]
fn i3_catches_writes_to_pods_and_budgets() {
    let mut script = Script::new();
    script.change(&written(pod("web", "a"), "windlass", script.now(), json!({})));
    script.is_caught(Invariant::ForeignUntouched, &["Pod default/web"]);
    let mut script = Script::new();
    script.by(Writer::Windlass).change(&budget(1));
    script.is_caught(Invariant::ForeignUntouched, &["PodDisruptionBudget default/web"]);
}

#[test]
fn i3_catches_writes_to_what_users_ask_for_but_not_to_its_status() {
    let mut script = Script::new();
    script.change(&written(pool(&[]), "windlass", script.now(), json!({"f:status": {}})));
    script.is_clean();
    script.change(&written(pool(&[]), "windlass", script.now(), json!({"f:spec": {"f:limits": {}}})));
    script.is_caught(Invariant::ForeignUntouched, &["NodePool general", "the user's"]);
}

#[test]
fn i3_catches_any_change_of_what_is_declared_foreign() {
    let theirs = machine("m", "m");
    let name = ObjectName::new(Kind::Machine, "windlass/m");
    let mut script = Script::new();
    script.judge.foreign(name.clone(), &theirs).unwrap();
    script.change(&written(theirs.clone(), "someone", script.now(), json!({})));
    script.is_clean();
    let mut touched = theirs.clone();
    touched.labels_mut().insert("a".to_owned(), "b".to_owned());
    script.change(&touched);
    script.is_caught(
        Invariant::ForeignUntouched,
        &["windlass/m is foreign and was changed", ".metadata.labels.a"],
    );

    let mut script = Script::new();
    script.judge.foreign(name, &theirs).unwrap();
    script.remove(&theirs);
    script.is_caught(Invariant::ForeignUntouched, &["windlass/m is foreign and was deleted"]);
}

#[test]
fn i3_catches_the_end_of_a_foreign_machine_in_a_journal() {
    let launched = |cluster: &str| JournalEntry::Launched {
        provider_id: "vm-1".to_owned(),
        cluster_id: cluster.to_owned(),
        claim_uid: "uid-a".to_owned(),
    };
    let ended = || JournalEntry::Terminated { provider_id: "vm-1".to_owned() };
    let script = || {
        let scope = Scope { cluster_id: Some("ours".to_owned()), ..Scope::default() };
        Script::with(Options { scope, ..Options::default() })
    };
    let mut right = script();
    right.journal(launched("ours")).journal(ended()).journal(ended());
    right.is_clean();
    let mut unknown = script();
    unknown.journal(ended());
    unknown.is_caught(Invariant::ForeignUntouched, &["vm-1 was never launched"]);
    let mut other = script();
    other.journal(launched("ours-too")).journal(ended());
    other.is_caught(Invariant::ForeignUntouched, &["vm-1 belongs to another cluster"]);
    let mut declared = script();
    declared.judge.foreign(ObjectName::new(Kind::Machine, "vm-1"), &()).unwrap();
    declared.journal(launched("ours")).journal(ended());
    declared.is_caught(Invariant::ForeignUntouched, &["vm-1 is foreign"]);
}
