use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt as _;
use kube::api::ObjectMeta;
use windlass_core::model::{Labels, Node, PodShape, Taint, tolerates_all};

/// The taints that the pods of every daemonset put up with.
const BORNE: &str = "node.kubernetes.io/";

/// Whether a daemonset has a pod on a node.
pub(crate) fn runs_on(shape: &PodShape, node: &Node) -> bool {
    let taints = node.taints.iter().filter(|taint: &&Taint| !taint.key.starts_with(BORNE));
    let has = |labels: &Labels| shape.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value));
    let affinity = &shape.node_affinity;
    tolerates_all(&shape.tolerations, taints).is_ok()
        && has(&node.labels)
        && (affinity.is_empty() || affinity.iter().any(|term| term.check(&node.labels).is_ok()))
}

/// The pod of a daemonset on a node.
pub(crate) fn pod_on(set: &DaemonSet, node: &str) -> Pod {
    let template = set.spec.as_ref().map(|spec| spec.template.clone()).unwrap_or_default();
    let mut spec = template.spec.unwrap_or_default();
    spec.node_name = Some(node.to_owned());
    Pod {
        metadata: ObjectMeta {
            name: Some(format!("{}-{node}", set.name_any())),
            namespace: set.namespace(),
            labels: template.metadata.and_then(|metadata| metadata.labels),
            owner_references: Some(vec![OwnerReference {
                kind: "DaemonSet".to_owned(),
                name: set.name_any(),
                controller: Some(true),
                ..OwnerReference::default()
            }]),
            ..ObjectMeta::default()
        },
        spec: Some(spec),
        ..Pod::default()
    }
}
