//! Nodes that give way to others: because their time is over, because they are not what would be launched today, or because
//! somebody asks for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use windlass_api::{NodeClaim, conditions, labels};
use windlass_providers::{Clock, SystemClock};
use windlass_testkit::{ControlPlane, eventually};

use crate::diary::{Diary, Entry, Kind};
use crate::hands::{app_runs, at_work_for, deploy, new_lab, node_of, protect, told};
use crate::lab::{Lab, PATIENCE};

/// Waits until none of these claims is left and as many others are ready.
async fn others_stand(lab: &Lab, old: &[NodeClaim]) -> Vec<NodeClaim> {
    let names: BTreeSet<String> = old.iter().map(ResourceExt::name_any).collect();
    eventually("others to take their place", 4 * PATIENCE, async || {
        let left = lab.claims().await.into_iter().filter(|claim| names.contains(&claim.name_any())).count();
        if left == 0 { Ok(()) } else { Err(format!("{left} are left")) }
    })
    .await;
    lab.ready_claims(old.len()).await
}

fn is_going(entry: &Entry) -> bool {
    let decided = entry.object.pointer("/metadata/annotations/windlass.dev~1disruption");
    entry.is_leaving() || decided.is_some()
}

pub async fn a_pool_of_twelve_rotates_within_its_budget_and_keeps_its_capacity(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "rotate").await;
    lab.plain_provider(&json!({"bootDelay": "0s"})).await;
    let pool = |lifetime: &str| {
        let disruption = json!({"rotateBefore": "5s", "budgets": [{"nodes": "2", "reasons": ["Expiring"]}]});
        json!({"minNodes": 12, "disruption": disruption, "template": {"spec": {"expireAfter": lifetime}}})
    };
    lab.pool("pool", &pool("Never")).await;
    lab.start().await;
    let first = lab.ready_claims(12).await;
    deploy(&lab, "web", 12, "3").await;
    app_runs(&lab, "web", 12).await;
    protect(&lab, "web", 10).await;
    let diary = Diary::of(&lab).await;
    lab.pool("pool", &pool("40s")).await;
    let names: BTreeSet<String> = first.iter().map(ResourceExt::name_any).collect();
    eventually("all twelve to go", 4 * PATIENCE, async || {
        let left = lab.claims().await.into_iter().filter(|claim| names.contains(&claim.name_any())).count();
        if left == 0 { Ok(()) } else { Err(format!("{left} are left")) }
    })
    .await;
    lab.pool("pool", &pool("Never")).await;
    app_runs(&lab, "web", 12).await;
    let (mut claims, mut least, mut most): (BTreeMap<String, Entry>, usize, usize) = (BTreeMap::new(), 12, 0);
    for claim in &first {
        let object = serde_json::to_value(claim).unwrap();
        let entry = Entry { object, ..diary.entries()[0].clone() };
        claims.insert(claim.name_any(), entry);
    }
    for entry in diary.entries().into_iter().filter(|entry| entry.kind == Kind::Claim) {
        if entry.deleted {
            claims.remove(&entry.name);
        } else {
            claims.insert(entry.name.clone(), entry);
        }
        let stands =
            |entry: &&Entry| entry.condition(conditions::INITIALIZED) == "True" && !entry.is_leaving();
        least = least.min(claims.values().filter(stands).count());
        most = most.max(claims.values().filter(|entry| is_going(entry)).count());
    }
    assert!(least >= 12, "{least} nodes stood at one time");
    assert!((1..=2).contains(&most), "{most} were on their way out at one time");
    lab.finish().await;
}

pub async fn nodes_of_an_old_image_and_of_an_old_template_are_replaced(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "drift").await;
    lab.plain_provider(&json!({"bootDelay": "0s", "image": "1"})).await;
    lab.pool("pool", &json!({})).await;
    lab.start().await;
    deploy(&lab, "web", 2, "3").await;
    app_runs(&lab, "web", 2).await;
    let first = lab.ready_claims(2).await;
    lab.plain_provider(&json!({"bootDelay": "0s", "image": "2"})).await;
    let second = others_stand(&lab, &first).await;
    app_runs(&lab, "web", 2).await;
    told(&lab, "NodeClaim", &first[0].name_any(), "ScaleDown", &["Drifted", "image \"1\""]).await;
    lab.pool("pool", &json!({"template": {"metadata": {"labels": {"team": "b"}}}})).await;
    others_stand(&lab, &second).await;
    app_runs(&lab, "web", 2).await;
    assert!(lab.nodes().await.iter().all(|node| node.labels()["team"] == "b"));
    lab.finish().await;
}

