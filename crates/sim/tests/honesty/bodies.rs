//! What objects of each kind look like.

use fastrand::Rng;
use serde_json::{Value, json};

use super::specs::{
    claim_spec, claim_status, lease_spec, node_spec, pod_spec, pod_status, pool_spec, pool_status,
};

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
