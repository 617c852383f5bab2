//! Nodes that are there already, with a few pods.

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::storage::v1::CSINode;
use kube::ResourceExt;
use serde_json::{from_value, json};
use windlass_core::model::{InstanceType, Labels, Resources, Taint, well_known};
use windlass_testkit::objects::{KWOK_NODE, NodeBuilder};

use super::app::App;
use super::{ATTACHABLE, DRIVER, MadeUp, OURS};

/// The annotation of a pod that is being deleted and stays on its node for the time being.
pub const GOING: &str = "example.com/going";

impl MadeUp {
    /// A node with a few pods.
    pub(super) fn add_node(&mut self, number: usize) {
        let pool = self.random.usize(0..self.pools.len());
        let pool = self.pools[pool].clone();
        let kind = &pool.instance_types[self.random.usize(0..pool.instance_types.len())];
        let offering = &kind.offerings[self.random.usize(0..kind.offerings.len())];
        let name = format!("{}-old{number}", self.id);
        let mut labels = pool.labels.clone();
        labels.extend(&kind.labels_with(offering));
        labels.set(well_known::POOL, pool.name.clone());
        if pool.requirements.get("lane").is_some() {
            labels.set("lane", self.one_of(&["fast", "slow"]));
        }
        self.nodes.push(node(&name, &labels, &pool.taints, &kind.allocatable));
        self.limit_volumes(&name, kind);
        self.add_guests(&name, kind);
    }

    /// Says how many volumes the node takes, if its kind is limited; what one node tells holds for all of its kind.
    fn limit_volumes(&mut self, name: &str, kind: &InstanceType) {
        if kind.allocatable.get(ATTACHABLE) == 0 && self.once_in(3) {
            let limit = self.random.i64(2..=6);
            self.attach_limits.entry(kind.name.clone()).or_insert(limit);
        }
        let limit = self.attach_limit(kind);
        self.csi_nodes.extend(limit.map(|limit| csi_node(&self.id, name, limit)));
    }

    /// How many volumes nodes of a kind take, as their provider or other nodes say.
    pub fn attach_limit(&self, kind: &InstanceType) -> Option<i64> {
        let said = Some(kind.allocatable.get(ATTACHABLE)).filter(|limit| *limit > 0);
        said.or_else(|| self.attach_limits.get(&kind.name).copied())
    }

    fn add_guests(&mut self, node: &str, kind: &InstanceType) {
        let mut left = kind.allocatable.get(Resources::CPU);
        for number in 0..self.random.usize(0..=3) {
            let cpu = self.random.i64(100..=1500);
            left -= cpu;
            if left < 0 {
                break;
            }
            let guest = self.guest(node, cpu);
            self.pods.push(guest.pod(&format!("{node}-guest{number}")));
        }
    }

    /// A pod on a node, perhaps one that keeps others away, and perhaps one that is about to go.
    fn guest(&mut self, node: &str, cpu: i64) -> App {
        let name = self.some_app();
        let mut guest = App::new(self, &name);
        guest.spec["nodeName"] = json!(node);
        guest.request("cpu", &format!("{cpu}m"));
        match self.random.u8(0..10) {
            0 => guest.alone_on_its_host(self),
            1 => guest.away_from_others(self),
            2 => guest.uses_a_port_of_its_host(self),
            3 => guest.annotations = json!({GOING: "true"}),
            _ => {}
        }
        guest
    }
}

/// A node that is ready from the start and whose pods nobody runs: only the scheduler's word counts here. How many volumes
/// can be attached to it is not said by the node itself.
pub fn node(name: &str, labels: &Labels, taints: &[Taint], allocatable: &Resources) -> Node {
    let mut node = NodeBuilder::new(name);
    for (key, value) in labels.iter().filter(|(key, _)| &***key != well_known::HOSTNAME) {
        node = node.label(key, value);
    }
    for taint in taints {
        node = node.taint(&taint.key, &taint.value, &format!("{:?}", taint.effect));
    }
    for (resource, amount) in allocatable.iter().filter(|(resource, _)| &***resource != ATTACHABLE) {
        node = node.resource(resource, &Resources::show(resource, amount));
    }
    let mut node = node.build();
    node.annotations_mut().remove(KWOK_NODE.0);
    let ready = json!([{"type": "Ready", "status": "True"}]);
    node.status.as_mut().unwrap().conditions = Some(from_value(ready).unwrap());
    node
}

/// What the driver says of a node: how many volumes it takes.
pub fn csi_node(id: &str, name: &str, limit: i64) -> CSINode {
    let driver = json!({"name": DRIVER, "nodeID": name, "topologyKeys": [], "allocatable": {"count": limit}});
    let metadata = json!({"name": name, "labels": {OURS: id}});
    from_value(json!({"metadata": metadata, "spec": {"drivers": [driver]}})).unwrap()
}
