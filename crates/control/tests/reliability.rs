//! The ways in which controllers are known to fail, each tried on a real API server.
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod lab;

use std::sync::Arc;

use serde_json::json;
use windlass_testkit::{ControlPlane, plane_tests};

use lab::Lab;

async fn a_controller_that_crashes_goes_on_where_it_was(plane: Arc<ControlPlane>) {
    let mut lab = Lab::new(plane, "crash").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({})).await;
    lab.start().await;
    lab.pods("p", 4, "3").await;
    lab.crash().await;
    lab.start().await;
    lab.all_pods_run().await;
    lab.ready_claims(4).await;
    lab.finish().await;
}

plane_tests![a_controller_that_crashes_goes_on_where_it_was];
