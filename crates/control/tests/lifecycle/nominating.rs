//! A tight plan holds only if the scheduler follows it.

use std::sync::Arc;

use kube::api::ListParams;
use serde_json::json;
use windlass_control::adapt;
use windlass_core::model::PodState;
use windlass_testkit::{ControlPlane, Placements, eventually};

use crate::hands::{PATIENCE, new_lab};

pub async fn most_pods_of_a_plan_that_leaves_no_room_go_where_they_were_planned(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "tight").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({})).await;
    // The small ones come first: left to itself the scheduler spreads them over all nodes, and the large ones are
    // stranded.
    lab.pods("small", 24, "1").await;
    lab.pods("smaller", 8, "1500m").await;
    lab.pods("large", 8, "2500m").await;
    eventually("the scheduler to have given up on all pods", PATIENCE, async || {
        let pods = lab.pod_api().list(&ListParams::default()).await.map_err(|error| error.to_string())?.items;
        let states = pods.iter().filter_map(adapt::pod).map(|pod| pod.state);
        let given_up = states.filter(|state| matches!(state, PodState::Unschedulable { .. })).count();
        if given_up == 40 { Ok(()) } else { Err(format!("{given_up} of 40")) }
    })
    .await;
    lab.start().await;
    lab.all_pods_run().await;
    let pods = lab.pod_api().list(&ListParams::default()).await.unwrap().items;
    let claims = lab.claims().await;
    // All of them, mostly, but the scheduler and the nominations run a race. Left to itself it sends few where they belong.
    let placements = Placements::of(&pods, &claims);
    assert_eq!(placements.planned, 40);
    assert!(placements.kept >= 30, "{placements:?}");
    lab.finish().await;
}
