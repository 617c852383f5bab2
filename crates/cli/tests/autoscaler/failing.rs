use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use windlass_testkit::objects::{PodBuilder, deployment};
use windlass_testkit::{ControlPlane, eventually};

use crate::sights::Instead;
use crate::stage::PATIENCE;
use crate::yard::{Yard, machine};

/// Machines of the kind that fits best come to nothing in this way; the other kind is good.
fn faulty(fault: &Value) -> Value {
    json!({"instanceTypes": [machine("fitting", 4, "0.10"), machine("large", 8, "0.20")], "faults": [fault]})
}

pub async fn a_group_out_of_capacity_gives_way_to_another(plane: Arc<ControlPlane>) {
    let none = json!({
        "effect": "Error", "error": "InsufficientCapacity", "calls": ["Launch"], "instanceTypes": ["fitting"],
    });
    let yard = Yard::new(plane, "sold-out", &faulty(&none), &json!({})).await;
    let autoscaler = yard.driven(&[]).await;
    yard.stage.pods(0..1).await;
    yard.has(&[("large", "zone-a", 1)]).await;
    yard.stage.grown(1).await;
    assert!(autoscaler.log().contains("errorClass=OutOfResource"), "it heard what was lacking");
    yard.finish(autoscaler).await;
}

pub async fn machines_that_never_register_are_removed_and_others_come(plane: Arc<ControlPlane>) {
    let never = json!({"effect": "NeverRegister", "instanceTypes": ["fitting"]});
    let yard = Yard::new(plane, "never", &faulty(&never), &json!({})).await;
    let autoscaler = yard.driven(&["--max-node-provision-time=10s"]).await;
    yard.stage.pods(0..1).await;
    eventually("a machine comes that fits best", PATIENCE, async || {
        let machines = yard.stage.machines().await?.len();
        if machines == 1 { Ok(()) } else { Err(Instead(machines.to_string())) }
    })
    .await;
    yard.has(&[("large", "zone-a", 1)]).await;
    yard.stage.grown(1).await;
    assert!(
        autoscaler.log().contains("unregistered nodes for node group"),
        "it was Cluster Autoscaler's doing"
    );
    yard.finish(autoscaler).await;
}

pub async fn a_node_that_somebody_deletes_is_replaced(plane: Arc<ControlPlane>) {
    let yard = Yard::new(plane, "deleted", &json!({}), &json!({})).await;
    let autoscaler = yard.driven(&[]).await;
    let pod = PodBuilder::new("web").cpu("3").node_selector("stage", &yard.stage.name);
    let web = deployment("web", 2, pod);
    let deployments = Api::namespaced(yard.stage.client.clone(), &yard.stage.namespace);
    deployments.create(&PostParams::default(), &web).await.unwrap();
    yard.stage.grown(2).await;

    let names = async || -> kube::Result<BTreeSet<String>> {
        Ok(yard.stage.nodes().await?.iter().map(ResourceExt::name_any).collect())
    };
    let before = names().await.unwrap();
    let lost = before.first().unwrap();
    let nodes: Api<Node> = Api::all(yard.stage.client.clone());
    nodes.delete(lost, &DeleteParams::default()).await.unwrap();
    eventually("another node takes its place", PATIENCE, async || {
        let now = names().await?;
        let replaced = now.len() == 2 && !now.contains(lost);
        if replaced { Ok(()) } else { Err(Instead(format!("{now:?}"))) }
    })
    .await;
    yard.stage.grown(2).await;
    yard.finish(autoscaler).await;
}
