use k8s_openapi::api::core::v1::{Node, NodeCondition};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use windlass_api::labels;

/// How many pods a kubelet takes unless told otherwise.
const DEFAULT_PODS: &str = "110";

/// A node as its kubelet would have registered it: known by its hostname, and ready unless it says otherwise.
pub(crate) fn node(mut node: Node) -> Node {
    let name = node.metadata.name.clone().unwrap_or_default();
    node.metadata.labels.get_or_insert_default().entry(labels::HOSTNAME.to_owned()).or_insert(name);
    let status = node.status.get_or_insert_default();
    let conditions = status.conditions.get_or_insert_default();
    if conditions.is_empty() {
        conditions.push(NodeCondition {
            type_: "Ready".to_owned(),
            status: "True".to_owned(),
            ..NodeCondition::default()
        });
    }
    let mut capacity = status.capacity.take().or_else(|| status.allocatable.clone()).unwrap_or_default();
    capacity.entry("pods".to_owned()).or_insert_with(|| Quantity(DEFAULT_PODS.to_owned()));
    let allocatable = status.allocatable.get_or_insert_default();
    for (resource, amount) in &capacity {
        allocatable.entry(resource.clone()).or_insert_with(|| amount.clone());
    }
    status.capacity = Some(capacity);
    node
}
