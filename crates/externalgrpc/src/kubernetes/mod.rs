//! Kubernetes' own binary encoding of a Node and of a Pod, as far as the protocol needs them.
//!
//! The encoding is plain protobuf, without the envelope in which an API server sends objects. Of a Node this carries
//! what a scheduler looks at and what tells people what it is; of a Pod what it asks for. The rest is skipped when it is
//! read and not written.

mod messages;
mod meta;
mod node;
mod pod;

use k8s_openapi::api::core::v1::{Node, Pod};
use prost::Message as _;

/// Bytes that are not what they should be.
#[derive(Debug, thiserror::Error)]
#[error("these bytes are not a {kind} in the encoding of Kubernetes")]
pub struct Malformed {
    kind: &'static str,
    source: prost::DecodeError,
}

/// A Node as Kubernetes encodes it.
pub fn encode_node(node: &Node) -> Vec<u8> {
    messages::Node::from(node).encode_to_vec()
}

/// The Node that someone encoded.
pub fn decode_node(bytes: &[u8]) -> Result<Node, Malformed> {
    let decoded = messages::Node::decode(bytes).map_err(|source| Malformed { kind: "Node", source })?;
    Ok(decoded.into())
}

/// The Pod that someone encoded: its metadata, and what it and its containers ask for.
pub fn decode_pod(bytes: &[u8]) -> Result<Pod, Malformed> {
    let decoded = messages::Pod::decode(bytes).map_err(|source| Malformed { kind: "Pod", source })?;
    Ok(decoded.into())
}
