//! Each call as Cluster Autoscaler makes it.

use std::collections::BTreeMap;

use prost_types::Timestamp;
use tonic::Code;
use windlass_externalgrpc::kubernetes::decode_node;
use windlass_externalgrpc::wire::instance_status::InstanceState;
use windlass_externalgrpc::wire::{
    CleanupRequest, ExternalGrpcNode, GetAvailableGpuTypesRequest, GpuLabelRequest,
    NodeGroupDecreaseTargetSizeRequest, NodeGroupDeleteNodesRequest, NodeGroupForNodeRequest,
    NodeGroupIncreaseSizeRequest, NodeGroupNodesRequest, NodeGroupTargetSizeRequest,
    NodeGroupTemplateNodeInfoRequest, NodeGroupsRequest, PricingNodePriceRequest, PricingPodPriceRequest,
    RefreshRequest,
};
use windlass_groups::GroupError;

use crate::barn::template;
use crate::stage::{ask, node, set};

fn gpu() -> String {
    "gpu".to_owned()
}

fn at(seconds: i64) -> Option<Timestamp> {
    (seconds > 0).then_some(Timestamp { seconds, nanos: 0 })
}

/// A pod with two containers, as Kubernetes encodes it.
fn pod() -> Vec<u8> {
    let container = |name: &str| [&[0x12, 3, 0x0a, 1], name.as_bytes()].concat();
    let spec = [container("a"), container("b")].concat();
    [&[0x12, u8::try_from(spec.len()).unwrap()], spec.as_slice()].concat()
}

#[tokio::test]
async fn groups_are_told_with_their_sizes() {
    let (stage, mut client) = set().await;
    let groups = client.node_groups(NodeGroupsRequest {}).await.unwrap().into_inner().node_groups;
    let told: Vec<_> =
        groups.iter().map(|group| (group.id.as_str(), group.min_size, group.max_size)).collect();
    assert_eq!(told, [("cpu", 1, 5), ("gpu", 1, i32::MAX)]);
    assert_eq!(groups[0].debug, "group cpu");
    let size = |id: &str| NodeGroupTargetSizeRequest { id: id.to_owned() };
    let answer = client.node_group_target_size(size("gpu")).await.unwrap().into_inner();
    assert_eq!(answer.target_size, 3);
    let answer = client.node_group_target_size(size("cpu")).await.unwrap().into_inner();
    assert_eq!(answer.target_size, i32::MAX, "as many as can be said");
    drop(client);
    stage.strike().await;
}

#[tokio::test]
async fn a_node_is_found_by_its_id_alone_and_a_foreign_one_belongs_to_nobody() {
    let (_stage, mut client) = set().await;
    for (asked, group) in [(node("lab://1", ""), "gpu"), (node("aws://1", "n1"), ""), (node("", "n1"), "")] {
        let request = NodeGroupForNodeRequest { node: Some(asked.clone()) };
        let answer = client.node_group_for_node(request).await.unwrap().into_inner();
        assert_eq!(answer.node_group.unwrap().id, group, "{asked:?}");
    }
}

