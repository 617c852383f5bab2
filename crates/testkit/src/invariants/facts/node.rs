use kube::ResourceExt as _;
use kube::core::DynamicObject;
use windlass_api::labels;

use super::{items, label, text};

/// What is known of a node.
#[derive(Debug)]
pub(in super::super) struct Node {
    pub(in super::super) name: String,
    pub(in super::super) pool: Option<String>,
    pub(in super::super) claim_uid: Option<String>,
    pub(in super::super) provider_id: Option<String>,
    /// Whether it carries the taint of a node that is on its way out.
    pub(in super::super) disrupted: bool,
    pub(in super::super) deleting: bool,
}

impl Node {
    pub(in super::super) fn read(object: &DynamicObject) -> Self {
        Self {
            name: object.name_any(),
            pool: label(object, labels::POOL),
            claim_uid: label(object, labels::CLAIM_UID),
            provider_id: text(object, "/spec/providerID"),
            disrupted: items(object, "/spec/taints").any(|taint| taint["key"] == labels::DISRUPTED_TAINT),
            deleting: object.metadata.deletion_timestamp.is_some(),
        }
    }
}
