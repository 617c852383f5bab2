//! `windlass run` as a process against a real control plane, with an invariant watcher that judges it at every event.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, SemaphorePermit};
use windlass_api::{NodePool, NodeProvider, labels};
use windlass_testkit::invariants::{InvariantWatcher, Options, Scope};
use windlass_testkit::objects::{PodBuilder, namespace};
use windlass_testkit::{ControlPlane, install_crds};

use crate::windlass::Windlass;

/// How long a test waits for something that should happen; long enough for a machine that is busy with other things.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// A control plane takes 700 MB, and two of them keep two cores busy.
static OWN_PLANES: Semaphore = Semaphore::const_new(2);
/// So many tests at once share a plane without keeping each other from renewing leases in time.
static SHARES: Semaphore = Semaphore::const_new(3);

/// The flags that make a process fast enough for a test.
const QUICK: [(&str, &str); 14] = [
    ("--lease-duration", "3s"),
    ("--renew-deadline", "2500ms"),
    ("--lease-retry", "200ms"),
    ("--batch-idle", "200ms"),
    ("--batch-max", "1s"),
    ("--absence-interval", "200ms"),
    ("--name-kept", "0s"),
    ("--sweep-interval", "1s"),
    ("--catalogue-interval", "2s"),
    ("--poll-interval", "200ms"),
    ("--orphan-grace", "3s"),
    ("--launch-deadline", "20s"),
    ("--avoid-base", "1s"),
    ("--log", "info,windlass_control=debug"),
];

/// What a process is tried on: one test's part of a control plane, or the whole of one.
pub struct Stage {
    pub plane: Arc<ControlPlane>,
    pub client: Client,
    /// The test's name for everything: its scope, and the beginning of the names of its pools and providers.
    pub name: String,
    /// The namespace of the test's pods, of the lease and of the machines' records.
    pub namespace: String,
    /// The value of the label that marks what is the process's, if it goes by one.
    pub scope: Option<String>,
    watcher: InvariantWatcher,
    processes: Cell<u32>,
    _turn: SemaphorePermit<'static>,
}

impl Stage {
    /// A part of a plane that other tests use too.
    pub async fn on(plane: Arc<ControlPlane>, name: &str) -> Self {
        let turn = SHARES.acquire().await.unwrap();
        let client = plane.client().unwrap();
        install_crds(&client).await.unwrap();
        let namespace = namespace(&client, name).await.unwrap();
        let scope = Scope { cluster_id: Some(format!("stage.{name}")), pool_prefix: name.to_owned() };
        let watcher = watch(&client, scope, SignedDuration::from_secs(30)).await;
        let (name, scope) = (name.to_owned(), Some(name.to_owned()));
        Self { plane, client, name, namespace, scope, watcher, processes: Cell::new(0), _turn: turn }
    }

    /// A plane of the test's own, on which the process has the scope, namespace and cluster id that it has by default.
    pub async fn alone(name: &str) -> Self {
        let turn = own_plane_turn().await;
        let plane = Arc::new(ControlPlane::start().await.unwrap());
        let client = plane.client().unwrap();
        install_crds(&client).await.unwrap();
        let namespace = "windlass-system".to_owned();
        create_namespace(&client, &namespace).await;
        // Longer, since the watcher sees no claims either for some time after the API server was away.
        let watcher = watch(&client, Scope::default(), SignedDuration::from_secs(120)).await;
        Self {
            plane,
            client,
            name: name.to_owned(),
            namespace,
            scope: None,
            watcher,
            processes: Cell::new(0),
            _turn: turn,
        }
    }

    /// Starts a process with an identity of its own.
    pub fn start(&self) -> Windlass {
        self.start_with(&[])
    }

    /// Starts a process with flags that replace or add to those it usually has.
    pub fn start_with(&self, more: &[(&str, &str)]) -> Windlass {
        self.start_as(&["run"], more)
    }

