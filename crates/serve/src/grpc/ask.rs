//! What a caller says, checked. Nothing that is refused here reaches the groups.

use std::collections::BTreeSet;
use std::error::Error;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use tonic::Status;
use windlass_externalgrpc::SpanError;
use windlass_externalgrpc::kubernetes::decode_pod;
use windlass_externalgrpc::wire::{ExternalGrpcNode, PricingPodPriceRequest};
use windlass_groups::NodeRef;

/// The group that a request names.
pub(super) fn group(id: &str) -> Result<&str, Status> {
    if id.is_empty() {
        return Err(Status::invalid_argument("the request names no group: its id is empty"));
    }
    Ok(id)
}

/// By how many nodes a group is to grow.
pub(super) fn increase(delta: i32) -> Result<u32, Status> {
    u32::try_from(delta).ok().filter(|&delta| delta > 0).ok_or_else(|| {
        Status::invalid_argument(format!(
            "a group is increased by a positive number of nodes, not by {delta}"
        ))
    })
}

/// How many nodes a group is to give up.
pub(super) fn decrease(delta: i32) -> Result<u32, Status> {
    if delta >= 0 {
        let sentence = format!("a target size is decreased by a negative number of nodes, not by {delta}");
        return Err(Status::invalid_argument(sentence));
    }
    Ok(delta.unsigned_abs())
}

/// The node that a request names.
pub(super) fn node(node: Option<ExternalGrpcNode>) -> Result<NodeRef, Status> {
    let ExternalGrpcNode { provider_id, name, labels, annotations } =
        node.ok_or_else(|| Status::invalid_argument("the request names no node"))?;
    if provider_id.is_empty() && name.is_empty() {
        return Err(Status::invalid_argument("a node in the request has neither a provider ID nor a name"));
    }
    Ok(NodeRef { provider_id, name, labels, annotations })
}

/// The nodes that a request names, each once.
pub(super) fn nodes(nodes: Vec<ExternalGrpcNode>) -> Result<Vec<NodeRef>, Status> {
    if nodes.is_empty() {
        return Err(Status::invalid_argument("the request names no nodes"));
    }
    let mut known = BTreeSet::new();
    let mut once = Vec::with_capacity(nodes.len());
    for each in nodes {
        let each = node(Some(each))?;
        if known.insert((each.provider_id.clone(), each.name.clone())) {
            once.push(each);
        }
    }
    Ok(once)
}

/// For how long something is to be priced.
pub(super) fn span(span: Result<Duration, SpanError>) -> Result<Duration, Status> {
    span.map_err(|error| Status::invalid_argument(error.to_string()))
}

/// The pod that is to be priced.
pub(super) fn pod(request: &PricingPodPriceRequest) -> Result<Pod, Status> {
    let encoded = request.encoded_pod();
    if encoded.is_empty() {
        return Err(Status::invalid_argument("the request has no pod"));
    }
    decode_pod(encoded).map_err(|error| {
        let cause = error.source().map(|source| format!(": {source}")).unwrap_or_default();
        Status::invalid_argument(format!("the request's pod cannot be read: {error}{cause}"))
    })
}
