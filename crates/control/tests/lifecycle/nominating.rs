//! A tight plan holds only if the scheduler follows it.

use std::sync::Arc;

use kube::api::ListParams;
use serde_json::json;
use windlass_api::conditions;
use windlass_control::adapt;
use windlass_core::model::PodState;
use windlass_testkit::{ControlPlane, Placements, eventually};

use crate::hands::{PATIENCE, new_lab};
use crate::lab::{instance_type, is};

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
    // Pods run as soon as their node is open; that it is the claim's is written down after that.
    let claims = eventually("all claims are ready", PATIENCE, async || {
        let claims = lab.claims().await;
        claims.iter().all(|claim| is(claim, conditions::READY)).then_some(claims)
    })
    .await;
    // All of them, mostly, but the scheduler and the nominations run a race. Left to itself it sends few where they belong.
    let placements = Placements::of(&pods, &claims);
    assert_eq!(placements.planned, 40);
    assert!(placements.kept >= 30, "{placements:?}");
    lab.finish().await;
}

/// The scheduler counts pods that are nominated to a node when it looks whether another may go there, but not those that
/// are nominated to the nodes which keep the balance: nominations would keep each of these pods waiting for the others.
pub async fn pods_that_must_be_spread_are_left_to_the_scheduler(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "spread").await;
    let zones = ["zone-a", "zone-b", "zone-c"].map(|zone| json!({"zone": zone, "price": "0.10"}));
    let four = instance_type("four", 4, "0.10", &json!({"offerings": zones}));
    lab.plain_provider(&json!({"instanceTypes": [four]})).await;
    lab.pool("pool", &json!({})).await;
    let spread = json!([{
        "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }]);
    for number in 0..12 {
        let pod = lab.pod(&format!("web-{number}"), "1").label("app", "web");
        let spread = serde_json::from_value(spread.clone()).unwrap();
        lab.create_pod(pod.spec(|spec| spec.topology_spread_constraints = Some(spread))).await;
    }
    lab.start().await;
    eventually("all pods to run", PATIENCE, async || {
        let pods = lab.pod_api().list(&ListParams::default()).await.map_err(|error| error.to_string())?.items;
        let nominated = pods.iter().filter_map(adapt::pod).find_map(|pod| pod.nominated.map(|_| pod.id));
        assert_eq!(nominated, None);
        let running = pods.iter().filter(|pod| {
            pod.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Running"))
        });
        let running = running.count();
        if running == 12 { Ok(()) } else { Err(format!("{running} of 12")) }
    })
    .await;
    assert_eq!(lab.claims().await.len(), 3, "one for each zone");
    lab.finish().await;
}
