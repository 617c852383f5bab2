//! Every call with what makes no sense: a code, a sentence, and nothing changes.

use prost_types::Timestamp;
use tonic::{Code, Status};
use windlass_externalgrpc::wire::{
    ExternalGrpcNode, NodeGroupAutoscalingOptions, NodeGroupAutoscalingOptionsRequest,
    NodeGroupDecreaseTargetSizeRequest, NodeGroupDeleteNodesRequest, NodeGroupForNodeRequest,
    NodeGroupIncreaseSizeRequest, NodeGroupNodesRequest, NodeGroupTargetSizeRequest,
    NodeGroupTemplateNodeInfoRequest, PricingNodePriceRequest, PricingPodPriceRequest,
};

use crate::barn::Barn;
use crate::raw::{METHODS, call};
use crate::stage::{Client, Stage, node, set};

/// A call was refused with this code and a sentence with these words, and nothing was done.
fn refused<T>(barn: &Barn, answer: Result<T, Status>, code: Code, words: &str) {
    let Err(status) = answer else { panic!("not refused: {words}") };
    assert_eq!(status.code(), code, "{status:?}");
    assert!(status.message().contains(words), "{status:?} does not say {words:?}");
    assert!(barn.deeds().is_empty(), "{words}: {:?}", barn.deeds());
}

async fn increase(client: &mut Client, delta: i32, id: &str) -> Result<(), Status> {
    let request = NodeGroupIncreaseSizeRequest { delta, id: id.to_owned() };
    client.node_group_increase_size(request).await.map(|_| ())
}

async fn decrease(client: &mut Client, delta: i32, id: &str) -> Result<(), Status> {
    let request = NodeGroupDecreaseTargetSizeRequest { delta, id: id.to_owned() };
    client.node_group_decrease_target_size(request).await.map(|_| ())
}

async fn delete(client: &mut Client, nodes: Vec<ExternalGrpcNode>, id: &str) -> Result<(), Status> {
    let request = NodeGroupDeleteNodesRequest { nodes, id: id.to_owned() };
    client.node_group_delete_nodes(request).await.map(|_| ())
}

#[tokio::test]
async fn a_group_that_is_not_there_is_not_found_and_one_without_a_name_is_invalid() {
    let (stage, mut client) = set().await;
    let barn = &stage.barn;
    let long = "x".repeat(100_000);
    for (id, code) in [("nope", Code::NotFound), (long.as_str(), Code::NotFound), ("", Code::InvalidArgument)]
    {
        let words = if code == Code::NotFound { "there is no group" } else { "names no group" };
        let own = || id.to_owned();
        let target = NodeGroupTargetSizeRequest { id: own() };
        refused(barn, client.node_group_target_size(target).await, code, words);
        refused(barn, client.node_group_nodes(NodeGroupNodesRequest { id: own() }).await, code, words);
        let template = NodeGroupTemplateNodeInfoRequest { id: own() };
        refused(barn, client.node_group_template_node_info(template).await, code, words);
        let defaults = Some(NodeGroupAutoscalingOptions::default());
        let options = NodeGroupAutoscalingOptionsRequest { id: own(), defaults };
        refused(barn, client.node_group_get_options(options).await, code, words);
        refused(barn, increase(&mut client, 1, id).await, code, words);
        refused(barn, decrease(&mut client, -1, id).await, code, words);
        refused(barn, delete(&mut client, vec![node("lab://1", "n1")], id).await, code, words);
    }
}

#[tokio::test]
async fn a_delta_of_the_wrong_sign_is_invalid_and_one_that_is_huge_is_refused() {
    let (stage, mut client) = set().await;
    let barn = &stage.barn;
    for delta in [0, -1, i32::MIN] {
        let words = format!("positive number of nodes, not by {delta}");
        refused(barn, increase(&mut client, delta, "gpu").await, Code::InvalidArgument, &words);
    }
    for delta in [0, 1, i32::MAX] {
        let words = format!("negative number of nodes, not by {delta}");
        refused(barn, decrease(&mut client, delta, "gpu").await, Code::InvalidArgument, &words);
    }
    let huge = increase(&mut client, i32::MAX, "gpu").await;
    refused(barn, huge, Code::FailedPrecondition, "no more than 5 nodes");
    let huge = decrease(&mut client, i32::MIN, "gpu").await;
    refused(barn, huge, Code::FailedPrecondition, "not so many on their way");
}

#[tokio::test]
async fn nodes_that_cannot_be_meant_are_not_deleted() {
    let (stage, mut client) = set().await;
    let barn = &stage.barn;
    refused(barn, delete(&mut client, vec![], "gpu").await, Code::InvalidArgument, "names no nodes");
    let nameless = vec![node("lab://1", "n1"), node("", "")];
    let words = "neither a provider ID nor a name";
    refused(barn, delete(&mut client, nameless, "gpu").await, Code::InvalidArgument, words);
    let foreign = vec![node("lab://1", "n1"), node("aws://1", "n2")];
    let words = "node n2 is not of group gpu";
    refused(barn, delete(&mut client, foreign, "gpu").await, Code::FailedPrecondition, words);
}

