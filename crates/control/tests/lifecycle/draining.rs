//! What a drain respects, and for how long.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;
use windlass_api::{NodeClaim, conditions};
use windlass_testkit::ControlPlane;
use windlass_testkit::objects::LINGER;

use crate::diary::{Diary, Kind};
use crate::hands::{
    app_runs, at_work_for, brief, budgets, claim_says, delete_claim, deploy, deploy_pods, new_lab, node_of,
    now, protect, told,
};
use crate::lab::Lab;

async fn lab_with(plane: Arc<ControlPlane>, name: &str, template_spec: serde_json::Value) -> (Lab, Diary) {
    let mut lab = new_lab(plane, name).await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({"template": {"spec": template_spec}})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    (lab, diary)
}

async fn claim_of(lab: &Lab) -> NodeClaim {
    lab.ready_claims(1).await.remove(0)
}

pub async fn a_drain_respects_budgets_and_says_which_pod_it_waits_for(plane: Arc<ControlPlane>) {
    let (lab, diary) = lab_with(plane, "budget", json!({})).await;
    deploy(&lab, "db", 1, "1").await;
    let pod = app_runs(&lab, "db", 1).await.remove(0);
    protect(&lab, "db", 1).await;
    let claim = claim_of(&lab).await;
    delete_claim(&lab, &claim.name_any()).await;
    let blocked = format!("{}/{}", lab.namespace, pod.name_any());
    let message = claim_says(&lab, &claim.name_any(), conditions::DRAINED, "Unknown", "Draining").await;
    assert!(message.contains(&blocked), "{message}");
    told(&lab, "NodeClaim", &claim.name_any(), "DrainBlocked", &[&blocked, "disruption budget db"]).await;
    at_work_for(&lab, Duration::from_secs(3)).await;
    let still = lab.pod_api().get(&pod.name_any()).await.unwrap();
    assert_eq!((still.uid(), &still.metadata.deletion_timestamp), (pod.uid(), &None), "the pod stays");
    assert_eq!(
        lab.machines().await.iter().filter(|machine| machine.name_any() == node_of(&claim)).count(),
        1
    );
    budgets(&lab).delete("db", &DeleteParams::default()).await.unwrap();
    diary.gone(Kind::Machine, &node_of(&claim)).await;
    diary.gone(Kind::Claim, &claim.name_any()).await;
    app_runs(&lab, "db", 1).await;
    lab.finish().await;
}

pub async fn pods_that_belong_to_the_node_stay_until_it_goes(plane: Arc<ControlPlane>) {
    let (lab, diary) = lab_with(plane, "daemons", json!({})).await;
    let pod = lab.pod("agent", "100m").label("app", "agent").build();
    let set: DaemonSet = serde_json::from_value(json!({
        "metadata": {"name": "agent"},
        "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {"metadata": {"labels": {"app": "agent"}}, "spec": pod.spec},
        },
    }))
    .unwrap();
    let sets: Api<DaemonSet> = Api::namespaced(lab.client.clone(), &lab.namespace);
    sets.create(&PostParams::default(), &set).await.unwrap();
    deploy(&lab, "web", 1, "1").await;
    app_runs(&lab, "web", 1).await;
    app_runs(&lab, "agent", 1).await;
    let claim = claim_of(&lab).await;
    let node = node_of(&claim);
    let mirror = lab.pod("static", "100m").annotation("kubernetes.io/config.mirror", "x");
    lab.create_pod(mirror.spec(|spec| spec.node_name = Some(node.clone()))).await;
    delete_claim(&lab, &claim.name_any()).await;
    let ended = diary.gone(Kind::Machine, &node).await;
    let left_early = diary.entries().into_iter().find(|entry| {
        let of_node = entry.name == "static" || entry.name.starts_with("agent");
        entry.kind == Kind::Pod && of_node && entry.is_leaving() && entry.version < ended.version
    });
    assert!(left_early.is_none(), "{left_early:?}");
    diary.gone(Kind::Claim, &claim.name_any()).await;
    sets.delete("agent", &DeleteParams::default()).await.unwrap();
    app_runs(&lab, "web", 1).await;
    lab.finish().await;
}

