use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::{CSINode, StorageClass};
use windlass_api::{NodeClaim, NodePool, NodeProvider};

use crate::Workload;

/// An object that planning looks at.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names are the kinds")]
#[allow(clippy::large_enum_variant, reason = "most of them are of the larger kinds")]
pub enum Object {
    Pod(Pod),
    /// Anything that makes pods and is not a daemonset.
    Workload(Workload),
    DaemonSet(DaemonSet),
    Node(Node),
    Namespace(Namespace),
    PersistentVolume(PersistentVolume),
    PersistentVolumeClaim(PersistentVolumeClaim),
    StorageClass(StorageClass),
    CSINode(CSINode),
    PriorityClass(PriorityClass),
    NodePool(NodePool),
    NodeProvider(NodeProvider),
    NodeClaim(NodeClaim),
}
