//! One made-up cluster on the real control plane: planned, carried out, and planned again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, StreamExt};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use windlass_control::adapt;
use windlass_control::index::Index;
use windlass_core::model::{PodState, Settings, Snapshot};
use windlass_core::plan::{Launch, Target};
use windlass_core::{Plan, Report, plan};
use windlass_testkit::{ControlPlane, eventually, objects};

use crate::made_up::{MadeUp, OURS, node};

const PATIENCE: Duration = Duration::from_secs(60);
const GATE: &str = "example.com/not-yet";

struct Stage {
    client: Client,
    namespace: String,
    cluster: MadeUp,
}

/// Plays one cluster; the error says what the scheduler did otherwise.
pub async fn play(plane: &ControlPlane, seed: u64) -> Result<(), String> {
    let client = plane.client().unwrap();
    let namespace = objects::namespace(&client, &format!("agree-{seed}")).await.unwrap();
    let stage = Stage { cluster: MadeUp::new(seed, &namespace), client, namespace };
    stage.set_up().await;
    let (decided, report) = stage.plan(&[]).await;
    let outcome = stage.carry_out(&decided, &report).await;
    stage.tear_down().await;
    outcome
}

impl Stage {
    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }

    fn our_nodes(&self) -> ListParams {
        ListParams::default().labels(&format!("{OURS}={}", self.cluster.id))
    }

    /// Makes nodes and pods; those that wait are held back by a gate until the plan is made.
    async fn set_up(&self) {
        for node in &self.cluster.nodes {
            self.nodes().create(&PostParams::default(), node).await.unwrap();
        }
        let api = self.pods();
        let creations = self.cluster.pods.iter().cloned().map(|mut pod| {
            let api = api.clone();
            async move {
                let spec = pod.spec.as_mut().unwrap();
                if spec.node_name.is_none() {
                    spec.scheduling_gates =
                        Some(vec![serde_json::from_value(json!({"name": GATE})).unwrap()]);
                }
                api.create(&PostParams::default(), &pod).await.unwrap();
            }
        });
        stream::iter(creations).buffer_unordered(8).collect::<Vec<()>>().await;
    }

    /// What the planner makes of what the API server has. What was launched counts against the limits.
    async fn plan(&self, launched: &[Launch]) -> (Plan, Report) {
        let mut snapshot = self.snapshot().await;
        for pool in Arc::make_mut(&mut snapshot.pools).values_mut() {
            let pool = Arc::make_mut(pool);
            for launch in launched.iter().filter(|launch| launch.pool == pool.name) {
                pool.max_nodes = pool.max_nodes.map(|nodes| nodes - 1);
                let left: Vec<_> = pool
                    .limits
                    .iter()
                    .map(|(name, left)| (name.clone(), left - launch.offerings[0].capacity.get(name)))
                    .collect();
                pool.limits = left.iter().map(|(name, left)| (&**name, *left)).collect();
            }
        }
        plan(&snapshot, Timestamp::from_second(1_000_000_000).unwrap())
    }

    async fn snapshot(&self) -> Snapshot {
        let (mut index, now) = (Index::default(), Timestamp::UNIX_EPOCH);
        for (version, node) in (0..).zip(self.nodes().list(&self.our_nodes()).await.unwrap().items) {
            // KWOK is about to make it ready.
            let mut node = adapt::node(&node);
            node.readiness = windlass_core::model::Readiness::Ready;
            node.taints.retain(|taint| !taint.key.starts_with("node.kubernetes.io/"));
            let _ = index.saw_node(node, version);
        }
        for pod in self.pods().list(&ListParams::default()).await.unwrap().items {
            let mut pod = adapt::pod(&pod).unwrap();
            if pod.node().is_none() {
                pod.state = PodState::Unschedulable { since: now };
            }
            let _ = index.saw_pod(pod, now);
        }
        let mut snapshot = index.snapshot(&Settings { search_steps: 200, ..Settings::default() });
        let pools = self.cluster.pools.iter().map(|pool| (pool.name.clone(), Arc::new(pool.clone())));
        snapshot.pools = Arc::new(pools.collect());
        snapshot
    }

    /// Makes the planned nodes, nominates the pods, lets them go, and waits for the scheduler.
    async fn carry_out(&self, decided: &Plan, report: &Report) -> Result<(), String> {
        let mut targets: BTreeMap<String, String> = BTreeMap::new();
        for (number, launch) in decided.launches.iter().enumerate() {
            let name = format!("{}-new{number}", self.cluster.id);
            let offering = &launch.offerings[0];
            let pool = self.cluster.pools.iter().find(|pool| pool.name == launch.pool).unwrap();
            let kind =
                pool.instance_types.iter().find(|kind| kind.name == offering.key.instance_type).unwrap();
            let mut labels = pool.labels.clone();
            let chosen = kind.offerings.iter().find(|other| other.zone == offering.key.zone).unwrap();
            labels.extend(&kind.labels_with(chosen));
            let node = node(&name, &labels, &pool.taints, &kind.allocatable);
            self.nodes().create(&PostParams::default(), &node).await.unwrap();
        }
        self.nodes_are_ready().await;
        for placement in &decided.placements {
            let node = match &placement.target {
                Target::Node(node) => node.to_string(),
                Target::Launch(number) => format!("{}-new{number}", self.cluster.id),
                Target::Claim(claim) => panic!("there is no claim {claim}"),
            };
            targets.insert(placement.pod.name.to_string(), node);
        }
        let waiting: BTreeSet<String> =
            report.unplaced.iter().flat_map(|group| &group.pods).map(|pod| pod.name.to_string()).collect();
        for pod in self.cluster.pods.iter().filter(|pod| pod.spec.as_ref().unwrap().node_name.is_none()) {
            let name = pod.name_any();
            if targets.contains_key(&name) == waiting.contains(&name) {
                return Err(format!("pod {name} is neither placed nor explained, or both"));
            }
        }
        self.let_go(&targets).await;
        let unbound = self.wait_for_scheduler(&targets).await;
        if !unbound.is_empty() {
            let pods = self.pods().list(&ListParams::default()).await.unwrap().items;
            let strayed: Vec<String> = pods
                .iter()
                .filter_map(|pod| {
                    let (planned, found) =
                        (targets.get(&pod.name_any())?, pod.spec.as_ref()?.node_name.as_ref()?);
                    (planned != found)
                        .then(|| format!("{} went to {found} and not {planned}", pod.name_any()))
                })
                .collect();
            return Err(format!("the scheduler did not bind {}; {strayed:?}", unbound.join("; ")));
        }
        let (again, _) = self.plan(&decided.launches).await;
        let names: Vec<_> = again.launches.iter().map(|launch| &launch.message).collect();
        if names.is_empty() { Ok(()) } else { Err(format!("a second plan launches {names:?}")) }
    }

    async fn nodes_are_ready(&self) {
        eventually("all nodes to be ready and open", PATIENCE, async || {
            let nodes = self.nodes().list(&self.our_nodes()).await.map_err(|error| error.to_string())?.items;
            let closed = nodes.iter().map(adapt::node).find(|node| {
                !node.is_ready()
                    || node.taints.iter().any(|taint| taint.key.starts_with("node.kubernetes.io/"))
            });
            closed.map_or(Ok(()), |node| Err(format!("{} is not ready", node.name)))
        })
        .await;
    }

    /// Nominates the pods to their nodes and, once all of them are, takes their gates away, one after another: the
    /// scheduler takes pods as they came.
    async fn let_go(&self, targets: &BTreeMap<String, String>) {
        let api = self.pods();
        let nominated = targets.clone().into_iter().map(|(pod, node)| {
            let api = api.clone();
            async move {
                let status = json!({"status": {"nominatedNodeName": node}});
                api.patch_status(&pod, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
            }
        });
        stream::iter(nominated).buffer_unordered(8).collect::<Vec<()>>().await;
        let freed = targets.clone().into_keys().map(|pod| {
            let api = api.clone();
            async move {
                let open = json!({"spec": {"schedulingGates": []}});
                api.patch(&pod, &PatchParams::default(), &Patch::Merge(open)).await.unwrap();
            }
        });
        stream::iter(freed).buffered(1).collect::<Vec<()>>().await;
    }

    /// The pods that the scheduler had placed nowhere in the end, with what it said.
    async fn wait_for_scheduler(&self, targets: &BTreeMap<String, String>) -> Vec<String> {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(25);
        loop {
            let pods = self.pods().list(&ListParams::default()).await.unwrap().items;
            let unbound: Vec<String> = pods
                .iter()
                .filter(|pod| {
                    targets.contains_key(&pod.name_any()) && pod.spec.as_ref().unwrap().node_name.is_none()
                })
                .map(|pod| {
                    let conditions = pod.status.as_ref().and_then(|status| status.conditions.clone());
                    let said = conditions.into_iter().flatten().find(|each| each.type_ == "PodScheduled");
                    let said = said.and_then(|condition| condition.message).unwrap_or_default();
                    format!("{} planned on {}: {said}", pod.name_any(), targets[&pod.name_any()])
                })
                .collect();
            if unbound.is_empty() || tokio::time::Instant::now() > deadline {
                return unbound;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn tear_down(&self) {
        let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        let _ = self.pods().delete_collection(&at_once, &ListParams::default()).await;
        let _ = self.nodes().delete_collection(&DeleteParams::default(), &self.our_nodes()).await;
    }
}
