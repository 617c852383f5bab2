use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use windlass_core::Text;
use windlass_core::model::{DaemonSet, Pod, PodId, PodShape};

use super::{Changed, Index};

impl Index {
    /// Takes in a pod that has not ended.
    pub fn saw_pod(&mut self, mut pod: Pod, now: Timestamp) -> Changed {
        pod.shape = self.shared_shape(pod.shape);
        if self.pods.get(&pod.id).is_some_and(|known| **known == pod) {
            return Changed::nothing();
        }
        let before = self.pods.get(&pod.id).and_then(|known| known.node().cloned());
        let after = pod.node().cloned();
        if before != after && !pod.shape.belongs_to_node() {
            self.pod_came_or_left(before.as_ref(), now);
            self.pod_came_or_left(after.as_ref(), now);
        }
        Arc::make_mut(&mut self.pods).insert(pod.id.clone(), Arc::new(pod));
        Changed { plan: true, claims: self.claims_on(before.as_ref()), providers: false }
    }

    /// Takes in that a pod is gone or has ended.
    pub fn lost_pod(&mut self, id: &PodId, now: Timestamp) -> Changed {
        let Some(pod) = Arc::make_mut(&mut self.pods).remove(id) else { return Changed::nothing() };
        let node = pod.node().cloned();
        if !pod.shape.belongs_to_node() {
            self.pod_came_or_left(node.as_ref(), now);
        }
        Changed { plan: true, claims: self.claims_on(node.as_ref()), providers: false }
    }

    /// Takes in that only these pods exist, named `namespace/name`.
    pub fn retain_pods(&mut self, seen: &BTreeSet<String>, now: Timestamp) -> Changed {
        let absent: Vec<PodId> =
            self.pods.keys().filter(|id| !seen.contains(&id.to_string())).cloned().collect();
        let mut changed = Changed::nothing();
        for id in absent {
            changed |= self.lost_pod(&id, now);
        }
        self.shapes.retain(|shape| Arc::strong_count(shape) > 1);
        changed
    }

    /// Takes in a daemonset.
    pub fn saw_daemon_set(&mut self, mut set: DaemonSet) -> Changed {
        set.shape = self.shared_shape(set.shape);
        Arc::make_mut(&mut self.daemon_sets).insert(set.id.clone(), Arc::new(set));
        Changed::plan()
    }

    /// Takes in that a daemonset is gone.
    pub fn lost_daemon_set(&mut self, id: &PodId) -> Changed {
        Arc::make_mut(&mut self.daemon_sets).remove(id);
        Changed::plan()
    }

    /// Takes in that only these daemonsets exist, named `namespace/name`.
    pub fn retain_daemon_sets(&mut self, seen: &BTreeSet<String>) -> Changed {
        Arc::make_mut(&mut self.daemon_sets).retain(|id, _| seen.contains(&id.to_string()));
        Changed::plan()
    }

    /// The pod, if it is known and has not ended.
    pub fn pod(&self, id: &PodId) -> Option<&Arc<Pod>> {
        self.pods.get(id)
    }

    /// Whether a node has pods that would have to go elsewhere if it went.
    pub fn has_keeping_pods(&self, node: &str) -> bool {
        self.pods
            .values()
            .any(|pod| pod.node().is_some_and(|on| **on == *node) && !pod.shape.belongs_to_node())
    }

    /// Identical pods share one shape.
    fn shared_shape(&mut self, shape: Arc<PodShape>) -> Arc<PodShape> {
        if let Some(known) = self.shapes.get(&shape) {
            return known.clone();
        }
        self.shapes.insert(shape.clone());
        shape
    }

    fn pod_came_or_left(&mut self, node: Option<&Text>, now: Timestamp) {
        if let Some(node) = node {
            Arc::make_mut(&mut self.last_pod_change).insert(node.clone(), now);
        }
    }

    fn claims_on(&self, node: Option<&Text>) -> BTreeSet<Text> {
        let id = node.and_then(|name| self.nodes.get(name)).and_then(|node| node.provider_id.clone());
        id.iter().flat_map(|id| self.claims.names_by_provider_id(id)).cloned().collect()
    }
}
