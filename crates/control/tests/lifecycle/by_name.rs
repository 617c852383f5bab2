//! Nodes that are known by their names.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::json;
use windlass_api::conditions;
use windlass_testkit::invariants::Kind;
use windlass_testkit::{ControlPlane, eventually};

use crate::hands::{claim_says, delete_claim, new_lab, now, only_claim};
use crate::kubelets::{Named, boots, join, silent};
use crate::lab::PATIENCE;
use crate::twist::twisted;

pub async fn a_node_of_the_expected_name_that_was_there_before_is_spoken_of_and_never_touched(
    plane: Arc<ControlPlane>,
) {
    let mut lab = new_lab(plane, "before").await;
    lab.plain_provider(&silent()).await;
    lab.pool("pool", &json!({})).await;
    let name = lab.named("rack-1");
    let provider = Arc::new(Named::always(&name));
    let theirs = join(&lab, &name).await;
    lab.watcher().foreign(Kind::Node, &theirs).unwrap();
    lab.start_with(twisted(&provider)).await;
    lab.pods("p", 1, "3").await;
    let claim = only_claim(&lab).await.name_any();
    let why = claim_says(&lab, &claim, conditions::REGISTERED, "Unknown", "ForeignNode").await;
    assert!(why.contains(&name) && why.contains("already"), "{why}");
    crate::hands::at_work_for(&lab, Duration::from_secs(3)).await;
    let now_there = lab.node_api().get(&name).await.unwrap();
    let marks = |node: &k8s_openapi::api::core::v1::Node| {
        let spec = node.spec.clone().unwrap();
        (spec.provider_id, node.finalizers().to_vec(), node.labels().clone())
    };
    assert_eq!(marks(&now_there), marks(&theirs));
    crate::hands::delete_pods(&lab).await;
    delete_claim(&lab, &claim).await;
    lab.everything_is_gone().await;
    assert!(lab.node_api().get_opt(&name).await.unwrap().is_some(), "it outlives the claim");
    lab.finish().await;
}

pub async fn a_node_that_joins_once_a_stranger_of_its_name_is_gone_is_taken(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "gives-way").await;
    lab.plain_provider(&silent()).await;
    lab.pool("pool", &json!({})).await;
    let name = lab.named("rack-1");
    let provider = Arc::new(Named::always(&name));
    join(&lab, &name).await;
    lab.start_with(twisted(&provider)).await;
    lab.pods("p", 1, "3").await;
    let claim = only_claim(&lab).await.name_any();
    claim_says(&lab, &claim, conditions::REGISTERED, "Unknown", "ForeignNode").await;
    boots(&lab.machines().await[0]).await;
    lab.node_api().delete(&name, &DeleteParams::default()).await.unwrap();
    join(&lab, &name).await;
    lab.all_pods_run().await;
    assert_eq!(lab.ready_claims(1).await[0].name_any(), claim);
    crate::hands::delete_pods(&lab).await;
    lab.everything_is_gone().await;
    assert!(lab.node_api().get_opt(&name).await.unwrap().is_none(), "the node went with its machine");
    lab.finish().await;
}

pub async fn of_two_machines_whose_nodes_are_to_have_the_same_name_neither_gets_a_node(
    plane: Arc<ControlPlane>,
) {
    let mut lab = new_lab(plane, "namesakes").await;
    lab.plain_provider(&silent()).await;
    lab.pool("pool", &json!({"replicas": 2})).await;
    let name = lab.named("rack-1");
    let provider = Arc::new(Named::always(&name));
    lab.start_with(twisted(&provider)).await;
    let claims = eventually("two machines", PATIENCE, async || {
        let claims = lab.claims().await;
        let expecting = claims
            .iter()
            .filter(|claim| claim.status.as_ref().is_some_and(|it| it.expected_node_name.is_some()));
        if expecting.count() == 2 { Ok(claims) } else { Err(format!("{} claims", claims.len())) }
    })
    .await;
    let latest =
        claims.iter().filter_map(|claim| claim.status.as_ref()?.launch.as_ref()?.started_at.clone()).max();
    eventually("a later second", PATIENCE, async || {
        (now().duration_since(latest.as_ref()?.0) >= SignedDuration::from_secs(2)).then_some(())
    })
    .await;
    join(&lab, &name).await;
    for (claim, rival) in [(&claims[0], &claims[1]), (&claims[1], &claims[0])] {
        let why = claim_says(&lab, &claim.name_any(), conditions::REGISTERED, "Unknown", "ForeignNode").await;
        assert!(why.contains(&rival.name_any()), "{why}");
    }
    lab.node_api().delete(&name, &DeleteParams::default()).await.unwrap();
    lab.pool("pool", &json!({"replicas": 0})).await;
    for claim in &claims {
        delete_claim(&lab, &claim.name_any()).await;
    }
    lab.everything_is_gone().await;
    lab.finish().await;
}
