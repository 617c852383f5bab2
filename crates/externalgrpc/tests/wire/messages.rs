use std::collections::BTreeMap;
use std::fmt::Debug;

use prost::Message;
use prost_types::Any;
use windlass_externalgrpc::wire::instance_status::InstanceState;
use windlass_externalgrpc::wire::{
    GetAvailableGpuTypesResponse, GpuLabelResponse, Instance, InstanceErrorInfo, InstanceStatus,
    KubernetesDuration, NodeGroup, NodeGroupAutoscalingOptions, NodeGroupAutoscalingOptionsResponse,
    NodeGroupForNodeResponse, NodeGroupNodesResponse, NodeGroupTargetSizeResponse,
    NodeGroupTemplateNodeInfoResponse, NodeGroupsResponse, PricingNodePriceResponse, PricingPodPriceResponse,
};

use crate::bytes;

/// Another implementation's bytes mean this, and this is written as those bytes.
pub(crate) fn same<M: Message + Default + Debug + PartialEq>(fixture: &str, expected: &M) {
    let theirs = bytes(fixture);
    assert_eq!(&M::decode(theirs.as_slice()).unwrap(), expected, "{fixture}");
    assert_eq!(expected.encode_to_vec(), theirs, "{fixture}");
}

fn group(id: &str, min_size: i32, max_size: i32, debug: &str) -> NodeGroup {
    NodeGroup { id: id.to_owned(), min_size, max_size, debug: debug.to_owned() }
}

#[test]
fn groups_are_written_as_others_write_them() {
    let groups = vec![group("cpu/m4/zone-a", 1, 300, "pool cpu"), group("gpu", 0, i32::MAX, "")];
    same("node-groups-response", &NodeGroupsResponse { node_groups: groups });
    same(
        "node-group-for-node-response",
        &NodeGroupForNodeResponse { node_group: Some(group("gpu", 0, 4, "")) },
    );
    same(
        "node-group-for-node-response-none",
        &NodeGroupForNodeResponse { node_group: Some(NodeGroup::default()) },
    );
    same("target-size-response", &NodeGroupTargetSizeResponse { target_size: 1000 });
}

#[test]
fn instances_are_written_as_others_write_them() {
    let instance = |number: u8, state: InstanceState, error: Option<(&str, &str, i32)>| Instance {
        id: format!("simulated://lab/{number}"),
        status: Some(InstanceStatus {
            instance_state: state.into(),
            error_info: error.map(|(code, message, class)| InstanceErrorInfo {
                error_code: code.to_owned(),
                error_message: message.to_owned(),
                instance_error_class: class,
            }),
        }),
    };
    let lacking = ("InsufficientCapacity", "no a100 is left in zone-a", 1);
    let other = ("Unauthorized", "the token has expired", 99);
    let instances = vec![
        instance(1, InstanceState::InstanceRunning, None),
        instance(2, InstanceState::InstanceCreating, Some(lacking)),
        instance(3, InstanceState::InstanceCreating, Some(other)),
        instance(4, InstanceState::InstanceDeleting, None),
    ];
    same("nodes-response", &NodeGroupNodesResponse { instances });
}

#[test]
fn prices_and_gpus_are_written_as_others_write_them() {
    same("pricing-node-price-response", &PricingNodePriceResponse { price: 0.192 });
    same("pricing-pod-price-response", &PricingPodPriceResponse { price: 12.5 });
    same("gpu-label-response", &GpuLabelResponse { label: "windlass.dev/gpu".to_owned() });
    // Whether a map's empty value is written is a matter of taste, in which ours differs.
    let types = ["a100", "h100"].map(|kind| (kind.to_owned(), Any::default()));
    let types = GetAvailableGpuTypesResponse { gpu_types: BTreeMap::from(types) };
    for encoded in [bytes("gpu-types-response"), types.encode_to_vec()] {
        assert_eq!(GetAvailableGpuTypesResponse::decode(encoded.as_slice()).unwrap(), types);
    }
}

#[test]
fn a_template_is_in_the_field_of_every_version() {
    let node = bytes("node");
    let answer = |node_info: &[u8], node_bytes: &[u8]| NodeGroupTemplateNodeInfoResponse {
        node_info: node_info.to_vec(),
        node_bytes: node_bytes.to_vec(),
    };
    same("template-response-1.25", &answer(&node, &[]));
    same("template-response-1.36", &answer(&[], &node));
    assert_eq!(NodeGroupTemplateNodeInfoResponse::with_node(node.clone()), answer(&node, &node));
    for fixture in ["template-response-1.25", "template-response-1.36"] {
        let answer = NodeGroupTemplateNodeInfoResponse::decode(bytes(fixture).as_slice()).unwrap();
        assert_eq!(answer.encoded_node(), node, "{fixture}");
    }
}

#[test]
fn options_are_written_as_others_write_them() {
    let old = |seconds: i64| Some(KubernetesDuration { duration: seconds * 1_000_000_000 });
    let new = |seconds: i64| Some(prost_types::Duration { seconds, nanos: 0 });
    let options = NodeGroupAutoscalingOptions {
        scale_down_utilization_threshold: 0.5,
        scale_down_gpu_utilization_threshold: 0.6,
        scale_down_unneeded_time: Some(KubernetesDuration { duration: 600_500_000_000 }),
        scale_down_unready_time: old(1200),
        max_node_provision_time: old(900),
        zero_or_max_node_scaling: true,
        ignore_daemon_sets_utilization: true,
        scale_down_unneeded_duration: Some(prost_types::Duration { seconds: 600, nanos: 500_000_000 }),
        scale_down_unready_duration: new(1200),
        max_node_provision_duration: new(900),
        max_node_startup_duration: new(300),
        allow_non_atomic_scale_up_to_max: true,
    };
    same(
        "options-response",
        &NodeGroupAutoscalingOptionsResponse { node_group_autoscaling_options: Some(options) },
    );
}
