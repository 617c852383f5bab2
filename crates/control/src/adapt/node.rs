use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node as ApiNode;
use windlass_api::labels as marks;
use windlass_core::Text;
use windlass_core::model::{Node, NodeCondition, Readiness, Taint};

use super::node_affinity::NAME_FIELD;
use super::steadfast::stays_until;
use super::{effect_named, labels, resources, text};
use crate::kubernetes::version;

/// A node as it was at one moment, with what planning does not look at.
#[derive(Clone, Debug)]
pub struct SeenNode {
    /// The node.
    pub node: Node,
    /// Which version of the object it is.
    pub version: u64,
    /// When the object was made.
    pub created_at: Timestamp,
}

/// A node from the API, with when it was that.
pub fn seen_node(seen: &ApiNode) -> SeenNode {
    SeenNode {
        node: node(seen),
        version: version(seen.metadata.resource_version.as_deref()),
        created_at: seen.metadata.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0),
    }
}

/// A node from the API.
pub fn node(node: &ApiNode) -> Node {
    let (metadata, spec, status) = (&node.metadata, node.spec.as_ref(), node.status.as_ref());
    let annotation = |key: &str| {
        metadata.annotations.as_ref().and_then(|all| all.get(key)).map(|value| value.as_str().into())
    };
    let taints = spec.and_then(|spec| spec.taints.as_ref()).into_iter().flatten().filter_map(|taint| {
        let effect = effect_named(&taint.effect)?;
        Some(Taint::new(&taint.key, taint.value.as_deref().unwrap_or(""), effect))
    });
    let mut labels = labels(metadata.labels.iter().flatten());
    // Node affinity can also match this field; as a label it needs no case of its own.
    labels.set(NAME_FIELD, text(metadata.name.as_ref()));
    Node {
        name: text(metadata.name.as_ref()),
        uid: text(metadata.uid.as_ref()),
        provider_id: spec
            .and_then(|spec| spec.provider_id.as_deref())
            .filter(|id| !id.is_empty())
            .map(Into::into),
        labels,
        taints: taints.collect(),
        capacity: resources(status.and_then(|status| status.capacity.as_ref())),
        allocatable: resources(status.and_then(|status| status.allocatable.as_ref())),
        readiness: readiness(node),
        conditions: conditions(node),
        unschedulable: spec.and_then(|spec| spec.unschedulable).unwrap_or(false),
        deleting: metadata.deletion_timestamp.is_some(),
        claim_uid: annotation(marks::CLAIM_UID),
        provider: annotation(marks::PROVIDER),
        held: metadata.finalizers.iter().flatten().any(|finalizer| finalizer == marks::FINALIZER),
        stays_until: stays_until(
            metadata.annotations.as_ref(),
            metadata.creation_timestamp.as_ref().map(|time| time.0),
        ),
        asked_to_go: annotation(marks::REPLACE).is_some_and(|value: Text| &*value == "true"),
    }
}

/// What is said of a node apart from whether it is ready.
fn conditions(node: &ApiNode) -> Vec<NodeCondition> {
    let all = node.status.as_ref().and_then(|status| status.conditions.as_ref()).into_iter().flatten();
    let others = all.filter(|condition| condition.type_ != "Ready");
    let told = others.map(|condition| NodeCondition {
        kind: condition.type_.as_str().into(),
        status: condition.status.as_str().into(),
        since: condition.last_transition_time.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0),
    });
    told.collect()
}

fn readiness(node: &ApiNode) -> Readiness {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let ready = conditions.into_iter().flatten().find(|condition| condition.type_ == "Ready");
    match ready {
        Some(condition) if condition.status == "True" => Readiness::Ready,
        Some(condition) => {
            let since = condition.last_transition_time.as_ref().or(node.metadata.creation_timestamp.as_ref());
            Readiness::NotReady { since: since.map_or(Timestamp::UNIX_EPOCH, |time| time.0) }
        }
        None => {
            let since = node.metadata.creation_timestamp.as_ref();
            Readiness::NotReady { since: since.map_or(Timestamp::UNIX_EPOCH, |time| time.0) }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_core::model::Readiness;

    use super::node;

    #[test]
    fn a_node_keeps_what_planning_needs() {
        let object = json!({
            "metadata": {
                "name": "n1", "uid": "u1", "labels": {"zone": "a"},
                "annotations": {"windlass.dev/claim-uid": "c1"}, "finalizers": ["windlass.dev/machine"],
                "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "spec": {"providerID": "sim://1", "taints": [{"key": "gpu", "effect": "NoSchedule"}]},
            "status": {
                "capacity": {"cpu": "4"}, "allocatable": {"cpu": "3900m", "memory": "1Gi"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        });
        let node = node(&serde_json::from_value(object).unwrap());
        assert_eq!(
            (&*node.name, node.provider_id.as_deref(), node.claim_uid.as_deref()),
            ("n1", Some("sim://1"), Some("c1"))
        );
        assert_eq!((node.allocatable.get("cpu"), node.allocatable.get("memory")), (3900, 1 << 30));
        assert_eq!(
            (node.taints[0].to_string().as_str(), node.held, node.readiness),
            ("gpu:NoSchedule", true, Readiness::Ready)
        );
    }

    #[test]
    fn a_node_without_a_ready_condition_is_not_ready_since_it_was_made() {
        let object = json!({"metadata": {"name": "n1", "creationTimestamp": "2026-01-01T00:00:00Z"}});
        let since = "2026-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(node(&serde_json::from_value(object).unwrap()).readiness, Readiness::NotReady { since });
    }
}
