//! A cluster that somebody might have: pools and what they offer, nodes, and the pods on them.

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use k8s_openapi::api::core::v1::{Node, Pod};
use windlass_core::Price;
use windlass_core::model::{
    Effect, InstanceType, Labels, Offering, Pool, Requirements, Resources, Taint, well_known,
};
use windlass_testkit::objects::{NodeBuilder, PodBuilder};

use crate::pods;

/// A made-up cluster. Everything in it has names of its own, so that several share a control plane.
pub struct MadeUp {
    pub id: String,
    pub random: Rng,
    pub pools: Vec<Pool>,
    pub nodes: Vec<Node>,
    /// Those on nodes and those that wait.
    pub pods: Vec<Pod>,
}

/// The label that all nodes of the cluster have and all its pods ask for.
pub const OURS: &str = "cluster";

impl MadeUp {
    pub fn new(seed: u64, namespace: &str) -> Self {
        let id = format!("c{seed}");
        let mut cluster =
            Self { id, random: Rng::with_seed(seed), pools: Vec::new(), nodes: Vec::new(), pods: Vec::new() };
        for number in 0..cluster.random.usize(1..=3) {
            let pool = cluster.pool(number);
            cluster.pools.push(pool);
        }
        for number in 0..cluster.random.usize(0..=5) {
            cluster.existing_node(number, namespace);
        }
        for app in 0..cluster.random.usize(2..=7) {
            let waiting = pods::of_app(&mut cluster, app, namespace);
            cluster.pods.extend(waiting);
        }
        cluster
    }

    pub fn zone(&self, number: usize) -> String {
        format!("{}-z{number}", self.id)
    }

    /// A label that means nothing to anybody else, for those who do not look at the node selector.
    pub fn rack_key(&self) -> String {
        format!("{}.example.com/rack", self.id)
    }

    fn pool(&mut self, number: usize) -> Pool {
        let zones = self.random.usize(1..=3);
        let types =
            (0..self.random.usize(2..=5)).map(|kind| self.instance_type(number, kind, zones)).collect();
        let taints =
            if number == 2 { vec![Taint::new("dedicated", "batch", Effect::NoSchedule)] } else { Vec::new() };
        Pool {
            name: format!("{}-pool{number}", self.id).into(),
            provider: "none".into(),
            weight: i32::from(self.random.u8(0..=1)) * 10,
            requirements: Requirements::new(),
            labels: Labels::new()
                .with(OURS, &self.id)
                .with("tier", if number == 0 { "front" } else { "back" }),
            annotations: Labels::new(),
            taints,
            startup_taints: Vec::new(),
            termination_grace_period: None,
            min_values: BTreeMap::new(),
            performance: Vec::new(),
            limits: if self.random.u8(0..5) == 0 {
                Resources::from_iter([("cpu", 40_000)])
            } else {
                Resources::new()
            },
            max_nodes: (self.random.u8(0..5) == 0).then_some(6),
            min_nodes: 0,
            consolidate_after: None,
            unusable: None,
            instance_types: Arc::new(types),
        }
    }

    fn instance_type(&mut self, pool: usize, kind: usize, zones: usize) -> InstanceType {
        let cores = *self.random.choice(&[2_i64, 4, 8, 16]).unwrap();
        let gib = cores * *self.random.choice(&[2, 4, 8]).unwrap();
        let mut resources = Resources::from_iter([
            (Resources::CPU, cores * 1000 - 100),
            (Resources::MEMORY, gib << 30),
            (Resources::PODS, self.random.i64(8..=40)),
        ]);
        if self.random.u8(0..4) == 0 {
            resources.set("example.com/gpu", self.random.i64(1..=4));
        }
        let arch = if self.random.u8(0..4) == 0 { "arm64" } else { "amd64" };
        let labels = Labels::new()
            .with(well_known::ARCH, arch)
            .with(well_known::OS, "linux")
            .with("cores", &cores.to_string())
            .with(&self.rack_key(), &format!("r{}", self.random.u8(0..3)));
        let mut price = cores * 40_000 + gib * 5_000 + self.random.i64(0..20_000);
        let offerings = (0..zones).map(|zone| {
            price += 100;
            Offering {
                zone: self.zone(zone).into(),
                capacity_type: "on-demand".into(),
                price: Price::from_micros(price),
                available: None,
                avoid_until: None,
            }
        });
        InstanceType {
            name: format!("{}-{pool}-{kind}", self.id).into(),
            capacity: resources.clone(),
            allocatable: resources,
            labels,
            offerings: offerings.collect(),
        }
    }

    /// A node that is there already, with a few pods.
    fn existing_node(&mut self, number: usize, namespace: &str) {
        let pool = self.random.usize(0..self.pools.len());
        let types = self.pools[pool].instance_types.clone();
        let kind = &types[self.random.usize(0..types.len())];
        let offering = &kind.offerings[self.random.usize(0..kind.offerings.len())];
        let name = format!("{}-old{number}", self.id);
        let mut labels = self.pools[pool].labels.clone();
        labels.extend(&kind.labels_with(offering));
        let node = node(&name, &labels, &self.pools[pool].taints, &kind.allocatable);
        let mut left = kind.allocatable.get(Resources::CPU);
        for guest in 0..self.random.usize(0..=3) {
            let cpu = self.random.i64(100..=1500);
            left -= cpu;
            if left < 0 {
                break;
            }
            let app = format!("app{}", self.random.u8(0..4));
            let pod = PodBuilder::new(&format!("{name}-guest{guest}"))
                .namespace(namespace)
                .cpu(&format!("{cpu}m"))
                .label("app", &app)
                .spec(|spec| spec.node_name = Some(name.clone()));
            self.pods.push(pod.build());
        }
        self.nodes.push(node);
    }
}

/// A node as KWOK keeps it.
pub fn node(name: &str, labels: &Labels, taints: &[Taint], allocatable: &Resources) -> Node {
    let mut node = NodeBuilder::new(name);
    for (key, value) in labels.iter().filter(|(key, _)| &***key != well_known::HOSTNAME) {
        node = node.label(key, value);
    }
    for taint in taints {
        node = node.taint(&taint.key, &taint.value, &format!("{:?}", taint.effect));
    }
    for (resource, amount) in allocatable.iter() {
        node = node.resource(resource, &Resources::show(resource, amount));
    }
    node.build()
}
