//! `windlass run` as a process against a real control plane, with an invariant watcher that judges it at every event.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Pod};
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, SemaphorePermit};
use windlass_api::{NodeClaim, NodePool, NodeProvider, conditions, labels};
use windlass_testkit::invariants::{InvariantWatcher, Options, Scope};
use windlass_testkit::objects::{PodBuilder, namespace};
use windlass_testkit::{ControlPlane, eventually, install_crds};

use crate::windlass::Windlass;

/// How long a test waits for something that should happen.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// A control plane takes 700 MB, and two of them keep two cores busy.
static OWN_PLANES: Semaphore = Semaphore::const_new(2);

/// The flags that make a process fast enough for a test.
const QUICK: [(&str, &str); 11] = [
    ("--lease-duration", "2s"),
    ("--renew-deadline", "1500ms"),
    ("--lease-retry", "150ms"),
    ("--batch-idle", "200ms"),
    ("--batch-max", "1s"),
    ("--absence-interval", "200ms"),
    ("--sweep-interval", "1s"),
    ("--catalogue-interval", "2s"),
    ("--poll-interval", "200ms"),
    ("--orphan-grace", "3s"),
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
    scope: Option<String>,
    watcher: InvariantWatcher,
    processes: Cell<u32>,
    _turn: Option<SemaphorePermit<'static>>,
}

impl Stage {
    /// A part of a plane that other tests use too.
    pub async fn on(plane: Arc<ControlPlane>, name: &str) -> Self {
        let client = plane.client().unwrap();
        install_crds(&client).await.unwrap();
        let namespace = namespace(&client, name).await.unwrap();
        let scope = Scope { cluster_id: Some(format!("stage.{name}")), pool_prefix: name.to_owned() };
        let watcher = watch(&client, scope).await;
        let (name, scope) = (name.to_owned(), Some(name.to_owned()));
        Self { plane, client, name, namespace, scope, watcher, processes: Cell::new(0), _turn: None }
    }

    /// A plane of the test's own, on which the process has the scope, namespace and cluster id that it has by default.
    pub async fn alone(name: &str) -> Self {
        let turn = OWN_PLANES.acquire().await.unwrap();
        let plane = Arc::new(ControlPlane::start().await.unwrap());
        let client = plane.client().unwrap();
        install_crds(&client).await.unwrap();
        let namespace = "windlass-system".to_owned();
        create_namespace(&client, &namespace).await;
        let watcher = watch(&client, Scope::default()).await;
        Self {
            plane,
            client,
            name: name.to_owned(),
            namespace,
            scope: None,
            watcher,
            processes: Cell::new(0),
            _turn: Some(turn),
        }
    }

    /// Starts a process with an identity of its own.
    pub fn start(&self) -> Windlass {
        self.start_with(&[])
    }

