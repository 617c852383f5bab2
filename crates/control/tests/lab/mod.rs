//! A controller of one's own on a shared control plane: each test has its scope, its namespace, its pools, and an
//! invariant watcher that judges it at every event.

#![allow(dead_code, reason = "each test binary uses a part of the lab")]

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use windlass_api::{NodeClaim, NodePool, NodeProvider, conditions, labels};
use windlass_control::groups::PoolGroups;
use windlass_control::joining::SystemSecrets;
use windlass_control::leader::{Leadership, gated_client};
use windlass_control::{Controller, Dependencies, Health, Metrics, Settings, controller_config};
use windlass_providers::{Factory, ProviderFactory, SystemClock};
use windlass_testkit::invariants::{InvariantWatcher, Options, Scope};
use windlass_testkit::objects::{PodBuilder, namespace};
use windlass_testkit::{ControlPlane, eventually, install_crds};

/// How long a test waits for something that should happen.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// A controller at work.
pub struct Running {
    pub task: JoinHandle<()>,
    pub health: Health,
    pub metrics: Metrics,
    pub groups: PoolGroups,
}

impl Running {
    /// Ends the controller between two awaits, as a crash would.
    pub async fn crash(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

/// A controller's surroundings.
pub struct Lab {
    pub plane: Arc<ControlPlane>,
    /// A client of the test's own, told apart from the controller's by its field manager.
    pub client: Client,
    /// The test's name for everything: scope, pool prefix, namespace prefix, node selector.
    pub name: String,
    pub namespace: String,
    /// The controller's settings; change them before it starts.
    pub settings: Settings,
    watcher: InvariantWatcher,
    controller: Option<JoinHandle<()>>,
    /// What the controller that was started last counts.
    metrics: Metrics,
}

impl Lab {
    /// Prepares everything but starts no controller yet.
    pub async fn new(plane: Arc<ControlPlane>, name: &str) -> Self {
        let client = plane.client().unwrap();
        install_crds(&client).await.unwrap();
        let namespace = namespace(&client, name).await.unwrap();
        let cluster_id = format!("lab.{name}");
        let options = Options {
            scope: Scope { cluster_id: Some(cluster_id.clone()), pool_prefix: name.to_owned() },
            orphan_grace: SignedDuration::from_secs(20),
            ..Options::default()
        };
        let watcher = InvariantWatcher::start(client.clone(), options).await.unwrap();
        let (second, moment) = (Duration::from_secs(1), Duration::from_millis(200));
        let settings = Settings {
            scope: Some(name.to_owned()),
            lease_duration: 3 * second,
            renew_deadline: 2 * second,
            lease_retry: moment,
            batch_idle: moment,
            batch_max: second,
            absence_interval: moment,
            name_kept: Duration::ZERO,
            sweep_interval: second,
            catalogue_interval: second,
            poll_interval: moment,
            retry_base: moment,
            retry_max: 2 * second,
            orphan_grace: 3 * second,
            stuck_pod_grace: second,
            ..Settings::new(cluster_id.into(), namespace.clone(), format!("{name}-1"))
        };
        let (name, metrics) = (name.to_owned(), Metrics::default());
        Self { plane, client, name, namespace, settings, watcher, controller: None, metrics }
    }

    /// The name of something of this test's.
    pub fn named(&self, suffix: &str) -> String {
        format!("{}-{suffix}", self.name)
    }

    /// Starts the controller with the providers that the product has.
    pub async fn start(&mut self) {
        self.start_with(|factory| Arc::new(factory)).await;
    }

    /// Starts the controller with providers of the test's making, around those that the product has.
    #[allow(clippy::unused_async, reason = "to start is something to wait for, whatever it takes")]
    pub async fn start_with(&mut self, wrap: impl FnOnce(Factory) -> Arc<dyn ProviderFactory>) {
        let running = self.spawn(self.settings.clone(), self.controller_client(), wrap);
        (self.controller, self.metrics) = (Some(running.task), running.metrics);
    }

    /// How often the controller that was started last has counted this of the pool `pool`, for this reason where reasons
    /// are told apart.
    pub fn counted(&self, metric: &str, reason: Option<&str>) -> u64 {
        let (mut registry, mut text) = (Registry::default(), String::new());
        self.metrics.register(&mut registry);
        encode(&mut text, &registry).unwrap();
        let reason = reason.map(|reason| format!(",reason=\"{reason}\"")).unwrap_or_default();
        let start = format!("windlass_{metric}_total{{pool=\"{}\"{reason}}} ", self.named("pool"));
        text.lines().find_map(|line| line.strip_prefix(&start)?.parse().ok()).unwrap_or(0)
    }

    /// A client as the product makes it for a controller, for tests that put something in between.
    pub fn controller_client(&self) -> Client {
        Client::try_from(controller_config(self.plane.config())).unwrap()
    }

    /// Starts a controller that is the test's to look after.
    #[allow(clippy::unused_self, reason = "the controller belongs to the lab")]
    pub fn spawn(
        &self,
        settings: Settings,
        client: Client,
        wrap: impl FnOnce(Factory) -> Arc<dyn ProviderFactory>,
    ) -> Running {
        let (leadership, clock) = (Leadership::default(), Arc::new(SystemClock));
        let factory = Factory {
            client: gated_client(client.clone(), leadership.clone()),
            clock: clock.clone(),
            cluster_id: settings.cluster_id.clone(),
            namespace: settings.namespace.clone(),
        };
        let metrics = Metrics::default();
        let controller = Controller::new(Dependencies {
            client,
            factory: wrap(factory),
            clock,
            random: fastrand::Rng::new(),
            secrets: Arc::new(SystemSecrets::default()),
            leadership,
            metrics: metrics.clone(),
            settings,
        });
        let (health, groups) = (controller.health(), controller.node_groups());
        Running { task: tokio::spawn(controller.run(std::future::pending())), health, metrics, groups }
    }

    /// Ends the controller between two awaits, as a crash would.
    pub async fn crash(&mut self) {
        if let Some(controller) = self.controller.take() {
            controller.abort();
            let _ = controller.await;
        }
    }

    /// A provider of simulated machines: `simulated` goes into its specification.
    pub async fn provider(&self, simulated: &Value) -> NodeProvider {
        let name = self.named("sim");
        self.apply(json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "NodeProvider",
            "metadata": {"name": name, "labels": {labels::SCOPE: self.name}}, "spec": {"simulated": simulated},
        }))
        .await
    }

