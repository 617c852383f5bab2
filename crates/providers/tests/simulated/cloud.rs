//! What becomes of machines.

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;
use windlass_providers::{Provider, Termination};
use windlass_testkit::ControlPlane;
use windlass_testkit::objects::NodeBuilder;

use crate::lab::{Lab, node_name, request};

pub async fn a_machine_becomes_a_ready_node(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "becomes-ready");
    let provider = lab.provider();
    let _running = Lab::run(&provider);
    let machine = provider.launch(&request("web")).await.unwrap();
    let node = lab.ready_is(&machine, "True").await;
    for (key, value) in [
        ("kubernetes.io/hostname", node_name(&machine)),
        ("node.kubernetes.io/instance-type", "small"),
        ("topology.kubernetes.io/zone", "zone-a"),
        ("windlass.dev/capacity-type", "on-demand"),
        ("team", "blue"),
    ] {
        assert_eq!(node.labels().get(key).map(String::as_str), Some(value), "{key}");
    }
    let (spec, status) = (node.spec.unwrap(), node.status.unwrap());
    assert_eq!(spec.provider_id.as_deref(), Some(&*machine.provider_id));
    assert!(spec.taints.unwrap().iter().any(|taint| taint.key == "windlass.dev/unregistered"));
    assert_eq!(status.allocatable.unwrap()["cpu"].0, "3900m");
}

pub async fn a_provider_built_anew_goes_on_where_the_old_one_stopped(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "restart").with("bootDelay", json!("1h"));
    let old = lab.provider();
    let running = Lab::run(&old);
    let machine = old.launch(&request("web")).await.unwrap();
    drop(running);
    assert!(lab.nodes.get_opt(node_name(&machine)).await.unwrap().is_none());

    lab.clock.advance(Duration::from_hours(1));
    let new = lab.with("bootDelay", json!("9h"));
    let provider = new.provider();
    let _running = Lab::run(&provider);
    new.ready_is(&machine, "True").await;
    assert_eq!(provider.list().await, Ok(vec![machine]));
}

pub async fn a_node_that_was_deleted_does_not_come_back(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "deleted-node");
    let provider = lab.provider();
    let running = Lab::run(&provider);
    let machine = provider.launch(&request("web")).await.unwrap();
    lab.ready_is(&machine, "True").await;
    lab.registered(&machine).await;
    lab.nodes.delete(node_name(&machine), &DeleteParams::default()).await.unwrap();

    drop(running);
    let provider = lab.provider();
    let _running = Lab::run(&provider);
    let later = provider.launch(&request("later")).await.unwrap();
    lab.ready_is(&later, "True").await;
    assert!(lab.nodes.get_opt(node_name(&machine)).await.unwrap().is_none());
    assert_eq!(provider.list().await.unwrap().len(), 2);
}

pub async fn a_node_of_another_owner_is_left_alone(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "foreign-node");
    let provider = lab.provider();
    let machine = provider.launch(&request("web")).await.unwrap();
    let foreign =
        |name: &str| NodeBuilder::new(name).label("windlass.dev/simulated-machine", "foreign-node").build();
    let mut taken = foreign(node_name(&machine));
    taken.spec.get_or_insert_default().provider_id = Some("other://machine".to_owned());
    let post = PostParams::default();
    lab.nodes.create(&post, &taken).await.unwrap();
    lab.nodes.create(&post, &foreign("foreign-node-without-machine")).await.unwrap();
    lab.ready_is(&machine, "True").await;

    let _running = Lab::run(&provider);
    let other = provider.launch(&request("other")).await.unwrap();
    lab.ready_is(&other, "True").await;
    provider.terminate(&other.provider_id, &other.tag).await.unwrap();
    lab.ready_is(&other, "Unknown").await;
    for name in [node_name(&machine), "foreign-node-without-machine"] {
        let node = lab.nodes.get(name).await.unwrap();
        assert!(node.annotations().contains_key("kwok.x-k8s.io/node"), "{name}");
        assert_ne!(node.spec.and_then(|spec| spec.provider_id).as_deref(), Some(&*machine.provider_id));
    }
    assert!(
        !lab.records().get(node_name(&machine)).await.unwrap().data.unwrap().contains_key("registeredAt")
    );
}

pub async fn the_node_of_an_ended_machine_falls_silent(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "silent");
    let provider = lab.provider();
    let running = Lab::run(&provider);
    let (one, other) = (request("one"), request("other"));
    let (one, other) = (provider.launch(&one).await.unwrap(), provider.launch(&other).await.unwrap());
    lab.ready_is(&one, "True").await;
    lab.ready_is(&other, "True").await;
    assert_eq!(provider.terminate(&one.provider_id, &one.tag).await, Ok(Termination::Gone));
    let node = lab.ready_is(&one, "Unknown").await;
    assert!(!node.annotations().contains_key("kwok.x-k8s.io/node"));

    drop(running);
    assert_eq!(provider.terminate(&other.provider_id, &other.tag).await, Ok(Termination::Gone));
    let provider = lab.provider();
    let _running = Lab::run(&provider);
    lab.ready_is(&other, "Unknown").await;
}
