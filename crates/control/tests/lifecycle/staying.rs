//! Nodes that are to stay: healthy ones are left alone, sick ones replaced, lost ones made up for.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::{Value, json};
use windlass_api::{NodeClaim, conditions, labels};
use windlass_testkit::invariants::{Invariant, Kind as Watched, ObjectName};
use windlass_testkit::{ControlPlane, eventually};

use crate::diary::{Diary, Kind};
use crate::hands::{
    app_runs, at_work_for, delete_claim, deploy, leads, new_lab, node_of, only_claim, protect, told,
    two_types,
};
use crate::lab::{Lab, PATIENCE};

/// What a node has of ours, and when we wrote it.
fn our_part(node: &Node) -> Value {
    let ours = node.managed_fields().iter().filter(|entry| entry.manager.as_deref() == Some("windlass"));
    json!([ours.collect::<Vec<_>>(), node.labels(), node.annotations(), node.finalizers(), node.spec])
}

pub async fn a_healthy_node_is_left_alone(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "healthy").await;
    lab.settings.watch_timeout = Duration::from_secs(2);
    lab.settings.plan_interval = Duration::from_secs(1);
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({})).await;
    lab.start().await;
    lab.pods("p", 1, "3").await;
    lab.all_pods_run().await;
    let claim = lab.ready_claims(1).await.remove(0);
    let node = lab.node_api().get(&node_of(&claim)).await.unwrap();
    let unchanged = async || {
        let claim_now = lab.claim_api().get(&claim.name_any()).await.unwrap();
        assert_eq!(claim_now.resource_version(), claim.resource_version(), "the claim was written");
        let node_now = lab.node_api().get(&node.name_any()).await.unwrap();
        assert_eq!(our_part(&node_now), our_part(&node), "the node was written");
    };
    at_work_for(&lab, Duration::from_secs(4)).await;
    unchanged().await;
    // A new process lists everything anew, and finds nothing to do either.
    lab.crash().await;
    lab.settings.identity = lab.named("again");
    lab.start().await;
    leads(&lab, &lab.named("again")).await;
    at_work_for(&lab, Duration::from_secs(3)).await;
    let claim_now = lab.claim_api().get(&claim.name_any()).await.unwrap();
    assert_eq!(claim_now.resource_version(), claim.resource_version(), "the claim was written");
    let node_now = lab.node_api().get(&node.name_any()).await.unwrap();
    assert_eq!(our_part(&node_now), our_part(&node), "the node was written");
    lab.finish().await;
}

/// Takes the faults away once there is a machine. What becomes of one is decided at its launch, so they befall the first
/// and none that is launched in its place.
async fn only_the_first(lab: &Lab, diary: &Diary, without_faults: &Value) {
    diary.first("the machine", |entry| entry.kind == Kind::Machine && entry.added).await;
    lab.plain_provider(without_faults).await;
}

pub async fn a_sick_node_is_replaced_before_it_is_drained(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "sick").await;
    lab.settings.repair_after = Duration::from_secs(2);
    lab.plain_provider(&json!({"faults": [{"effect": "NotReady", "after": "12s"}]})).await;
    lab.pool("pool", &json!({})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    deploy(&lab, "web", 2, "1").await;
    only_the_first(&lab, &diary, &json!({})).await;
    app_runs(&lab, "web", 2).await;
    let victim = only_claim(&lab).await;
    let name = victim.name_any();
    told(&lab, "NodeClaim", &name, "Sick", &["has not been ready for 2s", "it is replaced"]).await;
    let replacement = diary
        .first("the replacement", |entry| {
            entry.kind == Kind::Claim && entry.object["metadata"]["annotations"][labels::REPLACES] == *name
        })
        .await;
    assert_eq!(replacement.object["spec"]["reason"]["purpose"], "Replacement");
    let initialized = diary
        .first("the replacement to be initialized", |entry| {
            entry.name == replacement.name && entry.condition(conditions::INITIALIZED) == "True"
        })
        .await;
    let leaving = diary.first("the victim to leave", |entry| entry.name == name && entry.is_leaving()).await;
    assert!(initialized.version < leaving.version, "the replacement is there first");
    diary.gone(Kind::Claim, &name).await;
    app_runs(&lab, "web", 2).await;
    let left = lab.ready_claims(1).await;
    assert_eq!(left[0].name_any(), replacement.name);
    assert_eq!(lab.machines().await.len(), 1, "the victim's machine is given back");
    let counts = ["disruptions_decided", "claims_removed"].map(|name| lab.counted(name, Some("Sick")));
    assert_eq!(counts, [1, 1]);
    lab.finish().await;
}