pub async fn a_machine_that_its_provider_will_end_is_replaced_before_it_does(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "ends").await;
    lab.settings.plan.last_call = Duration::from_secs(1);
    lab.plain_provider(&json!({"bootDelay": "0s", "lifetime": "30s"})).await;
    lab.pool("pool", &json!({"disruption": {"rotateBefore": "12s", "budgets": [{"nodes": "0"}]}})).await;
    lab.start().await;
    deploy(&lab, "web", 1, "3").await;
    app_runs(&lab, "web", 1).await;
    let first = lab.ready_claims(1).await;
    eventually("the claim to say when its machine ends", PATIENCE, async || {
        lab.claims().await.first()?.status.as_ref()?.ends_at.clone()
    })
    .await;
    lab.plain_provider(&json!({"bootDelay": "0s"})).await;
    let second = others_stand(&lab, &first).await;
    app_runs(&lab, "web", 1).await;
    told(&lab, "NodeClaim", &first[0].name_any(), "ScaleDown", &["Expiring", "its provider ends it"]).await;
    let lost = crate::hands::events(&lab, "NodeClaim", &first[0].name_any()).await;
    assert!(!lost.iter().any(|event| event.reason.as_deref() == Some("MachineLost")), "{lost:?}");
    assert_eq!(second.len(), 1);
    lab.finish().await;
}

pub async fn an_annotation_on_a_node_gets_another_in_its_place(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "asked").await;
    lab.plain_provider(&json!({"bootDelay": "0s"})).await;
    lab.pool("pool", &json!({"disruption": {"budgets": [{"nodes": "0"}]}})).await;
    lab.start().await;
    deploy(&lab, "web", 2, "3").await;
    app_runs(&lab, "web", 2).await;
    let mut first = lab.ready_claims(2).await;
    let patch = Patch::Merge(json!({"metadata": {"annotations": {labels::REPLACE: "true"}}}));
    lab.node_api().patch(&node_of(&first[0]), &PatchParams::default(), &patch).await.unwrap();
    let stays = first.remove(1).name_any();
    eventually("the claim to give way", PATIENCE, async || {
        let claims = lab.claims().await;
        let names: Vec<String> = claims.iter().map(ResourceExt::name_any).collect();
        if names.contains(&first[0].name_any()) { Err(format!("{names:?}")) } else { Ok(()) }
    })
    .await;
    let left: Vec<String> = lab.ready_claims(2).await.iter().map(ResourceExt::name_any).collect();
    assert!(left.contains(&stays), "{left:?}");
    app_runs(&lab, "web", 2).await;
    lab.finish().await;
}

pub async fn a_node_with_a_condition_that_its_pool_names_is_replaced(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "ails").await;
    lab.plain_provider(&json!({"bootDelay": "0s"})).await;
    let condition = json!({"type": "GpuHealthy", "status": "False", "after": "2s"});
    lab.pool("pool", &json!({"disruption": {"repair": {"conditions": [condition]}}})).await;
    lab.start().await;
    deploy(&lab, "web", 1, "3").await;
    app_runs(&lab, "web", 1).await;
    let first = lab.ready_claims(1).await;
    let ails: Value = json!({"status": {"conditions": [{
        "type": "GpuHealthy", "status": "False", "reason": "Xid", "message": "fell off the bus",
        "lastTransitionTime": SystemClock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    }]}});
    let patch = Patch::Strategic(ails);
    lab.node_api().patch_status(&node_of(&first[0]), &PatchParams::default(), &patch).await.unwrap();
    others_stand(&lab, &first).await;
    app_runs(&lab, "web", 1).await;
    told(&lab, "NodeClaim", &first[0].name_any(), "Sick", &["GpuHealthy=False for 2s"]).await;
    lab.finish().await;
}

pub async fn a_paused_pool_and_a_paused_cluster_are_left_as_they_are(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "pause").await;
    lab.plain_provider(&json!({"bootDelay": "0s"})).await;
    lab.pool("pool", &json!({"paused": true, "minNodes": 1})).await;
    lab.start().await;
    lab.pods("p", 1, "3").await;
    told(&lab, "Pod", "p-0", "NoCapacity", &["the pool is paused"]).await;
    assert!(lab.claims().await.is_empty());
    lab.pool("pool", &json!({})).await;
    lab.all_pods_run().await;
    let namespaces: kube::Api<k8s_openapi::api::core::v1::Namespace> = kube::Api::all(lab.client.clone());
    let pause = |why: Value| Patch::Merge(json!({"metadata": {"annotations": {labels::PAUSED: why}}}));
    let parameters = PatchParams::default();
    namespaces.patch(&lab.namespace, &parameters, &pause(json!("an upgrade"))).await.unwrap();
    lab.pods("q", 1, "3").await;
    told(&lab, "Pod", "q-0", "NoCapacity", &["everything is paused: an upgrade"]).await;
    crate::hands::delete_pods(&lab).await;
    at_work_for(&lab, Duration::from_secs(4)).await;
    assert_eq!(lab.claims().await.len(), 1, "it is empty and stays");
    namespaces.patch(&lab.namespace, &parameters, &pause(Value::Null)).await.unwrap();
    lab.everything_is_gone().await;
    lab.finish().await;
}