pub async fn a_pod_that_takes_its_time_to_end_keeps_the_node(plane: Arc<ControlPlane>) {
    let (lab, diary) = lab_with(plane, "lingers", json!({})).await;
    lab.create_pod(brief(lab.pod("slow", "1")).annotation(LINGER, "true")).await;
    lab.all_pods_run().await;
    let claim = claim_of(&lab).await;
    delete_claim(&lab, &claim.name_any()).await;
    diary.first("the pod to be evicted", |entry| entry.name == "slow" && entry.is_leaving()).await;
    let message = claim_says(&lab, &claim.name_any(), conditions::DRAINED, "Unknown", "Draining").await;
    assert_eq!(message, "1 pod is left");
    at_work_for(&lab, Duration::from_secs(4)).await;
    assert_eq!(lab.machines().await.len(), 1, "its kubelet is there and has not ended it");
    lab.pod_api().delete("slow", &DeleteParams::default().grace_period(0)).await.unwrap();
    diary.gone(Kind::Claim, &claim.name_any()).await;
    lab.everything_is_gone().await;
    lab.finish().await;
}

pub async fn a_volume_that_is_attached_is_named_and_keeps_the_machine_until_it_is_detached(
    plane: Arc<ControlPlane>,
) {
    let (lab, diary) = lab_with(plane, "volume", json!({})).await;
    deploy(&lab, "db", 1, "1").await;
    app_runs(&lab, "db", 1).await;
    let claim = claim_of(&lab).await;
    let (name, node, volume) = (claim.name_any(), node_of(&claim), lab.named("pv"));
    let attachments: Api<VolumeAttachment> = Api::all(lab.client.clone());
    let attachment = serde_json::from_value(json!({
        "metadata": {"name": lab.named("attachment")},
        "spec": {"attacher": "csi.test", "nodeName": node, "source": {"persistentVolumeName": volume}},
    }));
    attachments.create(&PostParams::default(), &attachment.unwrap()).await.unwrap();
    delete_claim(&lab, &name).await;
    let message = claim_says(&lab, &name, conditions::VOLUMES_DETACHED, "Unknown", "Detaching").await;
    assert_eq!(message, format!("waiting for volumes to be detached: {volume}"));
    assert_eq!(claim_says(&lab, &name, conditions::READY, "False", "Detaching").await, message);
    at_work_for(&lab, Duration::from_secs(3)).await;
    assert!(lab.machines().await.iter().any(|machine| machine.name_any() == node), "it is waited for");
    attachments.delete(&lab.named("attachment"), &DeleteParams::default()).await.unwrap();
    diary.gone(Kind::Machine, &node).await;
    diary.gone(Kind::Claim, &name).await;
    app_runs(&lab, "db", 1).await;
    lab.finish().await;
}

pub async fn a_drain_that_has_taken_its_time_no_longer_waits_for_budgets(plane: Arc<ControlPlane>) {
    let (lab, diary) = lab_with(plane, "forced", json!({"terminationGracePeriod": "10s"})).await;
    let pod = lab.pod("db", "1").spec(|spec| spec.termination_grace_period_seconds = Some(0));
    deploy_pods(&lab, "db", 1, pod).await;
    app_runs(&lab, "db", 1).await;
    protect(&lab, "db", 1).await;
    let claim = claim_of(&lab).await;
    let deleted_at = now();
    delete_claim(&lab, &claim.name_any()).await;
    told(&lab, "NodeClaim", &claim.name_any(), "DrainBlocked", &["db"]).await;
    diary.gone(Kind::Machine, &node_of(&claim)).await;
    let took = now().duration_since(deleted_at).as_secs();
    assert!((8..30).contains(&took), "the budget holds for the 10 seconds, and no longer: {took}");
    diary.gone(Kind::Claim, &claim.name_any()).await;
    app_runs(&lab, "db", 1).await;
    lab.finish().await;
}

pub async fn a_drain_that_has_taken_its_time_no_longer_waits_for_pods_that_do_not_end(
    plane: Arc<ControlPlane>,
) {
    let (lab, diary) = lab_with(plane, "stuck", json!({"terminationGracePeriod": "3s"})).await;
    lab.create_pod(brief(lab.pod("slow", "1")).annotation(LINGER, "true")).await;
    lab.all_pods_run().await;
    let claim = claim_of(&lab).await;
    delete_claim(&lab, &claim.name_any()).await;
    diary.gone(Kind::Machine, &node_of(&claim)).await;
    diary.gone(Kind::Claim, &claim.name_any()).await;
    lab.everything_is_gone().await;
    lab.finish().await;
}
