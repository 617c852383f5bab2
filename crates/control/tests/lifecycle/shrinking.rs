//! Nodes whose pods can run for less elsewhere.

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use windlass_api::{conditions, labels};
use windlass_testkit::{ControlPlane, eventually};

use crate::diary::{Diary, Entry, Kind};
use crate::hands::{app_runs, claim_says, deploy, new_lab, protect};
use crate::lab::{Lab, PATIENCE};

fn thrifty() -> Value {
    json!({"disruption": {
        "consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "2s", "budgets": [],
    }})
}

async fn scale(lab: &Lab, app: &str, replicas: u32) {
    let api: kube::Api<k8s_openapi::api::apps::v1::Deployment> =
        kube::Api::namespaced(lab.client.clone(), &lab.namespace);
    let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    api.patch(app, &PatchParams::default(), &patch).await.unwrap();
}

/// Three nodes of four cores, each with a pod of two and a half cores and one of a whole one.
async fn three_nodes(plane: Arc<ControlPlane>, name: &str) -> Lab {
    let mut lab = new_lab(plane, name).await;
    lab.settings.plan.moves_apart = Duration::ZERO;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &thrifty()).await;
    lab.start().await;
    deploy(&lab, "large", 3, "2500m").await;
    deploy(&lab, "small", 3, "1").await;
    app_runs(&lab, "large", 3).await;
    app_runs(&lab, "small", 3).await;
    lab.ready_claims(3).await;
    lab
}

/// How many nodes were to go because others have room for their pods, how many did, and how many stayed after all: a node
/// that came too many may have gone before the test begins.
fn counted(lab: &Lab) -> [u64; 3] {
    let [decided, gone] =
        ["disruptions_decided", "claims_removed"].map(|name| lab.counted(name, Some("Underutilized")));
    [decided, gone, lab.counted("disruptions_taken_back", None)]
}

fn is_tainted(entry: &Entry) -> bool {
    let taints = entry.object.pointer("/spec/taints").and_then(Value::as_array);
    taints.into_iter().flatten().any(|taint| taint["key"] == labels::DISRUPTED_TAINT)
}

pub async fn nodes_whose_pods_fit_on_others_are_closed_drained_and_given_back(plane: Arc<ControlPlane>) {
    let lab = three_nodes(plane, "shrink").await;
    let before = counted(&lab);
    let diary = Diary::of(&lab).await;
    scale(&lab, "large", 0).await;
    let [left] = &lab.ready_claims(1).await[..] else { panic!("more than one claim") };
    app_runs(&lab, "small", 3).await;
    let gone = eventually("two claims to be gone", PATIENCE, async || {
        let entries = diary.entries().into_iter();
        let gone: Vec<Entry> = entries.filter(|entry| entry.kind == Kind::Claim && entry.deleted).collect();
        if gone.len() == 2 { Ok(gone) } else { Err(format!("{} are gone, {left:?} is left", gone.len())) }
    })
    .await;
    for claim in gone {
        let why = claim.object.pointer("/metadata/annotations/windlass.dev~1disruption").cloned();
        assert!(why.as_ref().is_some_and(|why| why.to_string().contains("Underutilized")), "{why:?}");
        let node = claim.object.pointer("/status/nodeName").and_then(Value::as_str).unwrap().to_owned();
        let closed =
            diary.first("its node to be closed", |entry| entry.name == node && is_tainted(entry)).await;
        let left = diary.first("it to leave", |entry| entry.name == claim.name && entry.is_leaving()).await;
        assert!(closed.version < left.version, "{} left before its node was closed", claim.name);
    }
    assert_eq!(counted(&lab), [before[0] + 2, before[1] + 2, before[2]]);
    scale(&lab, "small", 0).await;
    lab.everything_is_gone().await;
    lab.finish().await;
}

pub async fn pods_that_may_not_be_evicted_keep_their_nodes(plane: Arc<ControlPlane>) {
    let lab = three_nodes(plane, "shrinkpdb").await;
    protect(&lab, "small", 3).await;
    let diary = Diary::of(&lab).await;
    scale(&lab, "large", 0).await;
    crate::hands::at_work_for(&lab, Duration::from_secs(6)).await;
    let disturbed = diary.entries().into_iter().find(|entry| {
        (entry.kind == Kind::Claim && entry.is_leaving()) || (entry.kind == Kind::Node && is_tainted(entry))
    });
    assert!(disturbed.is_none(), "{disturbed:?}");
    crate::hands::budgets(&lab).delete("small", &kube::api::DeleteParams::default()).await.unwrap();
    lab.ready_claims(1).await;
    scale(&lab, "small", 0).await;
    lab.everything_is_gone().await;
    lab.finish().await;
}

pub async fn a_decision_that_is_taken_back_opens_the_node_again(plane: Arc<ControlPlane>) {
    let lab = three_nodes(plane, "shrinkback").await;
    let before = counted(&lab);
    let claim = lab.claims().await.remove(0);
    let name = claim.name_any();
    // As if it had been decided and the replacement had failed since.
    let annotations = json!({
        labels::DISRUPTION: "Underutilized: it was decided", labels::DISRUPTED_AT: "2026-01-01T00:00:00Z",
        labels::REPLACED_BY: "nobody",
    });
    let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    let diary = Diary::of(&lab).await;
    lab.claim_api().patch(&name, &PatchParams::default(), &patch).await.unwrap();
    eventually("the decision to be taken back", PATIENCE, async || {
        let claim = lab.claim_api().get(&name).await.ok()?;
        (!claim.annotations().contains_key(labels::DISRUPTION)).then_some(())
    })
    .await;
    claim_says(&lab, &name, conditions::DISRUPTED, "False", "Stays").await;
    assert_eq!(counted(&lab), [before[0], before[1], before[2] + 1], "that it was to go, the test decided");
    let node = claim.status.unwrap().node_name.unwrap();
    eventually("the node to be open", PATIENCE, async || {
        let spec = lab.node_api().get(&node).await.ok()?.spec?;
        let closed = spec.taints.unwrap_or_default().iter().any(|taint| taint.key == labels::DISRUPTED_TAINT);
        (!closed && spec.unschedulable != Some(true)).then_some(())
    })
    .await;
    let left = diary.entries().into_iter().find(|entry| entry.kind == Kind::Claim && entry.is_leaving());
    assert!(left.is_none(), "{left:?}");
    scale(&lab, "large", 0).await;
    scale(&lab, "small", 0).await;
    lab.everything_is_gone().await;
    lab.finish().await;
}
