use windlass_core::Text;

use super::{GroupError, NodeRef, id};
use crate::index::Index;

/// The claim that a node stands for, by its machine, by its name, or by the claim's own id where it has neither; none if it
/// is not ours. A name and a machine that belong to different claims are nobody's.
pub(super) fn claim_of(index: &Index, node: &NodeRef) -> Result<Option<Text>, GroupError> {
    if node.provider_id.is_empty() && node.name.is_empty() {
        return Err(GroupError::Invalid(
            "a node without a name and without a provider ID is none".to_owned(),
        ));
    }
    let by_id = by_instance(index, &node.provider_id);
    let by_name = by_node(index, &node.name).or_else(|| by_instance(index, &node.name));
    match (by_id, by_name) {
        (Some(one), Some(other)) if one != other => Err(GroupError::Refused(format!(
            "node {} and machine {} are not of the same claim, but of {other} and {one}",
            node.name, node.provider_id
        ))),
        (by_id, by_name) => Ok(by_id.or(by_name)),
    }
}

/// The claim with this machine, or that this is the id of.
fn by_instance(index: &Index, id: &str) -> Option<Text> {
    if let Some(uid) = id::claim_of(id) {
        return index.claims.name_by_uid(uid).cloned();
    }
    let mut claims = index.claims.names_by_provider_id(id);
    // Of several none can be trusted.
    claims.next().filter(|_| claims.next().is_none()).cloned()
}

/// The claim whose machine is the node of this name.
fn by_node(index: &Index, name: &str) -> Option<Text> {
    by_instance(index, index.node(name)?.provider_id.as_deref()?)
}

/// Whether a node is one that was ours and is gone already.
pub(super) fn was_ours(index: &Index, node: &NodeRef) -> bool {
    [&node.provider_id, &node.name]
        .into_iter()
        .filter_map(|id| id::claim_of(id))
        .any(|uid| index.claims.is_gone(uid))
}
