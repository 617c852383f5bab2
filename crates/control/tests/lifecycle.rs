//! The life of claims on a real API server: every combination of claim, machine and node, and what follows from it.
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod lab;

use std::sync::Arc;

use serde_json::json;
use windlass_testkit::{ControlPlane, plane_tests};

use lab::Lab;

async fn pending_pods_get_a_machine_and_an_empty_node_is_given_back(plane: Arc<ControlPlane>) {
    let mut lab = Lab::new(plane, "basic").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({})).await;
    lab.start().await;
    lab.pods("p", 5, "1500m").await;
    lab.all_pods_run().await;
    lab.ready_claims(3).await;
    lab.pod_api()
        .delete_collection(&kube::api::DeleteParams::default(), &kube::api::ListParams::default())
        .await
        .unwrap();
    lab.everything_is_gone().await;
    lab.finish().await;
}

plane_tests![pending_pods_get_a_machine_and_an_empty_node_is_given_back];