#[tokio::test]
async fn a_node_that_is_not_named_is_in_no_group_and_has_no_price() {
    let (stage, mut client) = set().await;
    let barn = &stage.barn;
    let times = || PricingNodePriceRequest {
        start_timestamp: Some(Timestamp { seconds: 1, nanos: 0 }),
        end_timestamp: Some(Timestamp { seconds: 2, nanos: 0 }),
        ..Default::default()
    };
    for (node, words) in [(None, "names no node"), (Some(node("", "")), "neither a provider ID nor a name")] {
        let request = NodeGroupForNodeRequest { node: node.clone() };
        refused(barn, client.node_group_for_node(request).await, Code::InvalidArgument, words);
        let request = PricingNodePriceRequest { node, ..times() };
        refused(barn, client.pricing_node_price(request).await, Code::InvalidArgument, words);
    }
    let foreign = PricingNodePriceRequest { node: Some(node("aws://1", "n1")), ..times() };
    refused(barn, client.pricing_node_price(foreign).await, Code::NotFound, "node n1 is in no group");
}

#[tokio::test]
async fn a_price_without_a_span_or_with_an_impossible_one_is_invalid() {
    let (stage, mut client) = set().await;
    let barn = &stage.barn;
    let at = |seconds| Some(Timestamp { seconds, nanos: 0 });
    let odd = Some(Timestamp { seconds: 1, nanos: i32::MIN });
    for (start, end, words) in [
        (None, None, "from when to when"),
        (at(1), None, "from when to when"),
        (at(2), at(1), "ends before it begins"),
        (at(i64::MIN), at(i64::MAX), "is not a moment"),
        (odd, at(1), "is not a moment"),
    ] {
        let request = PricingNodePriceRequest {
            node: Some(node("lab://1", "n1")),
            start_timestamp: start,
            end_timestamp: end,
            ..Default::default()
        };
        refused(barn, client.pricing_node_price(request).await, Code::InvalidArgument, words);
        let request = PricingPodPriceRequest {
            pod_bytes: vec![0x12, 0],
            start_time: start,
            end_time: end,
            ..Default::default()
        };
        refused(barn, client.pricing_pod_price(request).await, Code::InvalidArgument, words);
    }
}

#[tokio::test]
async fn a_pod_that_is_missing_or_no_pod_has_no_price() {
    let (stage, mut client) = set().await;
    let at = |seconds| Some(Timestamp { seconds, nanos: 0 });
    for (pod_bytes, words) in [(vec![], "has no pod"), (b"k8s\0{}".to_vec(), "cannot be read")] {
        let request = PricingPodPriceRequest {
            pod_bytes,
            start_timestamp: at(1),
            end_timestamp: at(2),
            ..Default::default()
        };
        refused(&stage.barn, client.pricing_pod_price(request).await, Code::InvalidArgument, words);
    }
}

#[tokio::test]
async fn options_without_defaults_are_invalid() {
    let (stage, mut client) = set().await;
    let request = NodeGroupAutoscalingOptionsRequest { id: "gpu".to_owned(), defaults: None };
    let answer = client.node_group_get_options(request).await;
    refused(&stage.barn, answer, Code::InvalidArgument, "no default options");
}

#[tokio::test]
async fn bytes_that_are_no_message_get_a_code_from_every_method() {
    let stage = Stage::set(None).await;
    let channel = stage.channel().await;
    for method in METHODS {
        for wrong in [&b"\x0a\x7f"[..], b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"\x0b"] {
            let answer = call(&channel, method, wrong).await;
            refused(&stage.barn, answer, Code::Internal, "decode");
        }
    }
    refused(&stage.barn, call(&channel, "NodeGroupCreate", b"").await, Code::Unimplemented, "");
}

#[tokio::test]
async fn empty_messages_are_answered_or_refused_by_every_method_and_change_nothing() {
    let stage = Stage::set(None).await;
    let channel = stage.channel().await;
    let simple = ["NodeGroups", "GPULabel", "GetAvailableGPUTypes", "Cleanup", "Refresh"];
    for method in METHODS {
        let answer = call(&channel, method, b"").await;
        if simple.contains(&method) {
            answer.unwrap_or_else(|status| panic!("{method}: {status}"));
        } else {
            refused(&stage.barn, answer, Code::InvalidArgument, "request");
        }
    }
}

#[tokio::test]
async fn a_message_that_is_too_large_is_refused() {
    let (stage, mut client) = set().await;
    let answer = increase(&mut client, 1, &"x".repeat(5 << 20)).await;
    refused(&stage.barn, answer, Code::OutOfRange, "too large");
}
