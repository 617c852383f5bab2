//! What objects of each kind look like.

use fastrand::Rng;
use serde_json::{Value, json};

/// The kinds that sequences are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Claim,
    Pool,
    Node,
    Pod,
    Lease,
    Budget,
    Namespace,
}

/// An object of a sequence.
#[derive(Clone, Debug)]
pub struct Thing {
    pub kind: Kind,
    pub name: String,
    pub collection: String,
}

impl Thing {
    pub fn new(kind: Kind, name: String, namespace: &str) -> Self {
        let collection = match kind {
            Kind::Claim => "/apis/windlass.dev/v1alpha1/nodeclaims".to_owned(),
            Kind::Pool => "/apis/windlass.dev/v1alpha1/nodepools".to_owned(),
            Kind::Node => "/api/v1/nodes".to_owned(),
            Kind::Namespace => "/api/v1/namespaces".to_owned(),
            Kind::Pod => format!("/api/v1/namespaces/{namespace}/pods"),
            Kind::Lease => format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"),
            Kind::Budget => format!("/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"),
        };
        Self { kind, name, collection }
    }

    pub fn path(&self) -> String {
        format!("{}/{}", self.collection, self.name)
    }

    pub fn is_ours(&self) -> bool {
        matches!(self.kind, Kind::Claim | Kind::Pool)
    }

    pub fn has_status(&self) -> bool {
        self.kind != Kind::Lease
    }

    pub fn types(&self) -> (&'static str, &'static str) {
        match self.kind {
            Kind::Claim => ("windlass.dev/v1alpha1", "NodeClaim"),
            Kind::Pool => ("windlass.dev/v1alpha1", "NodePool"),
            Kind::Node => ("v1", "Node"),
            Kind::Pod => ("v1", "Pod"),
            Kind::Lease => ("coordination.k8s.io/v1", "Lease"),
            Kind::Budget => ("policy/v1", "PodDisruptionBudget"),
            Kind::Namespace => ("v1", "Namespace"),
        }
    }

    /// A new object, sometimes with something wrong.
    pub fn body(&self, random: &mut Rng, label: &str) -> Value {
        let (api_version, kind) = self.types();
        let mut labels = json!({"sequence": label, "app": *random.choice(["a", "b"].iter()).unwrap()});
        if random.u8(..8) == 0 {
            labels["tier"] = json!("web");
        }
        let mut object = json!({
            "apiVersion": api_version, "kind": kind, "metadata": {"name": self.name, "labels": labels},
        });
        if random.u8(..4) == 0 {
            object["metadata"]["finalizers"] = json!(["test.windlass.dev/hold"]);
        }
        if random.u8(..5) == 0 {
            object["metadata"]["annotations"] = json!({"note": "x"});
        }
        if let Some(spec) = self.spec(random) {
            object["spec"] = spec;
        }
        if self.has_status() && random.bool() {
            object["status"] = self.status(random);
        }
        match random.u8(..40) {
            0 => object["metadata"]["name"] = json!("Not_A-Name"),
            1 => object["kind"] = json!("Other"),
            2 => object["metadata"]["resourceVersion"] = json!("7"),
            3 => object["metadata"]["uid"] = json!("mine"),
            4 => object["metadata"]["labels"]["bad key!"] = json!("x"),
            5 => object["metadata"]["namespace"] = json!("elsewhere"),
            6 => drop(object.as_object_mut().unwrap().remove("spec")),
            7 => object["metadata"]["unknown"] = json!({"x": 1}),
            8 => object["metadata"]["deletionTimestamp"] = json!("2001-01-01T00:00:00Z"),
            9 => object["metadata"]["generation"] = json!(7),
            10 => object["metadata"]["finalizers"] = json!(["Bad Finalizer"]),
            11 => drop(object.as_object_mut().unwrap().remove("apiVersion")),
            12 => drop(object.as_object_mut().unwrap().remove("kind")),
            _ => {}
        }
        object
    }

    pub fn spec(&self, random: &mut Rng) -> Option<Value> {
        Some(match self.kind {
            Kind::Claim => claim_spec(random),
            Kind::Pool => pool_spec(random),
            Kind::Node => node_spec(random),
            Kind::Pod => pod_spec(random),
            Kind::Lease => lease_spec(random),
            Kind::Budget => {
                let mut spec =
                    json!({"selector": {"matchLabels": {"app": "a"}}, "minAvailable": random.u8(1..3)});
                match random.u8(..10) {
                    0 => spec["maxUnavailable"] = json!(1),
                    1 => spec["selector"] = json!({}),
                    2 => {
                        spec["selector"] = json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]})
                    }
                    3 => spec["minAvailable"] = json!("50%"),
                    4 => spec["unhealthyPodEvictionPolicy"] = json!("AlwaysAllow"),
                    5 => drop(spec.as_object_mut().unwrap().remove("selector")),
                    6 => spec["minAvailable"] = json!(-1),
                    _ => {}
                }
                spec
            }
            Kind::Namespace => return None,
        })
    }

    pub fn status(&self, random: &mut Rng) -> Value {
        match self.kind {
            Kind::Claim => claim_status(random),
            Kind::Pool => pool_status(random),
            Kind::Node => {
                let ready = if random.bool() { "True" } else { "False" };
                let mut status = json!({
                    "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": "2001-01-01T00:00:00Z"}],
                });
                if random.bool() {
                    status["capacity"] = json!({"cpu": "4", "memory": "8Gi"});
                }
                if random.u8(..4) == 0 {
                    status["allocatable"] = json!({"cpu": "3"});
                }
                status
            }
            Kind::Pod => pod_status(random),
            Kind::Budget => {
                let mut status = json!({
                    "disruptionsAllowed": random.u8(..3), "currentHealthy": random.u8(..3), "desiredHealthy": 1,
                    "expectedPods": 2, "observedGeneration": random.u8(..3),
                });
                match random.u8(..8) {
                    0 => status["disruptionsAllowed"] = json!(-1),
                    1 => {
                        status["conditions"] = json!([{
                            "type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "no",
                            "lastTransitionTime": "2001-01-01T00:00:00Z", "observedGeneration": 1,
                        }]);
                    }
                    2 => {
                        status["conditions"] = json!([{
                            "type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods", "message": "",
                            "lastTransitionTime": "2001-01-01T00:00:00Z", "observedGeneration": 1,
                        }]);
                    }
                    _ => {}
                }
                status
            }
            Kind::Namespace => json!({"phase": "Active"}),
            Kind::Lease => json!({}),
        }
    }
}

fn claim_spec(random: &mut Rng) -> Value {
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

fn pool_spec(random: &mut Rng) -> Value {
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

fn node_spec(random: &mut Rng) -> Value {
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

fn pod_spec(random: &mut Rng) -> Value {
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

fn lease_spec(random: &mut Rng) -> Value {
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

fn pool_status(random: &mut Rng) -> Value {
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

fn pod_status(random: &mut Rng) -> Value {
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
