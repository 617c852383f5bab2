//! What pools are made of: minimum, limits, weight, template.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use windlass_api::{conditions, labels};
use windlass_testkit::{ControlPlane, eventually};

use crate::diary::{Diary, Kind};
use crate::hands::{at_work_for, claim_says, delete_claim, new_lab, node_of, only_claim, told, two_types};
use crate::lab::{PATIENCE, is};

pub async fn a_pools_minimum_is_kept_restored_and_raised(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "minimum").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({"minNodes": 1})).await;
    lab.start().await;
    let first = lab.ready_claims(1).await.remove(0);
    assert_eq!(first.spec.reason.message, "the pool keeps 1 node and has 0");
    lab.pool("pool", &json!({"minNodes": 2})).await;
    lab.ready_claims(2).await;
    delete_claim(&lab, &first.name_any()).await;
    eventually("two claims without the first", PATIENCE, async || {
        let claims = lab.claims().await;
        let restored = claims.len() == 2 && claims.iter().all(|claim| claim.uid() != first.uid());
        (restored && claims.iter().all(|claim| is(claim, conditions::READY))).then_some(())
    })
    .await;
    at_work_for(&lab, Duration::from_secs(3)).await;
    assert_eq!(lab.claims().await.len(), 2, "empty nodes within the minimum stay");
    lab.pool("pool", &json!({"minNodes": 0})).await;
    lab.everything_is_gone().await;
    lab.finish().await;
}

pub async fn empty_nodes_go_no_more_at_a_time_than_the_pools_budgets_say(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "budgets").await;
    lab.plain_provider(&json!({})).await;
    let kept =
        |nodes: u32, budget: &str| json!({"minNodes": nodes, "disruption": {"budgets": [{"nodes": budget}]}});
    lab.pool("pool", &kept(3, "0")).await;
    lab.start().await;
    lab.ready_claims(3).await;
    let diary = Diary::of(&lab).await;
    lab.pool("pool", &kept(0, "0")).await;
    at_work_for(&lab, Duration::from_secs(3)).await;
    assert_eq!(lab.ready_claims(3).await.len(), 3, "a budget of none keeps all");
    lab.pool("pool", &kept(0, "1")).await;
    lab.everything_is_gone().await;
    let mut leaving = BTreeSet::new();
    for entry in diary.entries().into_iter().filter(|entry| entry.kind == Kind::Claim) {
        if entry.deleted {
            leaving.remove(&entry.name);
        } else if entry.is_leaving() {
            leaving.insert(entry.name);
        }
        assert!(leaving.len() <= 1, "{leaving:?} went at the same time");
    }
    lab.finish().await;
}

/// Five pods of three cores wait for machines of four, of which the limit allows two.
async fn limited(plane: Arc<ControlPlane>, name: &str, resource: &str, two: &str) {
    let mut lab = new_lab(plane, name).await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({"limits": {resource: two}})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    lab.pods("p", 5, "3").await;
    lab.ready_claims(2).await;
    let waiting = async || {
        let pods = lab.pod_api().list(&kube::api::ListParams::default()).await.unwrap().items;
        let nowhere = |pod: &&k8s_openapi::api::core::v1::Pod| {
            pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_none())
        };
        pods.iter().filter(nowhere).map(ResourceExt::name_any).collect::<Vec<_>>()
    };
    let left = eventually("three pods left over", PATIENCE, async || {
        let left = waiting().await;
        (left.len() == 3).then_some(left)
    })
    .await;
    told(&lab, "Pod", &left[0], "NoCapacity", &["limit", resource]).await;
    at_work_for(&lab, Duration::from_secs(2)).await;
    assert_eq!((diary.made(Kind::Claim).len(), diary.made(Kind::Machine).len()), (2, 2));
    lab.pool("pool", &json!({})).await;
    lab.all_pods_run().await;
    lab.ready_claims(5).await;
    lab.finish().await;
}

pub async fn a_limit_on_nodes_is_never_exceeded(plane: Arc<ControlPlane>) {
    limited(plane, "nodelimit", "nodes", "2").await;
}

pub async fn a_limit_on_cpu_is_never_exceeded(plane: Arc<ControlPlane>) {
    limited(plane, "cpulimit", "cpu", "11").await;
}