    /// The controller, started by this command, with these flags beside or in place of the usual ones.
    pub fn start_as(&self, command: &[&str], more: &[(&str, &str)]) -> Windlass {
        self.processes.set(self.processes.get() + 1);
        let identity = format!("{}-{}", self.name, self.processes.get());
        let kubeconfig = self.plane.kubeconfig_path().display().to_string();
        let mut flags = vec![
            ("--listen", "127.0.0.1:0"),
            ("--kubeconfig", &kubeconfig),
            ("--namespace", &self.namespace),
            ("--identity", &identity),
        ];
        if let Some(scope) = &self.scope {
            flags.extend([("--scope", scope.as_str()), ("--cluster-id", "stage")]);
        }
        let stays = |flag: &&(&str, &str)| !more.iter().any(|other| other.0 == flag.0);
        let flags: Vec<_> = flags.iter().chain(&QUICK).filter(stays).chain(more).copied().collect();
        Windlass::start(&self.plane, &identity, command, &flags)
    }

    /// The name of something of this test's.
    pub fn named(&self, suffix: &str) -> String {
        format!("{}-{suffix}", self.name)
    }

    /// A provider of machines with 4 cores that boot in 2 seconds, and with these other fields.
    pub async fn provider(&self, more: &Value) -> NodeProvider {
        let mut simulated = json!({
            "bootDelay": "2s",
            "instanceTypes": [{
                "name": "four", "capacity": {"cpu": 4, "memory": "16Gi"},
                "offerings": [{"zone": "zone-a", "price": "0.10"}],
            }],
        });
        merge(&mut simulated, more);
        self.apply("NodeProvider", "sim", &json!({"simulated": simulated})).await
    }

    /// A provider in the place of the simulated one.
    pub async fn other_provider(&self, spec: &Value) -> NodeProvider {
        self.apply("NodeProvider", "sim", spec).await
    }

    /// The test's pool, with these other fields.
    pub async fn pool(&self, more: &Value) -> NodePool {
        self.pool_called("pool", more).await
    }

    /// One of several pools, with these other fields.
    pub async fn pool_called(&self, suffix: &str, more: &Value) -> NodePool {
        let mut spec = json!({
            "providerRef": {"name": self.named("sim")},
            "template": {"metadata": {"labels": {"stage": self.name}}},
            "disruption": {"consolidateAfter": "1s"},
        });
        merge(&mut spec, more);
        self.apply("NodePool", suffix, &spec).await
    }

    async fn apply<K>(&self, kind: &str, suffix: &str, spec: &Value) -> K
    where
        K: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
    {
        let name = self.named(suffix);
        let labels: Value = self.scope.iter().map(|scope| (labels::SCOPE.to_owned(), json!(scope))).collect();
        let object = json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": kind,
            "metadata": {"name": name, "labels": labels}, "spec": spec,
        });
        let parameters = PatchParams::apply("stage-user").force();
        Api::<K>::all(self.client.clone()).patch(&name, &parameters, &Patch::Apply(object)).await.unwrap()
    }

    /// Makes pods `p-<number>`, each of which fills a node of this test's.
    pub async fn pods(&self, numbers: std::ops::Range<usize>) {
        for number in numbers {
            let pod = PodBuilder::new(&format!("p-{number}")).cpu("3").node_selector("stage", &self.name);
            self.pod_api().create(&PostParams::default(), &pod.build()).await.unwrap();
        }
    }

    pub async fn delete_pods(&self, numbers: std::ops::Range<usize>) {
        for number in numbers {
            self.pod_api().delete(&format!("p-{number}"), &DeleteParams::default()).await.unwrap();
        }
    }

    pub fn pod_api(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub fn watcher(&self) -> &InvariantWatcher {
        &self.watcher
    }

    /// Ends the test: no invariant was broken.
    pub async fn finish(self) {
        self.watcher.finish().await.unwrap();
    }
}

/// Waits until one more plane may run.
pub async fn own_plane_turn() -> SemaphorePermit<'static> {
    OWN_PLANES.acquire().await.unwrap()
}

async fn watch(client: &Client, scope: Scope, orphan_grace: SignedDuration) -> InvariantWatcher {
    let options = Options { scope, orphan_grace, ..Options::default() };
    InvariantWatcher::start(client.clone(), options).await.unwrap()
}

pub async fn create_namespace(client: &Client, name: &str) {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let namespace = Namespace { metadata, ..Namespace::default() };
    Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
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
