//! Replacements that do not come about: the node that was to go stays as it was.

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use windlass_api::{conditions, labels};
use windlass_testkit::{ControlPlane, eventually};

use crate::diary::{Diary, Kind};
use crate::hands::{app_runs, at_work_for, claim_says, deploy, new_lab, node_of, told};
use crate::lab::PATIENCE;

/// A node that is to be replaced where launches fail in this way: it is closed, opened again when the replacement has
/// failed, and stays with its pods. The replacement is counted as gone for this reason.
async fn stays(plane: Arc<ControlPlane>, name: &str, fault: Value, counted: &str) {
    let mut lab = new_lab(plane, name).await;
    lab.settings.registration_deadline = Duration::from_secs(4);
    lab.plain_provider(&json!({"bootDelay": "0s"})).await;
    lab.pool("pool", &json!({})).await;
    lab.start().await;
    deploy(&lab, "web", 2, "1").await;
    let before = app_runs(&lab, "web", 2).await;
    let claim = lab.ready_claims(1).await.remove(0);
    let (old, node) = (claim.name_any(), node_of(&claim));
    lab.plain_provider(&json!({"bootDelay": "0s", "faults": [fault]})).await;
    let diary = Diary::of(&lab).await;
    let asked = Patch::Merge(json!({"metadata": {"annotations": {labels::REPLACE: "true"}}}));
    lab.node_api().patch(&node, &PatchParams::default(), &asked).await.unwrap();

    let replacement = diary.first("a replacement", |entry| entry.kind == Kind::Claim && entry.added).await;
    diary.first("the node to be closed", |entry| entry.name == node && is_closed(&entry.object)).await;
    diary.gone(Kind::Claim, &replacement.name).await;
    told(&lab, "NodeClaim", &old, "Stays", &[&replacement.name, "did not come about"]).await;
    claim_says(&lab, &old, conditions::DISRUPTED, "False", "Stays").await;
    eventually("the node to be open again", PATIENCE, async || {
        let found = serde_json::to_value(lab.node_api().get(&node).await.ok()?).ok()?;
        (!is_closed(&found) && found["spec"]["unschedulable"] != true).then_some(())
    })
    .await;
    at_work_for(&lab, Duration::from_secs(3)).await;
    let left = diary.entries().into_iter().find(|entry| {
        let ours = entry.name == old || before.iter().any(|pod| pod.name_any() == entry.name);
        ours && (entry.is_leaving() || entry.deleted)
    });
    assert!(left.is_none(), "{left:?}");
    let after = app_runs(&lab, "web", 2).await;
    let uids = |pods: &[k8s_openapi::api::core::v1::Pod]| {
        pods.iter().filter_map(ResourceExt::uid).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(uids(&after), uids(&before));
    assert_eq!((lab.claims().await.len(), lab.machines().await.len()), (1, 1), "and nothing else is there");
    let manual = lab.counted("disruptions_decided", Some("Manual"));
    let counts = (manual, lab.counted("disruptions_taken_back", None));
    assert_eq!(counts, (1, 1));
    assert_eq!(lab.counted("claims_removed", Some(counted)), 1);
    lab.finish().await;
}

fn is_closed(node: &Value) -> bool {
    let taints = node.pointer("/spec/taints").and_then(Value::as_array);
    taints.into_iter().flatten().any(|taint| taint["key"] == labels::DISRUPTED_TAINT)
}

pub async fn a_node_whose_replacement_is_sold_out_is_opened_again_and_stays(plane: Arc<ControlPlane>) {
    let fault = json!({"effect": "Error", "calls": ["Launch"], "error": "InsufficientCapacity"});
    stays(plane, "nonetobehad", fault, "NeverLaunched").await;
}

pub async fn a_node_whose_replacement_never_joins_is_opened_again_and_stays(plane: Arc<ControlPlane>) {
    stays(plane, "neverjoins", json!({"effect": "NeverRegister"}), "NeverRegistered").await;
}