pub async fn the_pool_with_the_higher_weight_serves_first(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "weight").await;
    lab.plain_provider(&json!({"instanceTypes": two_types()})).await;
    let only = |kind: &str| json!([{"key": labels::INSTANCE_TYPE, "operator": "In", "values": [kind]}]);
    lab.pool("cheap", &json!({"template": {"spec": {"requirements": only("first")}}})).await;
    let heavy = json!({"weight": 10, "limits": {"nodes": 1}});
    let mut heavy_spec = json!({"template": {"spec": {"requirements": only("second")}}});
    crate::lab::merge(&mut heavy_spec, &heavy);
    lab.pool("heavy", &heavy_spec).await;
    lab.start().await;
    lab.pods("p", 1, "3").await;
    lab.all_pods_run().await;
    let claim = lab.ready_claims(1).await.remove(0);
    assert_eq!(claim.spec.pool_ref.name, lab.named("heavy"), "although the other is cheaper");
    assert_eq!(claim.status.unwrap().instance_type.as_deref(), Some("second"));
    lab.pods("q", 1, "3").await;
    lab.all_pods_run().await;
    let claims = lab.ready_claims(2).await;
    assert!(claims.iter().any(|claim| claim.spec.pool_ref.name == lab.named("cheap")), "the first is full");
    lab.finish().await;
}

pub async fn a_node_is_not_initialized_before_its_startup_taints_are_gone(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "startup").await;
    lab.plain_provider(&json!({})).await;
    let taint = json!({"key": "cni.example/starting", "effect": "NoSchedule"});
    lab.pool("pool", &json!({"template": {"spec": {"startupTaints": [taint]}}})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    lab.pods("p", 1, "3").await;
    let claim = only_claim(&lab).await.name_any();
    eventually("the claim to wait for the taint", PATIENCE, async || {
        let message = claim_says(&lab, &claim, conditions::READY, "False", "Initializing").await;
        message.contains("cni.example/starting").then_some(())
    })
    .await;
    at_work_for(&lab, Duration::from_secs(3)).await;
    let waiting = lab.claim_api().get(&claim).await.unwrap();
    assert!(is(&waiting, conditions::REGISTERED) && !is(&waiting, conditions::INITIALIZED));
    assert_eq!(diary.made(Kind::Claim).len(), 1, "the node is waited for");
    let open = Patch::Merge(json!({"spec": {"taints": null}}));
    lab.node_api().patch(&node_of(&waiting), &PatchParams::default(), &open).await.unwrap();
    lab.all_pods_run().await;
    lab.ready_claims(1).await;
    lab.finish().await;
}

pub async fn a_pools_template_is_on_its_nodes(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "template").await;
    lab.plain_provider(&json!({})).await;
    lab.pool(
        "pool",
        &json!({"template": {
            "metadata": {"labels": {"team": "blue"}, "annotations": {"example.com/note": "hello"}},
            "spec": {"taints": [{"key": "dedicated", "value": "blue", "effect": "NoSchedule"}]},
        }}),
    )
    .await;
    lab.start().await;
    lab.create_pod(lab.pod("p", "3").tolerates("dedicated").node_selector("team", "blue")).await;
    lab.all_pods_run().await;
    let claim = lab.ready_claims(1).await.remove(0);
    let node = lab.node_api().get(&node_of(&claim)).await.unwrap();
    let wanted = [
        ("team", "blue"),
        (labels::INSTANCE_TYPE, "four"),
        (labels::ZONE, "zone-a"),
        (labels::CAPACITY_TYPE, "on-demand"),
        (labels::POOL, &lab.named("pool")),
    ];
    for (key, value) in wanted {
        assert_eq!(node.labels().get(key).map(String::as_str), Some(value), "{key}");
    }
    assert_eq!(node.annotations()["example.com/note"], "hello");
    assert_eq!(Some(&node.annotations()[labels::CLAIM_UID]), claim.metadata.uid.as_ref());
    assert_eq!(node.annotations()[labels::PROVIDER], lab.named("sim"));
    assert!(node.finalizers().contains(&labels::FINALIZER.to_owned()));
    let spec = node.spec.unwrap();
    assert_eq!(spec.provider_id, claim.status.unwrap().provider_id);
    let taints: Vec<_> = spec.taints.unwrap().into_iter().map(|taint| (taint.key, taint.value)).collect();
    assert_eq!(taints, [("dedicated".to_owned(), Some("blue".to_owned()))], "and no `unregistered` any more");
    lab.finish().await;
}
