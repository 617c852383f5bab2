use std::collections::BTreeMap;
use std::time::Duration;

use prost::Message;
use windlass_externalgrpc::wire::{
    ExternalGrpcNode, KubernetesDuration, NodeGroupAutoscalingOptions, NodeGroupAutoscalingOptionsRequest,
    NodeGroupDecreaseTargetSizeRequest, NodeGroupDeleteNodesRequest, NodeGroupForNodeRequest,
    NodeGroupIncreaseSizeRequest, NodeGroupNodesRequest, NodeGroupTargetSizeRequest,
    NodeGroupTemplateNodeInfoRequest, PricingNodePriceRequest, PricingPodPriceRequest,
};

use crate::bytes;
use crate::messages::same;

fn strings<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

fn node(provider_id: &str, name: &str) -> ExternalGrpcNode {
    ExternalGrpcNode { provider_id: provider_id.to_owned(), name: name.to_owned(), ..Default::default() }
}

#[test]
fn requests_about_nodes_and_groups_are_understood() {
    let id = || "gpu".to_owned();
    let asked = ExternalGrpcNode {
        labels: strings([("a", "1"), ("b", "2")]),
        annotations: strings([("k8s.io/cluster-autoscaler/fake-node-reason", "unregistered")]),
        ..node("simulated://lab/1", "n1")
    };
    same("node-group-for-node-request", &NodeGroupForNodeRequest { node: Some(asked) });
    same("target-size-request", &NodeGroupTargetSizeRequest { id: id() });
    same("increase-size-request", &NodeGroupIncreaseSizeRequest { delta: 3, id: id() });
    same("decrease-target-size-request", &NodeGroupDecreaseTargetSizeRequest { delta: -2, id: id() });
    let nodes = vec![node("simulated://lab/1", "n1"), node("simulated://lab/2", "simulated://lab/2")];
    same("delete-nodes-request", &NodeGroupDeleteNodesRequest { nodes, id: id() });
    same("nodes-request", &NodeGroupNodesRequest { id: id() });
    same("template-request", &NodeGroupTemplateNodeInfoRequest { id: id() });
}

#[test]
fn the_span_of_a_price_is_understood_from_every_version() {
    let (old, new) = (Duration::from_secs(3600), Duration::from_millis(3_600_500));
    for (version, expected) in [("1.25", old), ("1.34", new), ("1.36", new)] {
        let encoded = bytes(&format!("pricing-node-price-request-{version}"));
        let request = PricingNodePriceRequest::decode(encoded.as_slice()).unwrap();
        assert_eq!(request.span(), Ok(expected), "{version}");
        assert_eq!(request.node, Some(node("", "template-node-for-gpu-7")), "{version}");
    }
}

#[test]
fn the_pod_of_a_price_is_understood_from_every_version() {
    for version in ["1.25", "1.36"] {
        let encoded = bytes(&format!("pricing-pod-price-request-{version}"));
        let request = PricingPodPriceRequest::decode(encoded.as_slice()).unwrap();
        assert_eq!(request.span(), Ok(Duration::from_secs(3600)), "{version}");
        assert_eq!(request.encoded_pod(), bytes("pod"), "{version}");
    }
}

#[test]
fn the_defaults_of_options_are_understood_from_every_version() {
    let old = |seconds: i64| Some(KubernetesDuration { duration: seconds * 1_000_000_000 });
    let new = |seconds: i64| Some(prost_types::Duration { seconds, nanos: 0 });
    let thresholds = NodeGroupAutoscalingOptions {
        scale_down_utilization_threshold: 0.5,
        scale_down_gpu_utilization_threshold: 0.6,
        ..Default::default()
    };
    let first = NodeGroupAutoscalingOptions {
        scale_down_unneeded_time: old(600),
        scale_down_unready_time: old(1200),
        ..thresholds
    };
    let ninth = NodeGroupAutoscalingOptions { max_node_provision_time: old(900), ..first };
    let latest = NodeGroupAutoscalingOptions {
        ignore_daemon_sets_utilization: true,
        scale_down_unneeded_duration: new(600),
        scale_down_unready_duration: new(1200),
        max_node_provision_duration: new(900),
        ..thresholds
    };
    for (version, defaults, knows) in [("1.25", first, false), ("1.29", ninth, true), ("1.36", latest, true)]
    {
        assert_eq!(defaults.know_time_to_join(), knows, "{version}");
        let request = NodeGroupAutoscalingOptionsRequest { id: "gpu".to_owned(), defaults: Some(defaults) };
        same(&format!("options-request-{version}"), &request);
    }
}
