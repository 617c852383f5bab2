use k8s_openapi::api::core::v1::{Container, Node, NodeStatus, Pod, PodSpec, ResourceRequirements};
use windlass_externalgrpc::kubernetes::{decode_node, decode_pod, encode_node};

use crate::{bytes, text, write};

/// The Node of the fixtures as far as it is carried.
fn node() -> Node {
    let mut node: Node = serde_json::from_str(&text("node.json")).unwrap();
    let metadata = &mut node.metadata;
    (metadata.generation, metadata.finalizers) = (None, None);
    (metadata.owner_references, metadata.managed_fields) = (None, None);
    let status = node.status.as_mut().unwrap();
    (status.daemon_endpoints, status.images, status.volumes_in_use) = (None, None, None);
    status.node_info.as_mut().unwrap().swap = None;
    node
}

#[test]
fn a_node_that_kubernetes_encoded_is_understood_and_what_is_not_carried_is_skipped() {
    assert_eq!(decode_node(&bytes("node")).unwrap(), node());
}

/// `grpcfixtures check` has Kubernetes read these bytes.
#[test]
fn a_node_is_encoded_as_kubernetes_was_seen_to_understand_it() {
    let ours = encode_node(&node());
    write("node-by-windlass", &ours);
    assert_eq!(ours, bytes("node-by-windlass"));
    assert_eq!(decode_node(&bytes("node-by-windlass")).unwrap(), node());
}

#[test]
fn the_requests_of_a_pod_that_kubernetes_encoded_are_understood() {
    let whole: Pod = serde_json::from_str(&text("pod.json")).unwrap();
    let spec = whole.spec.unwrap();
    let asked = |container: &Container| Container {
        name: container.name.clone(),
        resources: container.resources.clone(),
        restart_policy: container.restart_policy.clone(),
        ..Default::default()
    };
    let mut expected = Pod {
        metadata: whole.metadata,
        spec: Some(PodSpec {
            containers: spec.containers.iter().map(asked).collect(),
            init_containers: spec.init_containers.map(|list| list.iter().map(asked).collect()),
            node_selector: spec.node_selector,
            overhead: spec.overhead,
            resources: spec.resources,
            ..Default::default()
        }),
        status: None,
    };
    // Kubernetes writes what a container does not ask for as an empty message.
    expected.spec.as_mut().unwrap().containers[1].resources = Some(ResourceRequirements::default());
    assert_eq!(decode_pod(&bytes("pod")).unwrap(), expected);
}

#[test]
fn a_node_without_anything_is_encoded_and_understood() {
    for node in [Node::default(), Node { status: Some(NodeStatus::default()), ..Default::default() }] {
        assert_eq!(decode_node(&encode_node(&node)).unwrap(), node);
    }
}

#[test]
fn bytes_that_are_no_object_are_refused_and_never_panic() {
    let node = bytes("node");
    for end in 0..node.len() {
        let _ = decode_node(&node[..end]);
        let _ = decode_pod(&node[..end]);
    }
    for wrong in [&b"k8s\0"[..], b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"\x0a\x7f", b"{}"] {
        let error = decode_node(wrong).unwrap_err();
        assert!(error.to_string().contains("not a Node"), "{error}");
        assert!(decode_pod(wrong).is_err(), "{wrong:?}");
    }
}
