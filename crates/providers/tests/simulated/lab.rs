//! One simulated provider of a test's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use windlass_api::SimulatedProvider;
use windlass_core::model::{Effect, Labels, Taint};
use windlass_providers::simulated::Simulated;
use windlass_providers::{Clock, LaunchRequest, Machine, Provider, ProviderError, SystemClock};
use windlass_testkit::{ControlPlane, eventually};

use crate::requests::plain_request_in;

/// How long to wait for what takes moments.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A provider on a test's plane. Its name is the test's, so that tests do not meet.
pub struct Lab {
    pub client: Client,
    pub name: String,
    pub spec: Value,
    pub nodes: Api<Node>,
    pub clock: Arc<TestClock>,
}

/// A clock that is as fast as the machine's own and can be set.
#[derive(Debug, Default)]
pub struct TestClock(AtomicI64);

impl TestClock {
    /// Sets the clock forward.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_secs()).unwrap(), Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        SystemClock.now() + SignedDuration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

/// A cloud that works until this is dropped.
pub struct Running(JoinHandle<()>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Lab {
    pub fn new(plane: &ControlPlane, name: &str) -> Self {
        let client = plane.client().unwrap();
        let spec = json!({
            "bootDelay": "0s",
            "instanceTypes": [{
                "name": "small",
                "capacity": {"cpu": 4, "memory": "8Gi"},
                "overhead": {"cpu": "100m"},
                "offerings": [
                    {"zone": "zone-a", "price": "0.10"},
                    {"zone": "zone-b", "price": "0.20", "available": 7},
                ],
            }],
        });
        let nodes = Api::all(client.clone());
        Self { client, name: name.to_owned(), spec, nodes, clock: Arc::default() }
    }

    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.spec[field] = value;
        self
    }

    pub fn namespace(&self) -> String {
        format!("machines-{}", self.name)
    }

    pub fn records(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), &self.namespace())
    }

    pub fn provider(&self) -> Arc<Simulated> {
        self.provider_of("cluster").unwrap()
    }

    pub fn provider_of(&self, cluster_id: &str) -> Result<Arc<Simulated>, ProviderError> {
        let spec: SimulatedProvider = serde_json::from_value(self.spec.clone()).unwrap();
        let name = self.name.as_str().into();
        let clock = Arc::clone(&self.clock) as Arc<dyn Clock>;
        Simulated::new(name, &spec, cluster_id.into(), self.namespace(), self.client.clone(), clock)
            .map(Arc::new)
    }

    /// Waits until the machine's record says that it has registered.
    pub async fn registered(&self, machine: &Machine) {
        let records = self.records();
        eventually("the note of the registration", PATIENCE, async || {
            let data = records.get(node_name(machine)).await.ok()?.data?;
            data.get("registeredAt").cloned()
        })
        .await;
    }

    /// Lets a provider's cloud work.
    pub fn run(provider: &Arc<Simulated>) -> Running {
        let provider = Arc::clone(provider);
        Running(tokio::spawn(async move { provider.run().await }))
    }

    /// Waits until the machine's node is there and its `Ready` has this status.
    pub async fn ready_is(&self, machine: &Machine, status: &str) -> Node {
        let name = node_name(machine);
        eventually(&format!("node {name} with Ready={status}"), PATIENCE, async || {
            let node = self.nodes.get_opt(name).await.map_err(|error| error.to_string())?;
            let node = node.ok_or("no node")?;
            if ready(&node).as_deref() == Some(status) {
                Ok(node)
            } else {
                Err(format!("{:?}", ready(&node)))
            }
        })
        .await
    }
}

/// The name of a machine's node and record.
pub fn node_name(machine: &Machine) -> &str {
    machine.provider_id.rsplit('/').next().unwrap()
}

/// The status of a node's condition `Ready`.
pub fn ready(node: &Node) -> Option<String> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == "Ready").map(|condition| condition.status.clone())
}

/// A request for a claim's machine in zone-a, of which there are as many as one likes.
pub fn request(claim: &str) -> LaunchRequest {
    request_in("zone-a", claim)
}

/// A request for a claim's machine, with the labels and the taint of its pool.
pub fn request_in(zone: &str, claim: &str) -> LaunchRequest {
    LaunchRequest {
        labels: Labels::new().with("windlass.dev/pool", "pool").with("team", "blue"),
        taints: vec![Taint::new("windlass.dev/unregistered", "", Effect::NoSchedule)],
        ..plain_request_in(zone, claim)
    }
}
