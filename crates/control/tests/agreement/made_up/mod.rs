//! A cluster that somebody might have, made up from a seed: pools and what they offer, nodes, and the pods on them.

mod app;
mod company;
mod containers;
mod daemons;
mod nodes;
mod placement;
mod pools;
mod spreading;
mod standing;
mod storage;

use std::collections::BTreeMap;

use fastrand::Rng;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::storage::v1::CSINode;
use serde_json::{Value, json};
use windlass_core::Text;
use windlass_core::model::Pool;

pub use daemons::wants;
pub use nodes::{GOING, csi_node, node};
pub use standing::{priority, shared_classes};
pub use storage::{ATTACHABLE, DRIVER, Storage, is_everywhere, volume_for};

/// A made-up cluster. Everything in it has names of its own, so that several share a control plane.
pub struct MadeUp {
    pub id: String,
    pub random: Rng,
    /// The namespace of most pods.
    pub home: String,
    /// The namespace of the others.
    pub annex: String,
    pub pools: Vec<Pool>,
    pub nodes: Vec<Node>,
    /// How many volumes can be attached to the nodes, where it is limited.
    pub csi_nodes: Vec<CSINode>,
    /// The same by instance type, where the provider does not say and only the nodes tell.
    pub attach_limits: BTreeMap<Text, i64>,
    pub daemon_sets: Vec<DaemonSet>,
    pub storage: Storage,
    /// Those on nodes and those that wait.
    pub pods: Vec<Pod>,
}

/// The label that everything of a cluster has and that all its pods ask for in nodes.
pub const OURS: &str = "cluster";

impl MadeUp {
    pub fn new(seed: u64, prefix: &str) -> Self {
        let id = format!("{prefix}{seed}");
        let mut cluster = Self {
            home: format!("{id}-home"),
            annex: format!("{id}-annex"),
            id,
            random: Rng::with_seed(seed),
            pools: Vec::new(),
            nodes: Vec::new(),
            csi_nodes: Vec::new(),
            attach_limits: BTreeMap::new(),
            daemon_sets: Vec::new(),
            storage: Storage::default(),
            pods: Vec::new(),
        };
        for number in 0..cluster.random.usize(1..=3) {
            cluster.add_pool(number);
        }
        for number in 0..cluster.random.usize(0..=5) {
            cluster.add_node(number);
        }
        cluster.add_daemon_sets();
        for number in 0..cluster.random.usize(2..=7) {
            cluster.add_app(number);
        }
        cluster
    }

    /// Whether something happens that does so once in so many times.
    pub fn once_in(&mut self, times: u8) -> bool {
        self.random.u8(0..times) == 0
    }

    /// One of these.
    pub fn one_of<T: Clone>(&mut self, these: &[T]) -> T {
        self.random.choice(these).unwrap().clone()
    }

    pub fn zone(&self, number: usize) -> String {
        format!("{}-z{number}", self.id)
    }

    /// One of the zones, also of those in which nothing is on offer.
    pub fn some_zone(&mut self) -> String {
        let number = self.random.usize(0..3);
        self.zone(number)
    }

    /// The name of an app that may exist.
    pub fn some_app(&mut self) -> String {
        format!("app{}", self.random.u8(0..5))
    }

    /// A label that means nothing to anybody else, for those who do not look at the node selector.
    pub fn rack_key(&self) -> String {
        format!("{}.example.com/rack", self.id)
    }

    /// The labels of a namespace, by which terms find it.
    pub fn namespaces(&self) -> [(&str, Value); 2] {
        let labels = |part: &str| json!({OURS: self.id, "part": part});
        [(&self.home, labels("home")), (&self.annex, labels("annex"))]
    }
}
