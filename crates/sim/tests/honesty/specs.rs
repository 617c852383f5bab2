//! Specs and statuses of each kind, some of which make no sense.

use fastrand::Rng;
use serde_json::{Value, json};

pub fn claim_spec(random: &mut Rng) -> Value {
    let offering = json!({
        "instanceType": "m", "zone": "z", "capacityType": "spot", "price": "0.1",
        "capacity": {"cpu": 4, "memory": "8Gi"}, "allocatable": {"cpu": "3500m"},
    });
    let mut spec = json!({
        "poolRef": {"name": "p"}, "providerRef": {"name": "q"}, "reason": {"purpose": "PendingPods"},
    });
    if random.bool() {
        spec["offerings"] = json!([offering]);
    }
    match random.u8(..16) {
        0 => spec["unknown"] = json!({"deep": 1}),
        1 => spec["reason"]["purpose"] = json!("Fun"),
        2 => drop(spec.as_object_mut().unwrap().remove("poolRef")),
        3 => spec["adopt"] = json!(null),
        4 => spec["labels"] = json!({"a": "b"}),
        5 => spec["offerings"] = json!(null),
        6 => spec["terminationGracePeriod"] = json!("soon"),
        7 => spec["terminationGracePeriod"] = json!("1h30m"),
        8 => spec["poolRef"]["name"] = json!(""),
        9 => spec["taints"] = json!([{"key": "k", "effect": "NoSchedule", "more": true}]),
        10 => spec["labels"] = json!({"a": 1}),
        11 => spec["labels"] = json!({"a": null}),
        12 => spec["offerings"] = json!([{"instanceType": "m"}]),
        _ => {}
    }
    spec
}

pub fn pool_spec(random: &mut Rng) -> Value {
    let mut spec = json!({"providerRef": {"name": "q"}});
    match random.u8(..14) {
        0 => spec["minNodes"] = json!(random.u8(..4)),
        1 => spec["limits"] = json!({"cpu": "100", "nodes": 3}),
        2 => spec["limits"] = json!({"cpu": "a lot"}),
        3 => spec["disruption"] = json!({"consolidateAfter": "1m"}),
        4 => spec["scaleUp"] = json!({}),
        5 => spec["scaleUp"] = json!({"maxPerMinute": 0}),
        6 => spec["paused"] = json!(true),
        7 => spec["paused"] = json!("yes"),
        8 => spec["weight"] = json!(null),
        9 => spec["template"] = json!({"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}),
        10 => spec["headroom"] = json!({"pods": {"replicas": 2, "template": {"x": {"y": null, "z": [1]}}}}),
        11 => spec["disruption"] = json!({"budgets": [{"nodes": "10%"}], "repair": {"conditions": []}}),
        _ => {}
    }
    spec
}

pub fn node_spec(random: &mut Rng) -> Value {
    let mut spec = json!({});
    if random.bool() {
        spec["taints"] = json!([{"key": "k", "value": "v", "effect": "NoSchedule"}]);
    }
    match random.u8(..6) {
        0 => spec["unschedulable"] = json!(true),
        1 => spec["unschedulable"] = json!(false),
        2 => spec["providerID"] = json!("sim://1"),
        3 => spec["taints"] = json!([]),
        4 => spec["taints"] = json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]),
        _ => {}
    }
    spec
}

pub fn pod_spec(random: &mut Rng) -> Value {
    // Without the token that the real server mounts into each container.
    let mut spec =
        json!({"containers": [{"name": "c", "image": "i"}], "automountServiceAccountToken": false});
    match random.u8(..12) {
        0 | 1 => spec["nodeName"] = json!("somewhere"),
        2 => spec["terminationGracePeriodSeconds"] = json!(random.u8(..3)),
        3 => spec["schedulingGates"] = json!([{"name": "gate.example/a"}]),
        4 => spec["containers"] = json!([]),
        5 => {
            spec["containers"][0]["resources"] =
                json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}})
        }
        6 => spec["tolerations"] = json!([{"operator": "Exists"}]),
        7 => {
            spec["tolerations"] =
                json!([{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}])
        }
        8 => spec["priorityClassName"] = json!("system-node-critical"),
        _ => {}
    }
    spec
}

pub fn lease_spec(random: &mut Rng) -> Value {
    let mut spec = json!({
        "holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2001-01-01T00:00:00.000000Z",
        "leaseTransitions": random.u8(..3),
    });
    match random.u8(..8) {
        0 => spec["leaseDurationSeconds"] = json!(0),
        1 => spec["holderIdentity"] = json!(""),
        2 => spec["leaseTransitions"] = json!(-1),
        3 => spec["acquireTime"] = json!(null),
        _ => {}
    }
    spec
}

pub fn conditions(random: &mut Rng) -> Value {
    let mut types = vec!["Launched", "Registered", "Ready"];
    random.shuffle(&mut types);
    types.truncate(random.usize(..4));
    let condition = |kind: &str, random: &mut Rng| {
        json!({
            "type": kind, "status": if random.bool() { "True" } else { "False" }, "reason": "R", "message": "",
            "lastTransitionTime": "2001-01-01T00:00:00Z",
        })
    };
    types.into_iter().map(|kind| condition(kind, random)).collect()
}

pub fn claim_status(random: &mut Rng) -> Value {
    let mut status = json!({});
    if random.bool() {
        status["providerID"] = json!("sim://1");
    }
    if random.bool() {
        status["conditions"] = conditions(random);
    }
    if random.u8(..3) == 0 {
        status["capacity"] = json!({"cpu": 4, "memory": "8Gi"});
    }
    if random.u8(..3) == 0 {
        status["capacity"]["pods"] = json!("110");
    }
    match random.u8(..14) {
        0 => status["launch"] = json!({"offering": 0, "startedAt": null}),
        1 => status["launch"] = json!({"offering": 1, "startedAt": "2001-01-01T00:00:00Z"}),
        2 => status["launch"] = json!({"offering": -1}),
        3 => status["nodeName"] = json!(null),
        4 => status["nodeName"] = json!("n"),
        5 => status["price"] = json!(3),
        6 => status["launch"] = json!(null),
        7 => status["conditions"] = json!([{"type": "Ready"}]),
        8 => status["drift"] = json!("another image"),
        9 => status["launch"] = json!({}),
        _ => {}
    }
    status
}

pub fn pool_status(random: &mut Rng) -> Value {
    let mut status = json!({});
    if random.bool() {
        status["nodes"] = json!(random.u8(..3));
    }
    if random.bool() {
        status["resources"] = json!({"cpu": "8"});
    }
    if random.bool() {
        status["conditions"] = conditions(random);
    }
    if random.u8(..4) == 0 {
        status["costPerHour"] = json!("0.5");
    }
    status
}

pub fn pod_status(random: &mut Rng) -> Value {
    let phase =
        *random.choice(["Pending", "Running", "Running", "Running", "Succeeded", "Failed"].iter()).unwrap();
    let ready = if random.bool() { "True" } else { "False" };
    let mut status = json!({
        "phase": phase,
        "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": "2001-01-01T00:00:00Z"}],
    });
    if random.u8(..3) == 0 {
        status["nominatedNodeName"] = json!(*random.choice(["n1", "n2"].iter()).unwrap());
    }
    status
}
