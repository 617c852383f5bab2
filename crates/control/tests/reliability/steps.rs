//! Steps that several tests take.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Taint};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use windlass_api::NodeClaim;
use windlass_testkit::objects::{UNREADY, budget};
use windlass_testkit::{ControlPlane, eventually};

use crate::faults::Faults;
use crate::lab::{Lab, PATIENCE, Running};

/// A lab whose controller keeps its lease for longer than a busy machine takes to renew it, for tests that are not
/// about that.
pub async fn calm_lab(plane: Arc<ControlPlane>, name: &str) -> Lab {
    let mut lab = Lab::new(plane, name).await;
    (lab.settings.lease_duration, lab.settings.renew_deadline) =
        (Duration::from_secs(30), Duration::from_secs(20));
    lab
}

/// A lab with a second controller waiting, whose lease runs out within seconds but not on a busy machine.
pub async fn lab_for_two(plane: Arc<ControlPlane>, name: &str) -> Lab {
    let mut lab = Lab::new(plane, name).await;
    (lab.settings.lease_duration, lab.settings.renew_deadline) =
        (Duration::from_secs(8), Duration::from_secs(6));
    lab
}

/// Looks again and again for so long, and fails as soon as a look fails.
pub async fn throughout(what: &str, time: Duration, mut look: impl AsyncFnMut() -> Result<(), String>) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        if let Err(instead) = look().await {
            panic!("{what} did not hold throughout: {instead}");
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// Starts a controller behind these faults.
pub fn start(lab: &Lab, faults: &Faults) -> Running {
    lab.spawn(lab.settings.clone(), faults.around(lab.controller_client()), |factory| Arc::new(factory))
}

/// Waits until a controller leads.
pub async fn leads(running: &Running) {
    eventually("the controller leads", PATIENCE, async || running.health.leads().then_some(())).await;
}

/// Waits until the status of the test's pool counts so many nodes, which shows what its controller knows.
pub async fn pool_counts(lab: &Lab, nodes: i32) {
    eventually(&format!("the pool counts {nodes} nodes"), PATIENCE, async || {
        let pool = lab.pool_api().get(&lab.named("pool")).await.map_err(|error| error.to_string())?;
        let counted = pool.status.map_or(0, |status| status.nodes);
        if counted == nodes { Ok(()) } else { Err(format!("{counted}")) }
    })
    .await;
}

/// Removes a claim without Windlass, as someone does who takes its finalizer away.
pub async fn force_away(lab: &Lab, claim: &NodeClaim) {
    let (api, name) = (lab.claim_api(), claim.name_any());
    api.delete(&name, &DeleteParams::default()).await.unwrap();
    let released = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    // It may be gone already.
    let _ = api.patch(&name, &PatchParams::default(), &released).await;
    eventually("the claim is gone", PATIENCE, async || match api.get_opt(&name).await {
        Ok(Some(left)) if left.uid() == claim.uid() => Err("there".to_owned()),
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    })
    .await;
}

/// Fails if any of the test's claims is being deleted or there are not exactly so many.
pub async fn all_stay(lab: &Lab, count: usize) -> Result<(), String> {
    let claims = lab.claims().await;
    let leaving: Vec<String> = claims
        .iter()
        .filter(|claim| claim.metadata.deletion_timestamp.is_some())
        .map(ResourceExt::name_any)
        .collect();
    if claims.len() == count && leaving.is_empty() {
        Ok(())
    } else {
        Err(format!("{} claims, leaving: {leaving:?}", claims.len()))
    }
}

/// Waits until a claim has a machine, and says which.
pub async fn machine_of(lab: &Lab, claim: &str) -> String {
    eventually("the claim has a machine", PATIENCE, async || {
        let claim = lab.claim_api().get(claim).await.ok()?;
        claim.status?.provider_id
    })
    .await
}

/// Makes a pod that a budget keeps where it is, and the budget.
pub async fn kept_pod(lab: &Lab, name: &str, cpu: &str) {
    Api::namespaced(lab.client.clone(), &lab.namespace)
        .create(&PostParams::default(), &budget(name, 1))
        .await
        .unwrap();
    lab.create_pod(lab.pod(name, cpu).label("app", name)).await;
}

/// Takes the budget of a kept pod away.
pub async fn release_pod(lab: &Lab, name: &str) {
    let budgets: Api<k8s_openapi::api::policy::v1::PodDisruptionBudget> =
        Api::namespaced(lab.client.clone(), &lab.namespace);
    budgets.delete(name, &DeleteParams::default()).await.unwrap();
}

/// A claim that its user writes by hand, as like one that Windlass made.
pub async fn recreate(lab: &Lab, claim: &NodeClaim, finalizers: &Value) -> NodeClaim {
    let copy: NodeClaim = serde_json::from_value(json!({
        "apiVersion": "windlass.dev/v1alpha1", "kind": "NodeClaim",
        "metadata": {"name": claim.name_any(), "labels": claim.labels(), "finalizers": finalizers},
        "spec": claim.spec,
    }))
    .unwrap();
    lab.claim_api().create(&PostParams::default(), &copy).await.unwrap()
}

/// Adds a taint to a node as someone else would, and leaves the others.
pub async fn add_taint(nodes: &Api<Node>, name: &str, key: &str) {
    let taint = Taint { key: key.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() };
    change_taints(nodes, name, |taints| taints.push(taint.clone())).await;
}

/// Takes a taint off a node as someone else would, and leaves the others.
pub async fn remove_taint(nodes: &Api<Node>, name: &str, key: &str) {
    change_taints(nodes, name, |taints| taints.retain(|taint| taint.key != key)).await;
}

/// As often as somebody else was faster; without [`eventually`], whose closure cannot be sent to a controller's task.
async fn change_taints(nodes: &Api<Node>, name: &str, change: impl Fn(&mut Vec<Taint>)) {
    loop {
        let mut node = nodes.get(name).await.unwrap();
        change(node.spec.get_or_insert_default().taints.get_or_insert_default());
        if nodes.replace(name, &PostParams::default(), &node).await.is_ok() {
            return;
        }
    }
}

/// Makes a node ready or not, and keeps KWOK from thinking otherwise.
pub async fn set_ready(lab: &Lab, node: &str, ready: bool) {
    let unready = if ready { json!(null) } else { json!("true") };
    let patch = Patch::Merge(json!({"metadata": {"annotations": {UNREADY: unready}}}));
    lab.node_api().patch(node, &PatchParams::default(), &patch).await.unwrap();
    let condition = json!([{"type": "Ready", "status": if ready { "True" } else { "False" }}]);
    let patch = Patch::Strategic(json!({"status": {"conditions": condition}}));
    lab.node_api().patch_status(node, &PatchParams::default(), &patch).await.unwrap();
}
