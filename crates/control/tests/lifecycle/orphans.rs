//! Machines without a claim, and nodes with neither.

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;
use tokio::time::Instant;
use windlass_api::labels;
use windlass_testkit::invariants::Kind as Watched;
use windlass_testkit::objects::NodeBuilder;
use windlass_testkit::{ControlPlane, eventually};

use crate::diary::{Diary, Kind};
use crate::hands::{app_runs, at_work_for, budgets, delete_pods, deploy, disown, new_lab, node_of, protect};
use crate::lab::{Lab, PATIENCE};

async fn lab_of_one(plane: Arc<ControlPlane>, name: &str, after: &str) -> Lab {
    let mut lab = new_lab(plane, name).await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({"disruption": {"consolidateAfter": after}})).await;
    lab.start().await;
    lab
}

pub async fn a_machine_that_lost_its_claim_and_runs_pods_is_adopted(plane: Arc<ControlPlane>) {
    let mut lab = lab_of_one(plane, "adopts", "1s").await;
    deploy(&lab, "web", 2, "1").await;
    let before = app_runs(&lab, "web", 2).await;
    let first = lab.ready_claims(1).await.remove(0);
    let diary = Diary::of(&lab).await;
    disown(&mut lab, &first.name_any()).await;
    let adopted = lab.ready_claims(1).await.remove(0);
    let adopt = adopted.spec.adopt.as_ref().unwrap();
    assert_eq!(Some(&adopt.claim_uid), first.metadata.uid.as_ref());
    assert_ne!(adopted.uid(), first.uid());
    let (old, new) = (first.status.as_ref().unwrap(), adopted.status.as_ref().unwrap());
    assert_eq!((&new.provider_id, &new.node_name), (&old.provider_id, &old.node_name));
    assert_eq!((&new.price, &new.instance_type), (&old.price, &old.instance_type));
    let node = lab.node_api().get(&node_of(&adopted)).await.unwrap();
    assert_eq!(Some(&node.annotations()[labels::CLAIM_UID]), adopted.metadata.uid.as_ref());
    let after = app_runs(&lab, "web", 2).await;
    assert_eq!(crate::hands::names(&before), crate::hands::names(&after), "no pod was restarted");
    assert!(diary.made(Kind::Machine).is_empty(), "no machine was launched in its place");
    // An adopted machine is given back like any other.
    let deployments: kube::Api<k8s_openapi::api::apps::v1::Deployment> =
        kube::Api::namespaced(lab.client.clone(), &lab.namespace);
    deployments.delete("web", &DeleteParams::default()).await.unwrap();
    lab.everything_is_gone().await;
    lab.finish().await;
}

pub async fn a_machine_that_lost_its_claim_and_runs_nothing_is_ended_after_the_grace_period(
    plane: Arc<ControlPlane>,
) {
    let mut lab = lab_of_one(plane, "idle", "Never").await;
    lab.pods("p", 1, "3").await;
    lab.all_pods_run().await;
    let claim = lab.ready_claims(1).await.remove(0);
    delete_pods(&lab).await;
    lab.all_pods_run().await;
    let diary = Diary::of(&lab).await;
    let disowned = Instant::now();
    disown(&mut lab, &claim.name_any()).await;
    diary.gone(Kind::Machine, &node_of(&claim)).await;
    assert!(disowned.elapsed() >= lab.settings.orphan_grace, "a claim may still turn up");
    diary.gone(Kind::Node, &node_of(&claim)).await;
    assert!(diary.made(Kind::Claim).is_empty());
    lab.everything_is_gone().await;
    lab.finish().await;
}