    /// A provider of one instance type with 4 cores, 16 GiB and room for 110 pods, and with these other fields.
    pub async fn plain_provider(&self, more: &Value) -> NodeProvider {
        let mut simulated = json!({
            "bootDelay": "1s",
            "instanceTypes": [instance_type("four", 4, "0.10", &json!({}))],
        });
        merge(&mut simulated, more);
        self.provider(&simulated).await
    }

    /// A pool of this test's provider, whose nodes are labelled for this test's pods, and with these other fields.
    pub async fn pool(&self, suffix: &str, more: &Value) -> NodePool {
        let mut spec = json!({
            "providerRef": {"name": self.named("sim")},
            "template": {"metadata": {"labels": {"lab": self.name}}},
            "disruption": {"consolidateAfter": "1s"},
        });
        merge(&mut spec, more);
        self.apply(json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "NodePool",
            "metadata": {"name": self.named(suffix), "labels": {labels::SCOPE: self.name}}, "spec": spec,
        }))
        .await
    }

    /// Applies an object as its user would.
    pub async fn apply<K>(&self, object: Value) -> K
    where
        K: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
    {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let parameters = PatchParams::apply("lab-user").force();
        Api::<K>::all(self.client.clone()).patch(&name, &parameters, &Patch::Apply(object)).await.unwrap()
    }

    /// A pod that only this test's nodes take.
    pub fn pod(&self, name: &str, cpu: &str) -> PodBuilder {
        PodBuilder::new(name).namespace(&self.namespace).cpu(cpu).node_selector("lab", &self.name)
    }

    /// Makes so many pods with so much cpu each.
    pub async fn pods(&self, prefix: &str, count: usize, cpu: &str) {
        for number in 0..count {
            self.create_pod(self.pod(&format!("{prefix}-{number}"), cpu)).await;
        }
    }

    pub async fn create_pod(&self, pod: PodBuilder) -> Pod {
        self.pod_api().create(&PostParams::default(), &pod.build()).await.unwrap()
    }

    pub fn pod_api(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub fn claim_api(&self) -> Api<NodeClaim> {
        Api::all(self.client.clone())
    }

    pub fn node_api(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }

    pub fn pool_api(&self) -> Api<NodePool> {
        Api::all(self.client.clone())
    }

    pub fn provider_api(&self) -> Api<NodeProvider> {
        Api::all(self.client.clone())
    }

    /// The records of this test's machines.
    pub fn machine_api(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub async fn claims(&self) -> Vec<NodeClaim> {
        let ours = ListParams::default().labels(&format!("{}={}", labels::SCOPE, self.name));
        self.claim_api().list(&ours).await.unwrap().items
    }

    /// This test's nodes, as far as they are registered.
    pub async fn nodes(&self) -> Vec<Node> {
        let all = self.node_api().list(&ListParams::default().labels(labels::POOL)).await.unwrap().items;
        all.into_iter().filter(|node| node.labels()[labels::POOL].starts_with(&self.name)).collect()
    }

    pub async fn machines(&self) -> Vec<ConfigMap> {
        let records =
            ListParams::default().labels(&format!("windlass.dev/simulated-machine={}", self.named("sim")));
        self.machine_api().list(&records).await.unwrap().items
    }

    /// Waits until all pods of the test run, and says how many there are.
    pub async fn all_pods_run(&self) -> usize {
        eventually("all pods run", PATIENCE, async || {
            let pods =
                self.pod_api().list(&ListParams::default()).await.map_err(|error| error.to_string())?.items;
            let phase =
                |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or_default();
            let waiting: Vec<String> =
                pods.iter().filter(|pod| phase(pod) != "Running").map(ResourceExt::name_any).collect();
            if waiting.is_empty() {
                Ok(pods.len())
            } else {
                let claims = self.claims().await;
                let states: Vec<_> = claims.iter().map(|claim| reason(claim, conditions::READY)).collect();
                Err(format!("waiting for {}; the claims are {states:?}", waiting.join(", ")))
            }
        })
        .await
    }

    /// Waits until there are exactly so many claims, all of them ready.
    pub async fn ready_claims(&self, count: usize) -> Vec<NodeClaim> {
        eventually(&format!("{count} claims are ready"), PATIENCE, async || {
            let claims = self.claims().await;
            let ready = claims.iter().filter(|claim| is(claim, conditions::READY)).count();
            if claims.len() == count && ready == count {
                Ok(claims)
            } else {
                let states = claims.iter().filter_map(|claim| reason(claim, conditions::READY));
                Err(format!("{} claims, {ready} ready: {:?}", claims.len(), states.collect::<Vec<_>>()))
            }
        })
        .await
    }

    /// Waits until nothing of the test's is left: no claim, no machine, no node.
    pub async fn everything_is_gone(&self) {
        eventually("no claim, machine or node is left", PATIENCE, async || {
            let claims = self.claims().await;
            let counts = (claims.len(), self.machines().await.len(), self.nodes().await.len());
            if counts == (0, 0, 0) {
                return Ok(());
            }
            let states: Vec<_> = claims.iter().map(|claim| reason(claim, conditions::READY)).collect();
            Err(format!("(claims, machines, nodes) = {counts:?}; the claims are {states:?}"))
        })
        .await;
    }

    /// The invariant watcher, for tests that have to excuse what they do themselves.
    pub fn watcher(&self) -> &InvariantWatcher {
        &self.watcher
    }

    /// Ends the test: the controller stops, no invariant was broken, and what the test made is removed.
    pub async fn finish(mut self) {
        let violations = self.watcher.settle().await.unwrap();
        assert!(violations.is_empty(), "{violations:#?}");
        self.crash().await;
    }
}

/// An instance type of a provider: so many cores, four GiB each, in one zone, with these other fields.
pub fn instance_type(name: &str, cores: u32, price: &str, more: &Value) -> Value {
    let mut kind = json!({
        "name": name,
        "capacity": {"cpu": cores, "memory": format!("{}Gi", 4 * cores), "pods": 110},
        "offerings": [{"zone": "zone-a", "price": price}],
    });
    merge(&mut kind, more);
    kind
}

/// Whether a condition of a claim is true.
pub fn is(claim: &NodeClaim, condition: &str) -> bool {
    claim.status.as_ref().is_some_and(|status| conditions::is_true(&status.conditions, condition))
}

/// Reason and message of a claim's condition.
pub fn reason(claim: &NodeClaim, condition: &str) -> Option<(String, String)> {
    let found = conditions::find(&claim.status.as_ref()?.conditions, condition)?;
    Some((found.reason.clone(), found.message.clone()))
}

/// Puts the second object's fields into the first, object by object.
pub fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}
