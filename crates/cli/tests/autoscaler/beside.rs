use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::PostParams;
use kube::{Api, ResourceExt as _};
use serde_json::json;
use windlass_testkit::objects::{NodeBuilder, PodBuilder};
use windlass_testkit::{ControlPlane, eventually};

use crate::sights::Instead;
use crate::stage::PATIENCE;
use crate::yard::Yard;

/// A pool of each, and a node of neither: all pods run where they belong, and when they are gone only that node is left.
pub async fn what_each_serves_comes_from_it_and_nodes_of_neither_stay(plane: Arc<ControlPlane>) {
    let template = |of: &str| json!({"metadata": {"labels": {"of": of}}});
    let yard = Yard::new(plane, "beside", &json!({}), &json!({"template": template("autoscaler")})).await;
    yard.stage.pool_called("own", &json!({"template": template("windlass")})).await;
    let nodes: Api<Node> = Api::all(yard.stage.client.clone());
    let name = yard.stage.named("theirs");
    let theirs = NodeBuilder::new(&name).label("stage", "beside").label("of", "neither");
    nodes.create(&PostParams::default(), &theirs.build()).await.unwrap();

    let autoscaler = yard.driven(&[]).await;
    let owners = ["autoscaler", "windlass", "neither"];
    for (number, owner) in owners.iter().enumerate() {
        yard.pod(PodBuilder::new(&format!("p-{number}")).cpu("3").node_selector("of", owner)).await;
    }
    eventually("each pod runs on the node of its owner", PATIENCE, async || {
        let running = yard.stage.running().await?;
        let claims = yard.stage.claims().await?;
        let mut pools: Vec<_> = claims.iter().map(|claim| claim.spec.pool_ref.name.as_str()).collect();
        pools.sort_unstable();
        let on = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
        let theirs = running.iter().any(|pod| pod.name_any() == "p-2" && on(pod).as_ref() == Some(&name));
        let done = running.len() == 3 && theirs && pools == ["beside-own", "beside-pool"];
        if done { Ok(()) } else { Err(Instead(format!("{} run, claims of {pools:?}", running.len()))) }
    })
    .await;
    yard.stage.delete_pods(0..3).await;
    yard.stage.gone().await;
    assert!(nodes.get_opt(&name).await.unwrap().is_some());
    yard.finish(autoscaler).await;
}
