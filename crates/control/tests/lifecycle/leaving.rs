//! Claims, nodes and pools that are deleted.

use std::sync::Arc;

use kube::ResourceExt;
use kube::api::{DeleteParams, PropagationPolicy};
use serde_json::json;
use windlass_api::{conditions, labels};
use windlass_testkit::{ControlPlane, eventually};

use crate::diary::{Diary, Entry, Kind};
use crate::hands::{app_runs, delete_claim, deploy, new_lab, node_of, told};
use crate::lab::{Lab, PATIENCE};

async fn running(plane: Arc<ControlPlane>, name: &str) -> (Lab, Diary) {
    let mut lab = new_lab(plane, name).await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    deploy(&lab, "web", 2, "1").await;
    app_runs(&lab, "web", 2).await;
    lab.ready_claims(1).await;
    (lab, diary)
}

/// Checks that a node was cordoned, its pods evicted, its machine ended, the node deleted and the claim let go, in this
/// order.
async fn left_in_order(diary: &Diary, claim: &str, node: &str) {
    let on_node = |entry: &Entry| entry.kind == Kind::Pod && entry.object["spec"]["nodeName"] == *node;
    let cordoned = diary
        .first("the node to be cordoned", |entry| {
            entry.kind == Kind::Node && entry.name == node && entry.object["spec"]["unschedulable"] == true
        })
        .await;
    let taints = cordoned.object["spec"]["taints"].as_array().unwrap();
    assert!(taints.iter().any(|taint| taint["key"] == labels::DISRUPTED_TAINT));
    let evicted = diary.first("a pod to be evicted", |entry| on_node(entry) && entry.is_leaving()).await;
    assert_eq!(evicted.condition("DisruptionTarget"), "True", "through the eviction API");
    let drained = diary
        .first("the claim to be drained", |entry| {
            entry.kind == Kind::Claim && entry.name == claim && entry.condition(conditions::DRAINED) == "True"
        })
        .await;
    let ended = diary.gone(Kind::Machine, node).await;
    let gone = diary.gone(Kind::Node, node).await;
    let let_go = diary.gone(Kind::Claim, claim).await;
    let versions = [&cordoned, &evicted, &drained, &ended, &gone, &let_go].map(|entry| entry.version);
    assert!(versions.is_sorted(), "{versions:?}");
    let pods = diary.entries().into_iter().filter(|entry| on_node(entry) && entry.deleted);
    assert!(pods.clone().count() >= 2, "both pods have left");
    assert!(pods.clone().all(|pod| pod.version < drained.version), "before the node counted as drained");
}

pub async fn a_deleted_claim_is_drained_and_its_machine_given_back_in_order(plane: Arc<ControlPlane>) {
    let (lab, diary) = running(plane, "delclaim").await;
    let claim = lab.ready_claims(1).await.remove(0);
    let answer = lab.plane.kubectl(&["delete", "nodeclaim", &claim.name_any(), "--wait=false"]).unwrap();
    assert!(answer.status.success(), "{answer:?}");
    left_in_order(&diary, &claim.name_any(), &node_of(&claim)).await;
    app_runs(&lab, "web", 2).await;
    told(&lab, "NodeClaim", &claim.name_any(), "Drained", &[&node_of(&claim)]).await;
    told(&lab, "NodeClaim", &claim.name_any(), "Terminated", &["is gone"]).await;
    told(&lab, "NodeClaim", &claim.name_any(), "Manual", &["the claim was deleted"]).await;
    assert_eq!(lab.counted("claims_removed", Some("Manual")), 1);
    lab.finish().await;
}

pub async fn a_deleted_node_is_drained_and_its_machine_given_back(plane: Arc<ControlPlane>) {
    let (lab, diary) = running(plane, "delnode").await;
    let claim = lab.ready_claims(1).await.remove(0);
    let answer = lab.plane.kubectl(&["delete", "node", &node_of(&claim), "--wait=false"]).unwrap();
    assert!(answer.status.success(), "{answer:?}");
    left_in_order(&diary, &claim.name_any(), &node_of(&claim)).await;
    told(&lab, "NodeClaim", &claim.name_any(), "NodeDeleted", &["drained"]).await;
    told(&lab, "NodeClaim", &claim.name_any(), "Manual", &["the node was deleted"]).await;
    assert_eq!(lab.counted("claims_removed", Some("Manual")), 1);
    app_runs(&lab, "web", 2).await;
    assert_eq!(lab.machines().await.len(), 1);
    lab.finish().await;
}

