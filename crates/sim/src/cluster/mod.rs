//! The rest of the cluster: kubelets, the scheduler, and those of Kubernetes' controllers that matter here. They see
//! things as they are and do their work after a moment, each in its turn.

mod budgets;
mod facts;
mod kubelets;
mod pods;
mod scheduler;
mod workload;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, sleep, sleep_until};

pub(crate) use facts::{NodeFact, PodFact, condition};
pub(crate) use workload::App;

use crate::api::{Commit, Server};
use crate::cloud::Cloud;
use crate::history::Setting;
use crate::world::World;

/// The namespace of all apps.
pub(crate) const NAMESPACE: &str = "default";

/// What the cluster's controllers know.
#[derive(Debug)]
pub(crate) struct Cluster {
    cloud_controller: bool,
    fills_nodes: bool,
    apps: BTreeMap<u32, App>,
    pods: BTreeMap<String, PodFact>,
    nodes: BTreeMap<String, NodeFact>,
    /// Since when things are missing.
    missing: BTreeMap<Missing, Instant>,
    /// How often the scheduler has tried pods in vain, and when it last did.
    tried: BTreeMap<String, (u32, Instant)>,
    pods_made: u32,
}

/// Something that is not there, by the name of its node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Missing {
    /// The node, while pods are on it.
    Node(String),
    Machine(String),
    Kubelet(String),
}

/// Whatever one turn works on.
struct Turn<'a> {
    server: &'a mut Server,
    cloud: &'a mut Cloud,
    now: Instant,
    today: Timestamp,
    wake: Option<Instant>,
}

impl Turn<'_> {
    /// Asks for another turn at this time at the latest.
    fn again_at(&mut self, then: Instant) {
        self.wake = Some(self.wake.map_or(then, |wake| wake.min(then)));
    }

    /// Whether this time has come; if not, there is another turn when it has.
    fn has_come(&mut self, then: Instant) -> bool {
        if then > self.now {
            self.again_at(then);
        }
        then <= self.now
    }
}

impl Cluster {
    pub(crate) fn new(setting: &Setting) -> Self {
        Self {
            cloud_controller: setting.cloud_controller,
            fills_nodes: setting.fills_nodes,
            apps: BTreeMap::new(),
            pods: BTreeMap::new(),
            nodes: BTreeMap::new(),
            missing: BTreeMap::new(),
            tried: BTreeMap::new(),
            pods_made: 0,
        }
    }

    /// When it was first seen that something is missing.
    fn missing_since(&mut self, what: Missing, turn: &Turn<'_>) -> Instant {
        *self.missing.entry(what).or_insert(turn.now)
    }

    /// Takes note of a change on the API.
    pub(crate) fn see(&mut self, commit: &Commit) {
        let name = commit.object.value()["metadata"]["name"].as_str().unwrap_or_default();
        let gone = commit.change == windlass_testkit::invariants::Change::Deleted;
        match commit.kind.kind {
            "Pod" if gone => drop(self.pods.remove(name)),
            "Node" if gone => drop(self.nodes.remove(name)),
            "Pod" => {
                let fact = PodFact::read(commit, self.pods.get(name));
                self.pods.insert(name.to_owned(), fact);
            }
            "Node" => {
                let fact = NodeFact::read(commit.object.value(), self.nodes.get(name));
                self.nodes.insert(name.to_owned(), fact);
            }
            _ => {}
        }
    }

    pub(crate) fn pods(&self) -> impl Iterator<Item = &PodFact> {
        self.pods.values()
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = &NodeFact> {
        self.nodes.values()
    }
}

/// Plays the cluster, for ever.
pub(crate) async fn play(world: Arc<World>) {
    loop {
        let wake = world.with(|state| {
            let (now, today) = (Instant::now(), world.time.now());
            let wake = state.cloud.turn(now);
            let mut turn = Turn { server: &mut state.server, cloud: &mut state.cloud, now, today, wake };
            let cluster = &mut state.cluster;
            cluster.run_kubelets(&mut turn);
            cluster.run_apps(&mut turn);
            cluster.run_pods(&mut turn);
            cluster.collect_garbage(&mut turn);
            cluster.schedule(&mut turn);
            cluster.keep_budgets(&mut turn);
            turn.wake
        });
        match wake {
            Some(wake) => tokio::select! {
                biased;
                () = world.stirred.notified() => {}
                () = sleep_until(wake) => {}
            },
            None => world.stirred.notified().await,
        }
        let pause = world.with(|state| Duration::from_millis(state.rng.u64(20..400)));
        sleep(pause).await;
    }
}
