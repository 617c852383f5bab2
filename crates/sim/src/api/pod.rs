//! What is special about pods.

use serde_json::{Value, json};

use super::stored::{entry, put, remove};

/// The defaults that decide where a pod may run and how it goes.
pub(super) fn complete(pod: &mut Value) {
    let spec = entry(pod, "spec");
    let defaults = [
        ("restartPolicy", json!("Always")),
        ("terminationGracePeriodSeconds", json!(30)),
        ("schedulerName", json!("default-scheduler")),
    ];
    for (field, value) in defaults {
        if spec.get(field).is_none() {
            spec[field] = value;
        }
    }
    for containers in ["containers", "initContainers"] {
        let containers = spec.get_mut(containers).and_then(Value::as_array_mut);
        containers.into_iter().flatten().for_each(request_limits);
    }
}

/// Whoever sets a limit and no request asks for as much as the limit.
fn request_limits(container: &mut Value) {
    let Some(limits) = container["resources"].get("limits").cloned() else { return };
    let requests = entry(entry(container, "resources"), "requests");
    for (resource, limit) in limits.as_object().into_iter().flatten() {
        if requests.get(resource).is_none() {
            requests[resource] = limit.clone();
        }
    }
}

/// What admission adds to a new pod. There are no priority classes here but the system's own, so a pod's word on its
/// priority counts where a real server would look up its class.
pub(super) fn prepare_new(pod: &mut Value) {
    let spec = entry(pod, "spec");
    let class = spec["priorityClassName"].as_str().unwrap_or_default();
    let priority = match class {
        "system-node-critical" => json!(2_000_001_000),
        "system-cluster-critical" => json!(2_000_000_000),
        _ => spec.get("priority").cloned().unwrap_or(json!(0)),
    };
    spec["priority"] = priority;
    let is_gated = spec["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty());
    tolerate_lost_nodes(pod);
    pod["status"] = json!({"phase": "Pending"});
    if is_gated {
        pod["status"]["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }]);
    }
}

/// Every pod stays for a while on a node that is not heard of.
pub(super) fn tolerate_lost_nodes(pod: &mut Value) {
    let spec = entry(pod, "spec");
    let mut tolerations = spec["tolerations"].as_array().cloned().unwrap_or_default();
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let covers = |toleration: &Value| {
            let (its_key, effect) = (toleration.get("key"), toleration.get("effect"));
            its_key.is_none_or(|its_key| its_key == key) && effect.is_none_or(|effect| effect == "NoExecute")
        };
        if !tolerations.iter().any(covers) {
            tolerations.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
            }));
        }
    }
    spec["tolerations"] = json!(tolerations);
}

/// What is wrong with a pod.
pub(super) fn fault(pod: &Value) -> Option<String> {
    let containers = pod["spec"]["containers"].as_array().map_or(&[][..], Vec::as_slice);
    if containers.is_empty() {
        return Some("spec.containers: Required value".to_owned());
    }
    let lacks =
        |field: &str| containers.iter().any(|each| each[field].as_str().unwrap_or_default().is_empty());
    let missing = ["name", "image"].into_iter().find(|field| lacks(field));
    missing.map(|field| format!("spec.containers[0].{field}: Required value"))
}

/// What is wrong with a change of a pod: hardly anything of its spec may change.
pub(super) fn fault_in_change(pod: &Value, before: &Value) -> Option<String> {
    let (new, old) = (&pod["spec"], &before["spec"]);
    let list = |spec: &Value, field: &str| spec[field].as_array().cloned().unwrap_or_default();
    let (tolerations, gates) = (list(new, "tolerations"), list(new, "schedulingGates"));
    // For how long something is tolerated may change.
    let same = |a: &Value, b: &Value| {
        ["key", "operator", "value", "effect"].iter().all(|field| a[*field] == b[*field])
    };
    if list(old, "tolerations").iter().any(|known| !tolerations.iter().any(|kept| same(known, kept))) {
        return Some("spec.tolerations: Forbidden: existing toleration can not be modified".to_owned());
    }
    let known_gates = list(old, "schedulingGates");
    if gates.iter().any(|gate| !known_gates.contains(gate)) {
        return Some("spec.schedulingGates: Forbidden: only deletion is allowed".to_owned());
    }
    if fixed_part(new) == fixed_part(old) {
        return None;
    }
    Some("spec: Forbidden: pod updates may not change fields other than images and tolerations".to_owned())
}

/// What is wrong with a change of a pod's status.
pub(super) fn fault_in_status(pod: &Value, before: &Value) -> Option<String> {
    let is_bound = before["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
    let is_new = nomination(pod).is_some() && nomination(pod) != nomination(before);
    (is_bound && is_new).then(|| {
        "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node"
            .to_owned()
    })
}

fn fixed_part(spec: &Value) -> Value {
    let mut spec = spec.clone();
    for field in ["tolerations", "schedulingGates", "activeDeadlineSeconds"] {
        remove(&mut spec, field);
    }
    for containers in ["containers", "initContainers"] {
        for container in spec.get_mut(containers).and_then(Value::as_array_mut).into_iter().flatten() {
            remove(container, "image");
        }
    }
    spec
}

/// Whether a pod has run to its end.
pub(super) fn has_ended(pod: &Value) -> bool {
    matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
}

/// Whether a pod says that it is ready.
pub(super) fn is_ready(pod: &Value) -> bool {
    condition(pod, "Ready").is_some_and(|ready| ready["status"] == "True")
}

fn condition<'a>(pod: &'a Value, kind: &str) -> Option<&'a Value> {
    pod["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}

/// Sets a condition; when it changed is noted only if it did.
pub(super) fn set_condition(pod: &mut Value, mut condition: Value, now: &Value) {
    let status = entry(pod, "status");
    let conditions = &mut status["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    condition["lastTransitionTime"] = now.clone();
    let Some(conditions) = conditions.as_array_mut() else { return };
    match conditions.iter_mut().find(|known| known["type"] == condition["type"]) {
        Some(known) => {
            if known["status"] == condition["status"] {
                put(&mut condition, "lastTransitionTime", known.get("lastTransitionTime"));
            }
            *known = condition;
        }
        None => conditions.push(condition),
    }
}

/// Notes who nominated the pod to a node, which is the only part of managed fields that is kept: whoever changes the
/// field takes it over, and when it goes nobody has it.
pub(super) fn note_nomination(pod: &mut Value, before: Option<&Value>, manager: &str, now: &Value) {
    let (new, old) = (nomination(pod), before.and_then(nomination));
    let entries = match new {
        None => None,
        Some(_) if new == old => before.and_then(|before| before["metadata"].get("managedFields").cloned()),
        Some(_) => Some(json!([{
            "manager": manager, "operation": "Update", "apiVersion": "v1", "time": now,
            "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {"f:nominatedNodeName": {}}},
            "subresource": "status",
        }])),
    };
    put(&mut pod["metadata"], "managedFields", entries.as_ref());
}

fn nomination(pod: &Value) -> Option<&str> {
    pod["status"]["nominatedNodeName"].as_str().filter(|node| !node.is_empty())
}