#[tokio::test]
async fn instances_are_told_with_their_states_and_errors() {
    let (_stage, mut client) = set().await;
    let answer = client.node_group_nodes(NodeGroupNodesRequest { id: gpu() }).await.unwrap().into_inner();
    let told: Vec<_> = answer
        .instances
        .iter()
        .map(|instance| {
            let status = instance.status.as_ref().unwrap();
            let error = status.error_info.as_ref();
            let error = error.map(|error| (error.error_code.as_str(), error.instance_error_class));
            (instance.id.as_str(), status.instance_state(), error)
        })
        .collect();
    let expected = [
        ("lab://1", InstanceState::InstanceRunning, None),
        ("lab://2", InstanceState::InstanceCreating, None),
        ("lab://3", InstanceState::InstanceCreating, Some(("Capacity", 1))),
        ("lab://4", InstanceState::InstanceCreating, Some(("Unknown", 99))),
        ("lab://5", InstanceState::InstanceDeleting, None),
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_template_is_told_in_the_field_of_every_version_and_is_never_empty() {
    let (_stage, mut client) = set().await;
    for group in ["gpu", "cpu"] {
        let request = NodeGroupTemplateNodeInfoRequest { id: group.to_owned() };
        let answer = client.node_group_template_node_info(request).await.unwrap().into_inner();
        assert!(!answer.node_bytes.is_empty(), "{group}: a bare node is one too");
        assert_eq!(answer.node_info, answer.node_bytes, "{group}");
        if group == "gpu" {
            assert_eq!(decode_node(&answer.node_bytes).unwrap(), template(group));
        }
    }
}

#[tokio::test]
async fn a_node_costs_its_price_for_the_hours_that_any_version_asks_about() {
    let (_stage, mut client) = set().await;
    let node = || {
        let labels = BTreeMap::from([("group".to_owned(), gpu())]);
        Some(ExternalGrpcNode { labels, ..node("", "template-node-for-gpu-7") })
    };
    let old = PricingNodePriceRequest {
        node: node(),
        start_time: at(100),
        end_time: at(5500),
        ..Default::default()
    };
    let new = PricingNodePriceRequest {
        node: node(),
        start_timestamp: at(100),
        end_timestamp: at(5500),
        ..Default::default()
    };
    for request in [old, new] {
        let price = client.pricing_node_price(request).await.unwrap().into_inner().price;
        assert!((price - 0.288).abs() < 1e-9, "an hour and a half: {price}");
    }
}

#[tokio::test]
async fn a_pod_is_priced_from_the_field_of_any_version() {
    let (_stage, mut client) = set().await;
    let times =
        || PricingPodPriceRequest { start_timestamp: at(100), end_timestamp: at(3700), ..Default::default() };
    for request in [
        PricingPodPriceRequest { pod: pod(), ..times() },
        PricingPodPriceRequest { pod_bytes: pod(), ..times() },
        PricingPodPriceRequest { pod: pod(), start_time: at(100), end_time: at(3700), ..Default::default() },
    ] {
        let price = client.pricing_pod_price(request).await.unwrap().into_inner().price;
        assert!((price - 2.0).abs() < 1e-9, "a dollar for each container: {price}");
    }
}

#[tokio::test]
async fn gpus_are_told() {
    let (_stage, mut client) = set().await;
    let label = client.gpu_label(GpuLabelRequest {}).await.unwrap().into_inner().label;
    let kinds = client.get_available_gpu_types(GetAvailableGpuTypesRequest {}).await.unwrap().into_inner();
    let kinds: Vec<String> = kinds.gpu_types.into_keys().collect();
    assert_eq!((label.as_str(), kinds), ("lab/gpu", vec!["a100".to_owned(), "h100".to_owned()]));
}

#[tokio::test]
async fn orders_are_carried_out_once_each() {
    let (stage, mut client) = set().await;
    let increase = NodeGroupIncreaseSizeRequest { delta: 2, id: gpu() };
    client.node_group_increase_size(increase).await.unwrap();
    // An instance that has not become a node is named by its id, and one named twice is one.
    let nodes = vec![node("lab://1", "n1"), node("lab://2", "lab://2"), node("lab://1", "n1")];
    client.node_group_delete_nodes(NodeGroupDeleteNodesRequest { nodes, id: gpu() }).await.unwrap();
    let decrease = NodeGroupDecreaseTargetSizeRequest { delta: -2, id: gpu() };
    client.node_group_decrease_target_size(decrease).await.unwrap();
    client.cleanup(CleanupRequest {}).await.unwrap();
    assert_eq!(stage.barn.deeds(), ["increase gpu 2", "delete gpu lab://1 lab://2", "decrease gpu 2"]);
}

#[tokio::test]
async fn a_replica_that_does_not_lead_stops_the_round_before_the_groups_seem_gone() {
    let (stage, mut client) = set().await;
    client.refresh(RefreshRequest {}).await.unwrap();
    let trouble = "replica b leads, ask that one";
    *stage.barn.trouble.lock().unwrap() = Some(GroupError::NotLeading(trouble.to_owned()));
    for status in [client.refresh(RefreshRequest {}).await.unwrap_err(), ask(&mut client).await.unwrap_err()]
    {
        assert_eq!((status.code(), status.message()), (Code::Unavailable, trouble));
    }
}
