//! What Windlass leaves to Cluster Autoscaler, and what it does not.

use std::sync::Arc;

use kube::api::DeleteParams;
use serde_json::json;
use windlass_control::groups::NodeGroups as _;
use windlass_testkit::{ControlPlane, eventually};

use crate::hands::{app_runs, at_work_for, delete_pods, deploy, told};
use crate::lab::PATIENCE;
use crate::station::{A_WHILE, Station, real_nodes};

pub async fn nothing_comes_or_goes_by_itself(plane: Arc<ControlPlane>) {
    let station = Station::new(plane, "alone", &json!({"minNodes": 1})).await;
    let lab = &station.lab;
    lab.pods("p", 1, "3").await;
    told(lab, "Pod", "p-0", "NoCapacity", &["Cluster Autoscaler decides whether it grows"]).await;
    at_work_for(lab, A_WHILE).await;
    assert!(lab.claims().await.is_empty());
    station.increase(2).await.unwrap();
    lab.all_pods_run().await;
    delete_pods(lab).await;
    let changed =
        json!({"driver": "ClusterAutoscaler", "template": {"metadata": {"labels": {"new": "yes"}}}});
    lab.pool("pool", &changed).await;
    at_work_for(lab, A_WHILE).await;
    station.nodes_run(2).await;
    assert_eq!(station.target(), 2);
    station.finish().await;
}

pub async fn a_pool_that_changes_hands_keeps_its_nodes(plane: Arc<ControlPlane>) {
    let station = Station::new(plane, "hands", &json!({"driver": "ClusterAutoscaler"})).await;
    let lab = &station.lab;
    lab.pool("pool", &json!({"driver": "Windlass"})).await;
    eventually("there are no groups", PATIENCE, async || {
        station.groups().groups().is_ok_and(|groups| groups.is_empty()).then_some(())
    })
    .await;
    deploy(lab, "web", 2, "3").await;
    app_runs(lab, "web", 2).await;
    let before = lab.ready_claims(2).await;
    lab.pool("pool", &json!({"driver": "ClusterAutoscaler"})).await;
    station.groups_are_there().await;
    let instances = station.nodes_run(2).await;
    assert_eq!((instances.len(), station.target()), (2, 2), "the nodes from before are of the group");
    let node = real_nodes(lab).await.remove(0);
    assert_eq!(station.groups().group_of(&node).unwrap().unwrap().id, station.four());
    assert_eq!(station.groups().node_price(&node).unwrap().to_string(), "0.10");
    station.groups().delete_nodes(&station.four(), std::slice::from_ref(&node)).await.unwrap();
    // Its pod has no other place until Cluster Autoscaler gets one.
    station.increase(1).await.unwrap();
    app_runs(lab, "web", 2).await;
    lab.pool("pool", &json!({"driver": "Windlass"})).await;
    app_runs(lab, "web", 2).await;
    let after = lab.ready_claims(2).await;
    assert_eq!(
        after.iter().filter(|claim| before.iter().any(|old| old.metadata.uid == claim.metadata.uid)).count(),
        1
    );
    station.finish().await;
}

pub async fn a_node_that_somebody_deletes_is_drained_and_lowers_the_target(plane: Arc<ControlPlane>) {
    let station = Station::new(plane, "byhand", &json!({})).await;
    station.increase(2).await.unwrap();
    station.nodes_run(2).await;
    let nodes = real_nodes(&station.lab).await;
    station.lab.node_api().delete(&nodes[0].name, &DeleteParams::default()).await.unwrap();
    let left = station.nodes_run(1).await;
    assert_eq!((left[0].id.as_str(), station.target()), (nodes[1].provider_id.as_str(), 1));
    assert_eq!(station.lab.machines().await.len(), 1);
    station.finish().await;
}
