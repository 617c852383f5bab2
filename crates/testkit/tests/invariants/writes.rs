//! Writes: to foreign things, without end, and while nobody could look.

use std::sync::Arc;

use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;
use windlass_api::labels::{FIELD_MANAGER, POOL};
use windlass_testkit::invariants::{Foreign, Invariant, Kind};
use windlass_testkit::objects::NodeBuilder;
use windlass_testkit::{ControlPlane, eventually};

use super::SOON;
use super::mini::Mini;

/// On a plane of its own, since what is foreign to one watcher is foreign to all.
pub(super) async fn i3_writes_to_foreign_things_are_caught(_: Arc<ControlPlane>) {
    let plane = ControlPlane::start().await.unwrap();
    let mini = Mini::start(&plane, "i3").await;
    let create = async |name: &str| {
        let node = NodeBuilder::new(name).build();
        mini.nodes().create(&PostParams::default(), &node).await.unwrap()
    };
    let (unmarked, declared) = (create("i3-unmarked").await, create("i3-declared").await);
    mini.watcher.foreign(Kind::Node, &declared).unwrap();
    let mut snapshot = Foreign::new(mini.client.clone());
    snapshot.capture(&declared).await.unwrap();
    let label = |key: &str| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"labels": {key: "x"}}});
    let params = PatchParams::apply(FIELD_MANAGER).force();

    let ours = create("i3-ours").await;
    mini.nodes().patch(&ours.name_any(), &params, &Patch::Apply(label(POOL))).await.unwrap();
    eventually("KWOK to have made the foreign nodes ready", SOON, async || {
        let node = mini.nodes().get("i3-declared").await.unwrap();
        let conditions = node.status.unwrap_or_default().conditions.unwrap_or_default();
        conditions
            .iter()
            .any(|condition| condition.type_ == "Ready" && condition.status == "True")
            .then_some(())
    })
    .await;
    snapshot.assert_unchanged().await.unwrap();
    mini.is_clean().await;

    mini.nodes().patch(&unmarked.name_any(), &params, &Patch::Apply(label("a"))).await.unwrap();
    let violations = mini.watcher.settle().await.unwrap();
    mini.is_caught(&violations, Invariant::ForeignUntouched, &["-unmarked"]);

    let patch = Patch::Merge(label("windlass.dev/looks-harmless"));
    mini.nodes().patch(&declared.name_any(), &PatchParams::default(), &patch).await.unwrap();
    let violations = mini.watcher.settle().await.unwrap();
    mini.is_caught(&violations[1..], Invariant::ForeignUntouched, &["-declared is foreign and was changed"]);
    assert_eq!(snapshot.differences().await.unwrap().len(), 1);

    mini.nodes().delete(&declared.name_any(), &DeleteParams::default()).await.unwrap();
    let violations = mini.watcher.settle().await.unwrap();
    mini.is_caught(&violations[2..], Invariant::ForeignUntouched, &["-declared is foreign and was deleted"]);
}

pub(super) async fn i7_a_controller_that_writes_without_end_is_caught(plane: Arc<ControlPlane>) {
    let mini = Mini::start(&plane, "i7").await;
    let claim = mini.claim("a").await;
    for write in 0..20 {
        mini.set_status(&claim, json!({"zone": format!("zone-{write}")})).await;
    }
    for _ in 0..100 {
        mini.set_status(&claim, json!({"zone": "the same each time"})).await;
    }
    mini.is_clean().await;

    for write in 0..20 {
        mini.set_status(&claim, json!({"zone": format!("zone-{write}")})).await;
    }
    let violations = mini.watcher.settle().await.unwrap();
    mini.is_caught(&violations, Invariant::NoWriteStorm, &["-a was written 31 times"]);
}

pub(super) async fn a_watcher_outlives_the_api_server(_: Arc<ControlPlane>) {
    let plane = ControlPlane::start().await.unwrap();
    let mini = Mini::start(&plane, "outlives").await;
    let claim = mini.claim("a").await;
    mini.launch(&claim, "").await;
    mini.is_clean().await;

    plane.restart_apiserver().await.unwrap();
    mini.launch(&claim, "-again").await;
    let violations = mini.watcher.settle().await.unwrap();
    mini.is_caught(&violations, Invariant::OneMachinePerClaim, &["-a has 2 live machines"]);
}
