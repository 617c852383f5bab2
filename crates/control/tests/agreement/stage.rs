//! One made-up cluster on the real control plane: planned, carried out, and planned again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::time::Duration;

use futures::future::{Either, select};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Patch, PatchParams};
use kube::runtime::watcher;
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::json;
use windlass_control::adapt;
use windlass_core::model::PodId;
use windlass_core::plan::Target;
use windlass_core::{Plan, Report};

use crate::machines::{self, Machine};
use crate::made_up::{MadeUp, OURS, csi_node, wants};
use crate::provisioner::make_volumes;
use crate::turns::{Order, Turns};
use crate::watch::Watch;

/// How long the control plane has for what it does by itself.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A cluster and where it is played.
pub struct Stage {
    pub client: Client,
    pub order: Order,
    pub cluster: MadeUp,
}

/// Plays one cluster, whose pods go in this order; the error says what the scheduler did otherwise.
pub async fn play(client: &Client, seed: u64, order: Order) -> Result<(), String> {
    let prefix = match order {
        Order::ByName => "c",
        Order::OneToEach => "d",
    };
    let stage = Stage { client: client.clone(), order, cluster: MadeUp::new(seed, prefix) };
    stage.set_up().await;
    let provisioner = make_volumes(&stage.client, &stage.cluster.id);
    let outcome = match select(Box::pin(stage.act()), Box::pin(provisioner)).await {
        Either::Left((outcome, _)) => outcome,
        Either::Right((never, _)) => match never {},
    };
    stage.tear_down().await;
    outcome
}

impl Stage {
    pub fn all<K: Resource<DynamicType = ()>>(&self) -> Api<K> {
        Api::all(self.client.clone())
    }

    /// The selector of all that belongs to the cluster.
    pub fn ours(&self) -> String {
        format!("{OURS}={}", self.cluster.id)
    }

    pub fn watch<K>(&self) -> Watch<K>
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
    {
        Watch::new(self.all(), watcher::Config::default().labels(&self.ours()))
    }

    /// Plans, makes the planned nodes, lets the pods go, and plans again.
    async fn act(&self) -> Result<(), String> {
        let (decided, report) = self.plan(&self.cluster.pools).await;
        let mut random = self.cluster.random.clone();
        let machines = machines::get(&self.cluster.id, &mut random, &self.cluster.pools, &decided.launches);
        self.everybody_is_accounted_for(&decided, &report)?;
        self.bring_up(&machines).await?;
        let turns =
            Turns { client: &self.client, order: self.order, pods: self.targets(&decided, &machines) };
        turns.take(self.watch()).await?;
        let (again, _) = self.plan(&machines::pools_beside(&self.cluster.pools, &decided.launches)).await;
        let launches: Vec<_> = again.launches.iter().map(|launch| &launch.message).collect();
        if again.is_empty() { Ok(()) } else { Err(format!("a second plan launches {launches:?}")) }
    }

    /// Every pod that waits is placed or it is said why not, and nobody plans for other schedulers.
    fn everybody_is_accounted_for(&self, decided: &Plan, report: &Report) -> Result<(), String> {
        let placed: BTreeSet<&PodId> = decided.placements.iter().map(|placement| &placement.pod).collect();
        let explained: BTreeSet<&PodId> = report.unplaced.iter().flat_map(|group| &group.pods).collect();
        for pod in self.cluster.pods.iter().filter(|pod| waits(pod)) {
            let id = PodId::new(&pod.namespace().unwrap(), &pod.name_any());
            let told = usize::from(placed.contains(&id)) + usize::from(explained.contains(&id));
            let expected = usize::from(pod.spec.as_ref().unwrap().scheduler_name.is_none());
            if told != expected {
                return Err(format!("of pod {id} something is said {told} times and not {expected} times"));
            }
        }
        Ok(())
    }

    /// The pods that were planned, with the names of their nodes.
    fn targets(&self, decided: &Plan, machines: &[Machine<'_>]) -> Vec<(&Pod, String)> {
        let node = |target: &Target| match target {
            Target::Node(node) => node.to_string(),
            Target::Launch(number) => machines[*number].name.clone(),
            Target::Claim(claim) => panic!("there is no claim {claim}"),
        };
        let targets = decided.placements.iter().map(|each| (&*each.pod.name, node(&each.target)));
        let mut targets: BTreeMap<&str, String> = targets.collect();
        let pods = self.cluster.pods.iter();
        pods.filter_map(|pod| Some((pod, targets.remove(&*pod.name_any())?))).collect()
    }

    /// Makes the nodes of new machines and waits until pods can be bound there, as their daemonsets' are.
    async fn bring_up(&self, machines: &[Machine<'_>]) -> Result<(), String> {
        self.make_all(machines.iter().map(Machine::starting_node)).await;
        let limited = machines.iter().filter_map(|machine| {
            let limit = self.cluster.attach_limit(machine.kind)?;
            Some(csi_node(&self.cluster.id, &machine.name, limit))
        });
        self.make_all(limited).await;
        self.nodes_are_ready().await;
        for machine in machines.iter().filter(|machine| !machine.pool.startup_taints.is_empty()) {
            let patch = Patch::Merge(json!({"spec": {"taints": machine.node().spec.unwrap().taints}}));
            let nodes: Api<Node> = self.all();
            nodes.patch(&machine.name, &PatchParams::default(), &patch).await.unwrap();
        }
        self.agents_are_on(&machines.iter().map(Machine::node).collect::<Vec<_>>()).await
    }

    pub async fn nodes_are_ready(&self) {
        let ready = |nodes: &BTreeMap<String, Node>| {
            let closed = nodes.values().map(adapt::node).find(|node| {
                let passing = |key: &str| key.starts_with("node.kubernetes.io/");
                !node.is_ready() || node.taints.iter().any(|taint| passing(&taint.key))
            });
            closed.map_or(Ok(()), |node| Err(format!("{} is not ready", node.name)))
        };
        self.watch().until(PATIENCE, ready).await.unwrap();
    }

    /// Waits until the pods of the daemonsets are on these nodes.
    pub async fn agents_are_on(&self, nodes: &[Node]) -> Result<(), String> {
        let sets = self.cluster.daemon_sets.iter();
        let expected =
            sets.flat_map(|set| nodes.iter().filter(|node| wants(set, node)).map(move |node| (set, node)));
        let expected: Vec<(String, String)> =
            expected.map(|(set, node)| (set.name_any(), node.name_any())).collect();
        if expected.is_empty() {
            return Ok(());
        }
        let there = |pods: &BTreeMap<String, Pod>| {
            let missing = expected.iter().find(|(set, node)| {
                !pods.values().any(|pod| {
                    pod.labels().get("app") == Some(set)
                        && pod.spec.as_ref().unwrap().node_name.as_ref() == Some(node)
                })
            });
            missing.map_or(Ok(()), |(set, node)| Err(format!("daemonset {set} has no pod on {node}")))
        };
        self.watch().until(PATIENCE, there).await
    }
}

/// Whether a pod has no node yet.
pub fn waits(pod: &Pod) -> bool {
    pod.spec.as_ref().unwrap().node_name.is_none()
}
