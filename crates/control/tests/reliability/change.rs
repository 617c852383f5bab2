//! Specifications change: what comes after follows the new one, and a bad one that is put right is forgotten.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use windlass_api::NodeProvider;
use windlass_testkit::{ControlPlane, eventually};

use crate::faults::{Fate, Faults};
use crate::lab::{Lab, PATIENCE, instance_type};
use crate::steps::calm_lab;

pub async fn new_nodes_follow_the_pools_new_template_and_keep_nothing_of_the_old(plane: Arc<ControlPlane>) {
    let mut lab = calm_lab(plane, "template").await;
    lab.plain_provider(&json!({})).await;
    let template = |metadata: &Value, taints: &Value| json!({"template": {"metadata": metadata, "spec": {"taints": taints}}});
    let taint = |key: &str| json!([{"key": key, "value": "yes", "effect": "NoSchedule"}]);
    let passing = json!({
        "labels": {"team": "a", "example.com/passing": "1"}, "annotations": {"example.com/note": "a"},
    });
    lab.pool("pool", &template(&passing, &taint("example.com/old"))).await;
    lab.start().await;
    let tolerant = |name: &str| lab.pod(name, "3").tolerates("example.com/old").tolerates("example.com/new");
    lab.create_pod(tolerant("first")).await;
    lab.all_pods_run().await;
    lab.ready_claims(1).await;
    let old = lab.nodes().await.remove(0);
    assert_eq!(old.labels()["example.com/passing"], "1");

    lab.pool("pool", &template(&json!({"labels": {"team": "b"}}), &taint("example.com/new"))).await;
    lab.create_pod(tolerant("second")).await;
    lab.all_pods_run().await;
    lab.ready_claims(2).await;
    let new = lab.nodes().await.into_iter().find(|node| node.uid() != old.uid()).unwrap();
    assert_eq!(new.labels()["team"], "b");
    assert!(!new.labels().contains_key("example.com/passing"), "{:?}", new.labels());
    assert!(!new.annotations().contains_key("example.com/note"), "{:?}", new.annotations());
    assert!(taints(&new).contains(&"example.com/new".to_owned()), "{:?}", taints(&new));
    assert!(!taints(&new).contains(&"example.com/old".to_owned()), "{:?}", taints(&new));
    lab.finish().await;
}

fn taints(node: &Node) -> Vec<String> {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    taints.into_iter().flatten().map(|taint| taint.key.clone()).collect()
}

/// Waits until the test's pool says whether it can be used.
async fn pool_is_ready(lab: &Lab, wanted: &str) {
    eventually(&format!("the pool's condition Ready is {wanted}"), PATIENCE, async || {
        let status = lab.pool_api().get(&lab.named("pool")).await.ok()?.status?;
        let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready")?.status.clone();
        (ready == wanted).then_some(())
    })
    .await;
}

pub async fn a_pool_that_named_a_missing_provider_works_once_it_names_a_good_one(plane: Arc<ControlPlane>) {
    let mut lab = calm_lab(plane, "repointed").await;
    lab.settings.catalogue_interval = Duration::from_mins(10);
    lab.settings.plan_interval = Duration::from_mins(10);
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({"providerRef": {"name": lab.named("nothing")}})).await;
    lab.start().await;
    lab.create_pod(lab.pod("p", "3")).await;
    pool_is_ready(&lab, "False").await;
    assert!(lab.claims().await.is_empty());
    lab.pool("pool", &json!({})).await;
    lab.all_pods_run().await;
    lab.ready_claims(1).await;
    lab.finish().await;
}

pub async fn a_provider_that_was_wrong_works_once_it_is_put_right(plane: Arc<ControlPlane>) {
    let mut lab = calm_lab(plane, "righted").await;
    lab.settings.catalogue_interval = Duration::from_mins(10);
    lab.settings.plan_interval = Duration::from_mins(10);
    let unauthorized = json!([{"effect": "Error", "calls": ["InstanceTypes"], "error": "Unauthorized"}]);
    lab.plain_provider(&json!({"faults": unauthorized})).await;
    lab.pool("pool", &json!({})).await;
    lab.start().await;
    lab.create_pod(lab.pod("p", "3")).await;
    pool_is_ready(&lab, "False").await;
    assert!(lab.claims().await.is_empty());
    lab.plain_provider(&json!({"faults": []})).await;
    lab.all_pods_run().await;
    lab.ready_claims(1).await;
    pool_is_ready(&lab, "True").await;
    lab.finish().await;
}

/// The provider is put right at the very moment at which its status is written, so that the answer to that write shows
/// the new specification before the watch does.
pub async fn a_provider_that_changes_while_its_status_is_written_is_looked_at_again(
    plane: Arc<ControlPlane>,
) {
    let mut lab = calm_lab(plane, "mid-write").await;
    lab.settings.catalogue_interval = Duration::from_mins(10);
    lab.settings.plan_interval = Duration::from_mins(10);
    let small = json!({"instanceTypes": [instance_type("small", 1, "0.05", &json!({}))]});
    lab.plain_provider(&small).await;
    lab.pool("pool", &json!({})).await;
    let faults = Faults::default();
    let (client, valve, mut first) = (lab.provider_api(), faults.clone(), true);
    faults.decide(move |sent| {
        let writes = sent.method == Method::PATCH && sent.path.contains("/nodeproviders/");
        if !(writes && first) {
            return Fate::Passes;
        }
        first = false;
        valve.silence("nodeproviders", true);
        let (client, name) = (client.clone(), sent.path.rsplit('/').nth(1).unwrap().to_owned());
        Fate::SentAfter(Box::pin(async move {
            let large = json!([instance_type("large", 4, "0.10", &json!({}))]);
            let patch = Patch::Merge(json!({"spec": {"simulated": {"instanceTypes": large}}}));
            client.patch(&name, &PatchParams::default(), &patch).await.unwrap();
        }))
    });
    let running =
        lab.spawn(lab.settings.clone(), faults.around(lab.controller_client()), |factory| Arc::new(factory));
    eventually("the status is written", PATIENCE, async || {
        let provider: NodeProvider = lab.provider_api().get(&lab.named("sim")).await.ok()?;
        provider.status.filter(|status| !status.conditions.is_empty())
    })
    .await;
    faults.silence("nodeproviders", false);
    lab.create_pod(lab.pod("p", "3")).await;
    lab.all_pods_run().await;
    lab.ready_claims(1).await;
    running.crash().await;
    lab.finish().await;
}
