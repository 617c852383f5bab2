//! What of an object nobody but its owner changes, so that any difference is somebody's doing.

use serde_json::{Map, Value};

/// The kinds whose status only Windlass writes. Others have controllers and kubelets of their own.
const KINDS_WITH_OWN_STATUS: [&str; 3] = ["NodeClaim", "NodePool", "NodeProvider"];
/// The keys of taints, labels and annotations that Kubernetes' controllers and the kubelet put on nodes.
const KUBERNETES_KEYS: [&str; 6] = [
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "node.alpha.kubernetes.io/",
    "volumes.kubernetes.io/",
    "csi.volume.kubernetes.io/",
    "beta.kubernetes.io/",
];

/// An object without what changes by itself: version, managed fields, most status, and on nodes what Kubernetes'
/// controllers write.
pub(super) fn settled(kind: &str, mut object: Value) -> Value {
    let Some(fields) = object.as_object_mut() else {
        return object;
    };
    fields.remove("apiVersion");
    fields.remove("kind");
    if !KINDS_WITH_OWN_STATUS.contains(&kind) {
        fields.remove("status");
    }
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
        metadata.remove("managedFields");
    }
    if kind == "Node" {
        settle_node(fields);
    }
    object
}

fn settle_node(node: &mut Map<String, Value>) {
    let metadata = node.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(metadata) = metadata {
        for keys in ["labels", "annotations"] {
            if let Some(map) = metadata.get_mut(keys).and_then(Value::as_object_mut) {
                map.retain(|key, _| !is_kubernetes_key(key));
            }
            remove_empty(metadata, keys);
        }
    }
    let spec = node.get_mut("spec").and_then(Value::as_object_mut);
    if let Some(spec) = spec {
        spec.remove("podCIDR");
        spec.remove("podCIDRs");
        if let Some(taints) = spec.get_mut("taints").and_then(Value::as_array_mut) {
            taints.retain(|taint| !taint["key"].as_str().is_some_and(is_kubernetes_key));
        }
        remove_empty(spec, "taints");
    }
    remove_empty(node, "spec");
}

fn is_kubernetes_key(key: &str) -> bool {
    KUBERNETES_KEYS.iter().any(|prefix| key.starts_with(prefix))
}

fn remove_empty(fields: &mut Map<String, Value>, name: &str) {
    let empty = fields.get(name).is_some_and(|value| match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    });
    if empty {
        fields.remove(name);
    }
}

/// Where two values first differ, and how.
pub(super) fn difference(before: &Value, after: &Value) -> Option<String> {
    difference_at("", before, after)
}

fn difference_at(path: &str, before: &Value, after: &Value) -> Option<String> {
    if before == after {
        return None;
    }
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        return Some(format!("{path} was {before} and is {after}"));
    };
    let keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
    keys.map(|key| (key, old.get(key).unwrap_or(&Value::Null), new.get(key).unwrap_or(&Value::Null)))
        .find_map(|(key, old, new)| difference_at(&format!("{path}.{key}"), old, new))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{difference, settled};

    #[test]
    fn what_kubernetes_does_to_a_node_is_no_difference() {
        let before = json!({"metadata": {"name": "a", "resourceVersion": "1"}, "status": {"phase": "old"}});
        let after = json!({
            "metadata": {
                "name": "a", "resourceVersion": "2", "managedFields": [{"manager": "kubelet"}],
                "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
            },
            "spec": {"podCIDR": "10.0.0.0/24", "taints": [{"key": "node.kubernetes.io/not-ready"}]},
            "status": {"phase": "new"},
        });
        assert_eq!(settled("Node", before), settled("Node", after));
    }

    #[test]
    fn a_difference_says_where_it_is() {
        let before = json!({"metadata": {"labels": {"a": "1"}}});
        let after = json!({"metadata": {"labels": {"a": "2"}}});
        assert_eq!(difference(&before, &after).unwrap(), r#".metadata.labels.a was "1" and is "2""#);
        assert_eq!(difference(&before, &before), None);
    }
}
