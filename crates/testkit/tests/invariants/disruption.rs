//! Drains: budgets, and replacements before their victims.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{DeleteParams, EvictParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use windlass_api::labels::{POOL, REPLACES};
use windlass_testkit::invariants::Invariant;
use windlass_testkit::objects::{NodeBuilder, PodBuilder, budget, namespace};
use windlass_testkit::{ControlPlane, eventually};

use super::SOON;
use super::mini::{Mini, as_windlass};

pub(super) async fn i5_a_pod_deleted_in_spite_of_its_budget_is_caught(plane: Arc<ControlPlane>) {
    let mini = Mini::start(&plane, "i5").await;
    let namespace = namespace(&mini.client, "i5").await.unwrap();
    let pods: Api<Pod> = Api::namespaced(mini.client.clone(), &namespace);
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(mini.client.clone(), &namespace);

    let claim = mini.claim("a").await;
    mini.launch(&claim, "").await;
    let mut node = NodeBuilder::new("i5-a").label(POOL, "i5").build();
    node.spec.get_or_insert_default().provider_id = Some(mini.provider_id(&claim));
    mini.nodes().create(&as_windlass(), &node).await.unwrap();
    mini.initialize(&claim).await;
    budgets.create(&PostParams::default(), &budget("web", 1)).await.unwrap();
    for (name, app) in [("i5-free", "free"), ("i5-web", "web")] {
        let pod =
            PodBuilder::new(name).label("app", app).spec(|spec| spec.node_name = Some("i5-a".to_owned()));
        pods.create(&PostParams::default(), &pod.build()).await.unwrap();
    }
    eventually("the budget to count its pod", SOON, async || {
        let status = budgets.get("web").await.unwrap().status.unwrap_or_default();
        (status.current_healthy == Some(1)).then_some(())
    })
    .await;

    mini.delete(&claim).await;
    pods.evict("i5-free", &EvictParams::default()).await.unwrap();
    assert!(pods.evict("i5-web", &EvictParams::default()).await.is_err(), "the API server obeys the budget");
    eventually("the pod without a budget to be gone", SOON, async || {
        pods.get_opt("i5-free").await.unwrap().is_none().then_some(())
    })
    .await;
    mini.is_clean().await;

    pods.delete("i5-web", &DeleteParams::default()).await.unwrap();
    let violations = mini.watcher.settle().await.unwrap();
    mini.is_caught(&violations, Invariant::BudgetsHold, &["-web was deleted without the eviction API"]);
}

pub(super) async fn i6_a_victim_that_goes_before_its_replacement_is_ready_is_caught(
    plane: Arc<ControlPlane>,
) {
    let mini = Mini::start(&plane, "i6").await;
    let mut pairs = Vec::new();
    for suffix in ["a", "b"] {
        let victim = mini.claim(suffix).await;
        mini.launch(&victim, "").await;
        mini.initialize(&victim).await;
        let replaces = json!({REPLACES: victim.name_any()});
        let replacement = mini.create_claim(&format!("for-{suffix}"), &replaces).await;
        mini.launch(&replacement, "").await;
        pairs.push((victim, replacement));
    }
    let (victim, replacement) = &pairs[0];
    mini.initialize(replacement).await;
    mini.delete(victim).await;
    mini.is_clean().await;

    mini.delete(&pairs[1].0).await;
    let violations = mini.watcher.settle().await.unwrap();
    mini.is_caught(&violations, Invariant::ReplacementFirst, &["-b was deleted", "-for-b was initialized"]);
}
