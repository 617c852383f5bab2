//! A few hosts and their provider, of a test's own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Secret};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use windlass_core::Price;
use windlass_core::model::{Labels, OfferingKey, Resources};
use windlass_providers::redfish::{Pace, Redfish};
use windlass_providers::{Clock, LaunchRequest, Machine, MachineTag, Provider, ProviderError, Termination};
use windlass_testkit::{ControlPlane, eventually};

/// How long to wait for what takes moments.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub const USERNAME: &str = "canary-of-a-username";
pub const PASSWORD: &str = "canary-of-a-password";

/// A time of day that goes on when a test says so.
#[derive(Debug)]
pub struct Hands(Mutex<Timestamp>);

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

pub struct Lab {
    pub client: Client,
    pub clock: Arc<Hands>,
    pub name: String,
    pub spec: Value,
    pub pace: Pace,
}

impl Lab {
    /// A lab with this specification, to which the Secret `bmc` belongs.
    pub async fn new(plane: &ControlPlane, name: &str, spec: Value) -> Self {
        let client = plane.client().unwrap();
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(format!("metal-{name}"));
        Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
        let pace = Pace {
            wait: PATIENCE,
            poll: Duration::from_millis(100),
            connect: Duration::from_secs(5),
            call: Duration::from_secs(10),
            look: Duration::from_secs(20),
            task: Duration::from_secs(20),
            repeat: Duration::from_secs(30),
            fresh: Duration::ZERO,
            patrol: Duration::from_millis(200),
            lockout: Duration::from_hours(1),
        };
        let clock = Arc::new(Hands(Mutex::new("2026-06-01T12:00:00Z".parse().unwrap())));
        let lab = Self { client, clock, name: name.to_owned(), spec, pace };
        lab.write_secret(PASSWORD).await;
        lab
    }

    /// Lets the time of day go on.
    pub fn later(&self, minutes: i64) {
        let mut now = self.clock.0.lock().unwrap();
        *now = now.checked_add(jiff::SignedDuration::from_mins(minutes)).unwrap();
    }

    pub fn namespace(&self) -> String {
        format!("metal-{}", self.name)
    }

    pub fn ledgers(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), &self.namespace())
    }

    pub async fn write_secret(&self, password: &str) {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace());
        _ = secrets.delete("bmc", &DeleteParams::default()).await;
        let data = [("username", USERNAME), ("password", password)];
        let data = data.map(|(key, value)| (key.to_owned(), ByteString(value.as_bytes().to_vec())));
        let mut secret = Secret { data: Some(data.into()), ..Secret::default() };
        secret.metadata.name = Some("bmc".to_owned());
        secrets.create(&PostParams::default(), &secret).await.unwrap();
    }

    pub fn provider(&self) -> Arc<Redfish> {
        self.provider_at(self.client.clone(), self.pace)
    }

    pub fn provider_at(&self, client: Client, pace: Pace) -> Arc<Redfish> {
        self.try_provider(client, pace).unwrap()
    }

    pub fn try_provider(&self, client: Client, pace: Pace) -> Result<Arc<Redfish>, ProviderError> {
        let spec = serde_json::from_value(self.spec.clone()).unwrap();
        let (name, clock) = (self.name.as_str().into(), Arc::clone(&self.clock) as Arc<dyn Clock>);
        Redfish::new(name, &spec, "cluster".into(), &self.namespace(), client, clock, pace).map(Arc::new)
    }

    /// A request for a claim's machine, of the only type that there is.
    pub async fn request(&self, claim: &str) -> LaunchRequest {
        request(self.offering().await, claim)
    }

    /// The first offering.
    pub async fn offering(&self) -> OfferingKey {
        let types = self.provider().instance_types().await.unwrap();
        types[0].key(&types[0].offerings[0])
    }

    pub async fn make_node(&self, name: &str) {
        make_node(&self.client, name).await;
    }

    pub async fn delete_node(&self, name: &str) {
        let nodes: Api<Node> = Api::all(self.client.clone());
        nodes.delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// What the ledger says of each host, as JSON.
    pub async fn ledger(&self) -> Value {
        let all = self.ledgers().list(&ListParams::default()).await.unwrap();
        let ledger = all.items.into_iter().find(|found| found.metadata.labels.is_some());
        let data = ledger.and_then(|ledger| ledger.data).unwrap_or_default();
        data.into_iter().map(|(host, text)| (host, serde_json::from_str::<Value>(&text).unwrap())).collect()
    }
}

/// Registers a node, as its kubelet would.
pub async fn make_node(client: &Client, name: &str) {
    let nodes: Api<Node> = Api::all(client.clone());
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
    nodes.patch(name, &PatchParams::apply("kubelet"), &Patch::Apply(&node)).await.unwrap();
}

/// A request for a claim's machine.
pub fn request(offering: OfferingKey, claim: &str) -> LaunchRequest {
    LaunchRequest {
        tag: MachineTag {
            cluster_id: "cluster".into(),
            claim_uid: format!("uid-of-{claim}").into(),
            claim_name: claim.into(),
            pool: "pool".into(),
        },
        offering,
        capacity: Resources::new(),
        allocatable: Resources::new(),
        price: Price::ZERO,
        labels: Labels::new(),
        taints: Vec::new(),
        join: None,
    }
}

/// Launches, however often it takes.
pub async fn launch(provider: &dyn Provider, request: &LaunchRequest) -> Machine {
    let what = format!("a machine for {}", request.tag.claim_name);
    eventually(&what, PATIENCE, async || provider.launch(request).await).await
}

/// Ends a machine, and waits until it is gone.
pub async fn end(provider: &dyn Provider, machine: &Machine) {
    eventually(&format!("the end of {}", machine.provider_id), PATIENCE, async || {
        match provider.terminate(&machine.provider_id, &machine.tag).await {
            Ok(Termination::Gone) | Err(ProviderError::NotFound { .. }) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
}

/// How a host is, and why.
pub async fn state(provider: &dyn Provider, host: &str) -> (String, String) {
    let inventory = provider.inventory().await.unwrap();
    let found = inventory.hosts.into_iter().find(|found| *found.name == *host).unwrap();
    (found.state.to_string(), found.message.unwrap().to_string())
}

/// How many of each offering can be had.
pub async fn available(provider: &dyn Provider) -> Vec<(String, u32)> {
    let types = provider.instance_types().await.unwrap();
    let each = types.iter().flat_map(|found| &found.offerings);
    each.map(|offering| (offering.zone.to_string(), offering.available.unwrap())).collect()
}
