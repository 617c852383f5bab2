//! What Kubernetes makes of the objects of its own kinds, as far as it is of interest here: the defaults that decide
//! how pods and nodes are treated, and no others.

use serde_json::{Value, json};

use super::kind::ResourceKind;
use super::metadata::count_generation;
use super::pod;
use super::stored::{entry, is_leaving, put, remove};

/// Reads an object as a Go program would: what is empty is the same as what is not there.
pub(super) fn read(kind: &ResourceKind, object: &mut Value) {
    if let Some(map) = object.as_object_mut() {
        map.iter_mut().filter(|(name, _)| *name != "metadata").for_each(|(_, value)| tidy(value));
        map.retain(|_, value| !value.is_null());
    }
    if !matches!(kind.kind, "ConfigMap" | "Secret" | "StorageClass" | "Event") {
        entry(object, "spec");
    }
    match kind.kind {
        "Pod" => pod::complete(object),
        "Node" => {
            let spec = entry(object, "spec");
            if spec["unschedulable"] == false {
                remove(spec, "unschedulable");
            }
            let status = entry(object, "status");
            if status.get("allocatable").is_none() {
                let capacity = status.get("capacity").cloned();
                put(status, "allocatable", capacity.as_ref());
            }
        }
        "PodDisruptionBudget" => {
            let status = entry(object, "status");
            for count in ["currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"] {
                if status.get(count).is_none() {
                    status[count] = json!(0);
                }
            }
            if status["observedGeneration"] == 0 {
                remove(status, "observedGeneration");
            }
        }
        "Namespace" => {
            let name = object["metadata"]["name"].clone();
            if !name.is_null() {
                entry(entry(object, "metadata"), "labels")["kubernetes.io/metadata.name"] = name;
            }
        }
        _ => {}
    }
}

fn tidy(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(tidy);
            map.retain(|_, value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()));
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// Sets what is the server's to set when an object is created. A client's word on the status counts for nodes only.
pub(super) fn prepare_new(kind: &ResourceKind, object: &mut Value) {
    if kind.has_status && kind.kind != "Node" {
        remove(object, "status");
    }
    match kind.kind {
        "Pod" => pod::prepare_new(object),
        "Node" => add_not_ready_taint(object),
        "Namespace" => {
            object["spec"]["finalizers"] = json!(["kubernetes"]);
            object["status"] = json!({"phase": "Active"});
        }
        "PersistentVolumeClaim" | "PersistentVolume" => object["status"] = json!({"phase": "Pending"}),
        _ => {}
    }
    if kind.has_status && object.get("status").is_none() {
        object["status"] = json!({});
    }
    read(kind, object);
    if kind.counts_generations {
        object["metadata"]["generation"] = json!(1);
    }
}

/// A node is not to be used before somebody has seen that it is ready.
fn add_not_ready_taint(node: &mut Value) {
    let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
    let spec = entry(node, "spec");
    match spec.get_mut("taints").and_then(Value::as_array_mut) {
        Some(taints) => {
            let same = |known: &Value| known["key"] == taint["key"] && known["effect"] == taint["effect"];
            if !taints.iter().any(same) {
                taints.push(taint);
            }
        }
        None => spec["taints"] = json!([taint]),
    }
}

/// Undoes what this way of writing does not allow to change, and counts changes of what is wanted.
pub(super) fn prepare_change(kind: &ResourceKind, object: &mut Value, before: &Value, is_status: bool) {
    if is_status {
        put(object, "spec", before.get("spec"));
        if kind.kind == "Pod" {
            let owners = before["metadata"].get("ownerReferences").cloned();
            put(entry(object, "metadata"), "ownerReferences", owners.as_ref());
            remove(&mut object["metadata"], "deletionTimestamp");
        }
        return;
    }
    if kind.has_status {
        put(object, "status", before.get("status"));
    }
    if kind.kind == "Pod" {
        pod::tolerate_lost_nodes(object);
    }
    if kind.kind == "Namespace" {
        put(entry(object, "spec"), "finalizers", before["spec"].get("finalizers"));
    }
    if kind.counts_generations && object.get("spec") != before.get("spec") {
        count_generation(object);
    }
}

/// What is wrong with an object.
pub(super) fn fault(kind: &ResourceKind, object: &Value) -> Option<String> {
    let spec = &object["spec"];
    match kind.kind {
        "Pod" => pod::fault(object),
        "Lease" => {
            let low = |field: &str, least: i64| spec[field].as_i64().is_some_and(|number| number < least);
            let field = if low("leaseDurationSeconds", 1) {
                "leaseDurationSeconds"
            } else if low("leaseTransitions", 0) {
                "leaseTransitions"
            } else {
                return None;
            };
            Some(format!("spec.{field}: Invalid value: {}", spec[field]))
        }
        "PodDisruptionBudget" => {
            let both = spec.get("minAvailable").is_some() && spec.get("maxUnavailable").is_some();
            let negative = |map: &Value, field: &str| map[field].as_i64().is_some_and(|number| number < 0);
            if both {
                Some("spec: Invalid value: minAvailable and maxUnavailable cannot be both set".to_owned())
            } else if negative(spec, "minAvailable") || negative(spec, "maxUnavailable") {
                Some("spec: Invalid value: must be greater than or equal to 0".to_owned())
            } else {
                None
            }
        }
        _ => None,
    }
}

/// What is wrong with a change of an object's status.
pub(super) fn fault_in_status(kind: &ResourceKind, object: &Value, before: &Value) -> Option<String> {
    let status = &object["status"];
    match kind.kind {
        "Pod" => pod::fault_in_status(object, before),
        "Namespace" => {
            let expected = if is_leaving(object) { "Terminating" } else { "Active" };
            (status["phase"] != expected)
                .then(|| format!("status.phase: Invalid value: may only be '{expected}'"))
        }
        "PodDisruptionBudget" => {
            let counts = ["currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"];
            let negative = |count: &&str| status[*count].as_i64().is_some_and(|number| number < 0);
            counts.into_iter().find(negative).map(|count| format!("status.{count}: Invalid value"))
        }
        _ => None,
    }
}

/// What is wrong with a change of an object.
pub(super) fn fault_in_change(kind: &ResourceKind, object: &Value, before: &Value) -> Option<String> {
    match kind.kind {
        "Pod" => pod::fault_in_change(object, before),
        "Node" => {
            let (id, known) = (object["spec"].get("providerID"), before["spec"].get("providerID"));
            let changed = known.is_some_and(|known| known != "" && Some(known) != id);
            changed.then(|| {
                "spec.providerID: Forbidden: node updates may not change providerID except from \"\" to valid"
                    .to_owned()
            })
        }
        _ => None,
    }
}