pub async fn a_node_stripped_of_our_finalizer_and_deleted_still_returns_its_machine(
    plane: Arc<ControlPlane>,
) {
    let (mut lab, diary) = running(plane, "stripped").await;
    let claim = lab.ready_claims(1).await.remove(0);
    lab.crash().await;
    let node = node_of(&claim);
    let nothing = kube::api::Patch::Merge(json!({"metadata": {"finalizers": null}}));
    lab.node_api().patch(&node, &kube::api::PatchParams::default(), &nothing).await.unwrap();
    lab.node_api().delete(&node, &DeleteParams::default()).await.unwrap();
    lab.start().await;
    diary.gone(Kind::Claim, &claim.name_any()).await;
    diary.gone(Kind::Machine, &node).await;
    app_runs(&lab, "web", 2).await;
    lab.finish().await;
}

pub async fn a_deleted_pool_returns_all_its_nodes(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "delpool").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    deploy(&lab, "web", 2, "3").await;
    app_runs(&lab, "web", 2).await;
    let claims = lab.ready_claims(2).await;
    let answer = lab.plane.kubectl(&["delete", "nodepool", &lab.named("pool"), "--wait=false"]).unwrap();
    assert!(answer.status.success(), "{answer:?}");
    for claim in &claims {
        left_in_order_of_one(&diary, &claim.name_any(), &node_of(claim)).await;
    }
    lab.everything_is_gone().await;
    assert_eq!(diary.made(Kind::Claim).len(), 2, "nothing is launched for a pool that is gone");
    lab.finish().await;
}

async fn left_in_order_of_one(diary: &Diary, claim: &str, node: &str) {
    let evicted = diary
        .first("the pod to be evicted", |entry| {
            entry.kind == Kind::Pod && entry.object["spec"]["nodeName"] == *node && entry.is_leaving()
        })
        .await;
    assert_eq!(evicted.condition("DisruptionTarget"), "True", "through the eviction API");
    let (ended, gone) = (diary.gone(Kind::Machine, node).await, diary.gone(Kind::Node, node).await);
    let let_go = diary.gone(Kind::Claim, claim).await;
    let versions = [&evicted, &ended, &gone, &let_go].map(|entry| entry.version);
    assert!(versions.is_sorted(), "{versions:?}");
}

pub async fn a_pool_that_waits_for_its_nodes_to_go_gets_no_new_ones(plane: Arc<ControlPlane>) {
    let (lab, diary) = running(plane, "foreground").await;
    let claim = lab.ready_claims(1).await.remove(0);
    // The pool stays until its claims are gone, while the deployment's pods wait for a node.
    let foreground =
        DeleteParams { propagation_policy: Some(PropagationPolicy::Foreground), ..DeleteParams::default() };
    lab.pool_api().delete(&lab.named("pool"), &foreground).await.unwrap();
    diary.gone(Kind::Claim, &claim.name_any()).await;
    eventually("the pool to be gone", PATIENCE, async || {
        lab.pool_api().get_opt(&lab.named("pool")).await.unwrap().is_none().then_some(())
    })
    .await;
    lab.everything_is_gone().await;
    assert_eq!(diary.made(Kind::Claim).len(), 1, "nothing is launched for a pool that is going");
    lab.finish().await;
}

pub async fn a_claim_deleted_while_its_machine_boots_leaves_nothing_behind(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "aborted").await;
    lab.plain_provider(&json!({"bootDelay": "30s"})).await;
    lab.pool("pool", &json!({})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    lab.pods("p", 1, "3").await;
    let machine = diary.first("the machine", |entry| entry.kind == Kind::Machine && entry.added).await.name;
    let claim = crate::hands::only_claim(&lab).await.name_any();
    crate::hands::delete_pods(&lab).await;
    delete_claim(&lab, &claim).await;
    diary.gone(Kind::Machine, &machine).await;
    diary.gone(Kind::Claim, &claim).await;
    lab.everything_is_gone().await;
    lab.finish().await;
}
