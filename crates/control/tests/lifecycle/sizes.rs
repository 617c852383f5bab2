//! How many nodes a pool has beside those that pods need.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use windlass_api::labels;
use windlass_control::offline::Cluster;
use windlass_testkit::{ControlPlane, eventually};

use crate::hands::{app_runs, delete_claim, deploy, new_lab, now};
use crate::lab::{Lab, PATIENCE};

async fn lab_with(plane: Arc<ControlPlane>, name: &str, pool: &Value) -> Lab {
    let mut lab = new_lab(plane, name).await;
    lab.plain_provider(&json!({"bootDelay": "0s"})).await;
    lab.pool("pool", pool).await;
    lab.start().await;
    lab
}

pub async fn a_pool_of_a_fixed_size_grows_shrinks_and_is_restored(plane: Arc<ControlPlane>) {
    let lab = lab_with(plane, "fixed", &json!({"replicas": 2})).await;
    let claims = lab.ready_claims(2).await;
    delete_claim(&lab, &claims[0].name_any()).await;
    lab.ready_claims(2).await;
    lab.pool("pool", &json!({"replicas": 3})).await;
    lab.ready_claims(3).await;
    deploy(&lab, "web", 1, "3").await;
    let pods = app_runs(&lab, "web", 1).await;
    lab.pool("pool", &json!({"replicas": 1})).await;
    let left = lab.ready_claims(1).await;
    let node = pods[0].spec.as_ref().unwrap().node_name.clone();
    assert_eq!(left[0].status.as_ref().unwrap().node_name, node, "the one on which a pod runs stays");
    lab.finish().await;
}

pub async fn a_spare_node_is_kept_ready_and_made_up_for_when_pods_take_it(plane: Arc<ControlPlane>) {
    let lab = lab_with(plane, "spare", &json!({"headroom": {"nodes": 1}})).await;
    lab.ready_claims(1).await;
    deploy(&lab, "web", 1, "3").await;
    app_runs(&lab, "web", 1).await;
    let claims = lab.ready_claims(2).await;
    assert!(claims.iter().all(|claim| claim.spec.reason.purpose == windlass_api::ClaimPurpose::Headroom));
    lab.finish().await;
}

pub async fn room_for_pods_that_nobody_has_made_is_kept_ready(plane: Arc<ControlPlane>) {
    let template = json!({"spec": {"containers": [
        {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1500m"}}}]}});
    let headroom = json!({"pods": {"replicas": 3, "template": template}});
    let lab = lab_with(plane, "room", &json!({"headroom": headroom})).await;
    lab.ready_claims(2).await;
    deploy(&lab, "web", 2, "1500m").await;
    app_runs(&lab, "web", 2).await;
    lab.ready_claims(3).await;
    lab.finish().await;
}

/// The definition of `CapacityBuffer`, as far as it matters here: whatever is in spec and status.
async fn install_capacity_buffers(lab: &Lab) {
    let whatever = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": whatever, "status": whatever}});
    let _: CustomResourceDefinition = lab
        .apply(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {
                "name": "capacitybuffers.autoscaling.x-k8s.io",
                "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/autoscaler/pull/8151"},
            },
            "spec": {
                "group": "autoscaling.x-k8s.io", "scope": "Namespaced",
                "names": {"kind": "CapacityBuffer", "plural": "capacitybuffers", "singular": "capacitybuffer"},
                "versions": [{
                    "name": "v1beta1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": schema},
                }],
            },
        }))
        .await;
}

pub async fn room_that_a_capacity_buffer_asks_for_is_kept_ready(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "buffer").await;
    lab.settings.buffer_interval = Duration::from_millis(500);
    lab.plain_provider(&json!({"bootDelay": "0s"})).await;
    lab.pool("pool", &json!({})).await;
    lab.start().await;
    deploy(&lab, "web", 4, "900m").await;
    app_runs(&lab, "web", 4).await;
    lab.ready_claims(1).await;
    install_capacity_buffers(&lab).await;
    let kind = GroupVersionKind::gvk("autoscaling.x-k8s.io", "v1beta1", "CapacityBuffer");
    let kind = ApiResource::from_gvk_with_plural(&kind, "capacitybuffers");
    let api: Api<DynamicObject> = Api::namespaced_with(lab.client.clone(), &lab.namespace, &kind);
    let buffer: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "autoscaling.x-k8s.io/v1beta1", "kind": "CapacityBuffer",
        "metadata": {"name": "burst", "labels": {labels::SCOPE: lab.name}},
        "spec": {"scalableRef": {"apiGroup": "apps", "kind": "Deployment", "name": "web"}, "percentage": 100},
    }))
    .unwrap();
    eventually("the definition to be served", PATIENCE, async || {
        api.create(&PostParams::default(), &buffer).await.map(drop).map_err(|error| error.to_string())
    })
    .await;
    lab.ready_claims(2).await;
    eventually("the buffer to say that there is room", PATIENCE, async || {
        let status = api.get("burst").await.map_err(|error| error.to_string())?.data["status"].clone();
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        let said = |kind: &str, truth: &str| {
            conditions.iter().any(|each| each["type"] == kind && each["status"] == truth)
        };
        let ready = said("ReadyForProvisioning", "True") && said("Provisioning", "True");
        if ready && status["replicas"] == 4 { Ok(()) } else { Err(status.to_string()) }
    })
    .await;
    // Who only looks sees the same: long after its time, the node that is kept for the buffer does not go.
    let mut listed = Cluster::new(now() + SignedDuration::from_hours(1));
    listed.list(&lab.client, &lab.settings.scope_selector()).await.unwrap();
    let (plan, report) = windlass_core::plan(&listed.snapshot(&lab.settings.plan), listed.now());
    assert_eq!((plan.going().count(), report.nodes.len()), (0, 2), "{report:?}");
    api.delete("burst", &DeleteParams::default()).await.unwrap();
    lab.ready_claims(1).await;
    lab.finish().await;
}