pub async fn a_machine_beyond_its_pools_limits_is_not_adopted_but_drained_and_ended(
    plane: Arc<ControlPlane>,
) {
    let mut lab = lab_of_one(plane, "toomany", "1s").await;
    deploy(&lab, "web", 1, "3").await;
    app_runs(&lab, "web", 1).await;
    let claim = lab.ready_claims(1).await.remove(0);
    protect(&lab, "web", 1).await;
    let diary = Diary::of(&lab).await;
    lab.pool("pool", &json!({"limits": {"cpu": 0}})).await;
    disown(&mut lab, &claim.name_any()).await;
    diary.first("the node is closed", |entry| entry.object["spec"]["unschedulable"] == true).await;
    at_work_for(&lab, Duration::from_secs(2)).await;
    assert_eq!(app_runs(&lab, "web", 1).await.len(), 1, "the budget allows no eviction");
    budgets(&lab).delete("web", &DeleteParams::default()).await.unwrap();
    let ended = diary.gone(Kind::Machine, &node_of(&claim)).await;
    let evicted = diary.first("the pod is evicted", |entry| entry.kind == Kind::Pod && entry.deleted).await;
    assert!(evicted.version < ended.version, "its pods leave first");
    diary.gone(Kind::Node, &node_of(&claim)).await;
    assert!(diary.made(Kind::Claim).is_empty());
    lab.finish().await;
}

/// A node that says it is of this lab's pool and provider, of a claim and a machine that do not exist.
fn ghost(lab: &Lab, name: &str) -> NodeBuilder {
    NodeBuilder::new(&lab.named(name))
        .label(labels::POOL, &lab.named("pool"))
        .annotation(labels::CLAIM_UID, "00000000-0000-0000-0000-000000000000")
        .annotation(labels::PROVIDER, &lab.named("sim"))
        .taint("keep-off", "", "NoSchedule")
}

pub async fn a_node_with_neither_claim_nor_machine_is_deleted_after_two_answers(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "ghost").await;
    lab.settings.absence_interval = Duration::from_secs(4);
    let fault = json!({"effect": "Error", "calls": ["List"], "error": "Unauthorized"});
    lab.plain_provider(&json!({"faults": [fault]})).await;
    lab.pool("pool", &json!({})).await;
    let mut node = ghost(&lab, "ghost").build();
    node.metadata.finalizers = Some(vec![labels::FINALIZER.to_owned()]);
    node.spec.as_mut().unwrap().provider_id = Some(format!("simulated://{}/ghost", lab.named("sim")));
    let node = lab.node_api().create(&PostParams::default(), &node).await.unwrap();
    lab.start().await;
    crate::hands::pool_says(&lab, &lab.named("pool"), "True", "").await;
    at_work_for(&lab, Duration::from_secs(5)).await;
    let there = lab.node_api().get(&node.name_any()).await.unwrap();
    assert_eq!(there.metadata.deletion_timestamp, None, "an error is no proof of absence");
    let answers = Instant::now();
    lab.plain_provider(&json!({})).await;
    eventually("the ghost to be gone", PATIENCE, async || {
        lab.node_api().get_opt(&node.name_any()).await.unwrap().is_none().then_some(())
    })
    .await;
    assert!(answers.elapsed() >= lab.settings.absence_interval, "one answer is no proof either");
    lab.finish().await;
}

pub async fn a_node_without_our_finalizer_is_never_taken_for_ours(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "stranger").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({})).await;
    let marked = lab.node_api().create(&PostParams::default(), &ghost(&lab, "marked").build()).await.unwrap();
    let other = NodeBuilder::new(&lab.named("other")).taint("keep-off", "", "NoSchedule").build();
    let other = lab.node_api().create(&PostParams::default(), &other).await.unwrap();
    lab.start().await;
    lab.pods("p", 1, "3").await;
    lab.all_pods_run().await;
    lab.watcher().foreign(Watched::Node, &lab.node_api().get(&other.name_any()).await.unwrap()).unwrap();
    at_work_for(&lab, Duration::from_secs(4)).await;
    for node in [&marked, &other] {
        let there = lab.node_api().get(&node.name_any()).await.unwrap();
        assert_eq!((there.uid(), &there.metadata.deletion_timestamp), (node.uid(), &None));
        assert!(!there.managed_fields().iter().any(|entry| entry.manager.as_deref() == Some("windlass")));
    }
    lab.finish().await;
}