    /// Starts a process with flags that replace or add to those it usually has.
    pub fn start_with(&self, more: &[(&str, &str)]) -> Windlass {
        self.processes.set(self.processes.get() + 1);
        let identity = format!("{}-{}", self.name, self.processes.get());
        let kubeconfig = self.plane.kubeconfig_path().display().to_string();
        let mut flags = vec![
            ("--listen", "127.0.0.1:0"),
            ("--kubeconfig", &kubeconfig),
            ("--namespace", &self.namespace),
            ("--identity", &identity),
        ];
        let cluster_id = format!("stage.{}", self.name);
        if let Some(scope) = &self.scope {
            flags.extend([("--scope", scope.as_str()), ("--cluster-id", "stage")]);
            assert_eq!(cluster_id, format!("stage.{scope}"));
        }
        let replaced = |flag: &&(&str, &str)| !more.iter().any(|other| other.0 == flag.0);
        let flags: Vec<_> = flags.iter().chain(&QUICK).filter(replaced).chain(more).copied().collect();
        Windlass::start(&self.plane, &identity, &flags)
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

    /// The test's pool, with these other fields.
    pub async fn pool(&self, more: &Value) -> NodePool {
        let mut spec = json!({
            "providerRef": {"name": self.named("sim")},
            "template": {"metadata": {"labels": {"stage": self.name}}},
            "disruption": {"consolidateAfter": "1s"},
        });
        merge(&mut spec, more);
        self.apply("NodePool", "pool", &spec).await
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

    /// The names of the pods that run.
    pub async fn running(&self) -> kube::Result<Vec<String>> {
        let pods = self.pod_api().list(&ListParams::default()).await?.items;
        let runs =
            |pod: &&Pod| pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running");
        Ok(pods.iter().filter(runs).map(ResourceExt::name_any).collect())
    }

    pub async fn claims(&self) -> kube::Result<Vec<NodeClaim>> {
        let all = Api::<NodeClaim>::all(self.client.clone()).list(&ListParams::default()).await?.items;
        Ok(all.into_iter().filter(|claim| self.is_pool(&claim.spec.pool_ref.name)).collect())
    }

    pub async fn nodes(&self) -> kube::Result<Vec<Node>> {
        let labelled = ListParams::default().labels("windlass.dev/simulated-machine");
        let all = Api::<Node>::all(self.client.clone()).list(&labelled).await?.items;
        let ours =
            |node: &Node| node.labels().get("windlass.dev/simulated-machine") == Some(&self.named("sim"));
        Ok(all.into_iter().filter(ours).collect())
    }

    /// The records of this test's machines.
    pub async fn machines(&self) -> kube::Result<Vec<ConfigMap>> {
        let selector = format!("windlass.dev/simulated-machine={}", self.named("sim"));
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
        Ok(api.list(&ListParams::default().labels(&selector)).await?.items)
    }

    fn is_pool(&self, name: &str) -> bool {
        self.scope.is_none() || name.starts_with(&format!("{}-", self.name))
    }

    pub async fn lease(&self) -> kube::Result<Option<Lease>> {
        let scope = self.scope.as_ref().map(|scope| format!("-{scope}")).unwrap_or_default();
        Api::namespaced(self.client.clone(), &self.namespace).get_opt(&format!("windlass{scope}")).await
    }

    /// Waits until a process holds the lease.
    pub async fn led_by(&self, process: &mut Windlass) -> Lease {
        let what = format!("{} holds the lease", process.identity);
        eventually(&what, PATIENCE, async || {
            process.must_run();
            let lease = self.lease().await.map_err(|error| error.to_string())?.ok_or("no lease")?;
            let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.clone());
            if holder.as_ref() == Some(&process.identity) { Ok(lease) } else { Err(format!("{holder:?}")) }
        })
        .await
    }

    /// Waits until so many pods run, on exactly as many ready claims, each with one machine.
    pub async fn grown(&self, count: usize) {
        eventually(&format!("{count} pods run on {count} machines"), PATIENCE, async || {
            let (running, claims) = (self.running().await?.len(), self.claims().await?);
            let ready = |claim: &&NodeClaim| {
                let status = claim.status.as_ref();
                status.is_some_and(|status| conditions::is_true(&status.conditions, conditions::READY))
            };
            let ready = claims.iter().filter(ready).count();
            let mut tagged: Vec<String> =
                self.machines().await?.iter().filter_map(|machine| machine.labels().get(labels::CLAIM_UID).cloned()).collect();
            let mut uids: Vec<String> = claims.iter().filter_map(ResourceExt::uid).collect();
            (tagged.sort(), uids.sort());
            let seen = (running, claims.len(), ready, tagged.len());
            let done = seen == (count, count, count, count) && tagged == uids;
            if done { Ok(()) } else { Err(Instead(format!("(running, claims, ready, machines) = {seen:?}"))) }
        })
        .await;
    }

    /// Waits until nothing of the test's is left: no claim, no machine, no node.
    pub async fn gone(&self) {
        eventually("no claim, machine or node is left", PATIENCE, async || {
            let counts = (self.claims().await?.len(), self.machines().await?.len(), self.nodes().await?.len());
            let done = counts == (0, 0, 0);
            if done { Ok(()) } else { Err(Instead(format!("(claims, machines, nodes) = {counts:?}"))) }
        })
        .await;
    }

    pub fn watcher(&self) -> &InvariantWatcher {
        &self.watcher
    }

    /// Ends the test: no invariant was broken.
    pub async fn finish(self) {
        self.watcher.finish().await.unwrap();
    }
}

async fn watch(client: &Client, scope: Scope) -> InvariantWatcher {
    let options = Options { scope, orphan_grace: SignedDuration::from_secs(30), ..Options::default() };
    InvariantWatcher::start(client.clone(), options).await.unwrap()
}

pub async fn create_namespace(client: &Client, name: &str) {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let namespace = Namespace { metadata, ..Namespace::default() };
    Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
}

/// What is there instead of what is awaited, which may be that the API server does not answer.
pub struct Instead(pub String);

impl std::fmt::Display for Instead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<kube::Error> for Instead {
    fn from(error: kube::Error) -> Self {
        Self(error.to_string())
    }
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