/// Waits until a lost machine's node and claim are gone, in this order, and another claim has taken its place.
async fn made_up_for(lab: &Lab, diary: &Diary, lost: &NodeClaim) {
    let machine = diary.gone(Kind::Machine, &node_of(lost)).await;
    let node = diary.gone(Kind::Node, &node_of(lost)).await;
    let claim = diary.gone(Kind::Claim, &lost.name_any()).await;
    assert!(machine.version < node.version && node.version < claim.version);
    told(lab, "NodeClaim", &lost.name_any(), "MachineLost", &["has no machine"]).await;
    let next = lab.ready_claims(1).await.remove(0);
    assert_ne!(lost.uid(), next.uid());
    assert_eq!(lab.machines().await.len(), 1);
}

pub async fn a_machine_that_vanishes_is_made_up_for_and_its_pods_run_again(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "vanish").await;
    lab.plain_provider(&json!({"faults": [{"effect": "Vanish", "after": "12s"}]})).await;
    lab.pool("pool", &json!({})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    deploy(&lab, "web", 2, "1").await;
    only_the_first(&lab, &diary, &json!({})).await;
    let before = app_runs(&lab, "web", 2).await;
    let first = lab.ready_claims(1).await.remove(0);
    diary.gone(Kind::Claim, &first.name_any()).await;
    // Kubernetes itself removes pods from a node that is gone, which takes it the better part of a minute.
    for pod in before {
        diary.gone(Kind::Pod, &pod.name_any()).await;
    }
    made_up_for(&lab, &diary, &first).await;
    app_runs(&lab, "web", 2).await;
    lab.finish().await;
}

pub async fn a_machine_that_someone_deletes_is_made_up_for(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "stolen").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({"minNodes": 1})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    let claim = lab.ready_claims(1).await.remove(0);
    lab.machine_api().delete(&node_of(&claim), &DeleteParams::default()).await.unwrap();
    made_up_for(&lab, &diary, &claim).await;
    lab.finish().await;
}

pub async fn a_machine_lost_during_its_drain_does_not_wait_for_pods_that_no_longer_run(
    plane: Arc<ControlPlane>,
) {
    let mut lab = new_lab(plane, "lostdrain").await;
    lab.plain_provider(&json!({"faults": [{"effect": "Vanish", "after": "25s"}]})).await;
    lab.pool("pool", &json!({})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    deploy(&lab, "web", 1, "1").await;
    only_the_first(&lab, &diary, &json!({})).await;
    app_runs(&lab, "web", 1).await;
    protect(&lab, "web", 1).await;
    let claim = lab.ready_claims(1).await.remove(0);
    // The budget no longer protects anything once the machine is gone by itself, which the watcher does not see.
    let node = ObjectName::new(Watched::Node, node_of(&claim));
    lab.watcher().excuse(Invariant::BudgetsHold, node);
    delete_claim(&lab, &claim.name_any()).await;
    told(&lab, "NodeClaim", &claim.name_any(), "DrainBlocked", &["web"]).await;
    let machine = diary.gone(Kind::Machine, &node_of(&claim)).await;
    let node = diary.gone(Kind::Node, &node_of(&claim)).await;
    assert!(machine.version < node.version, "until then, the budget holds");
    diary.gone(Kind::Claim, &claim.name_any()).await;
    lab.finish().await;
}

pub async fn a_node_that_falls_ill_and_cannot_be_replaced_waits_for_what_can_be_had(
    plane: Arc<ControlPlane>,
) {
    let mut lab = new_lab(plane, "illlimit").await;
    lab.settings.repair_after = Duration::from_secs(1);
    let faults = json!([{"effect": "NotReady", "after": "12s"}]);
    lab.plain_provider(&json!({"instanceTypes": two_types(), "faults": faults})).await;
    lab.pool("pool", &json!({"limits": {"nodes": 1}})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    deploy(&lab, "web", 1, "1").await;
    only_the_first(&lab, &diary, &json!({"instanceTypes": two_types()})).await;
    app_runs(&lab, "web", 1).await;
    let victim = only_claim(&lab).await.name_any();
    // The limit leaves no room for a replacement beside it, and a dead node serves nobody.
    diary.gone(Kind::Claim, &victim).await;
    app_runs(&lab, "web", 1).await;
    eventually("one claim", PATIENCE, async || (lab.claims().await.len() == 1).then_some(())).await;
    lab.finish().await;
}
