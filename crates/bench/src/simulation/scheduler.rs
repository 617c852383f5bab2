use std::cmp::Reverse;
use std::sync::Arc;

use jiff::Timestamp;
use windlass_core::Text;
use windlass_core::model::{Node, Pod, PodId, PodState, Resources};

use super::agenda::{Agenda, Event};
use super::cluster::Cluster;
use super::ledger::Ledger;

/// Which of the nodes with room kube-scheduler chooses; the names are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scoring {
    /// The emptiest, unless it is told otherwise. Few nodes become empty by themselves.
    LeastAllocated,
    /// The fullest.
    MostAllocated,
}

impl Cluster {
    /// Binds pods that wait: those that are expected on a node first, as pods that are nominated to it are, and the others
    /// wherever there is room.
    pub(super) fn bind(&mut self, agenda: &mut Agenda, ledger: &mut Ledger, now: Timestamp) {
        for expected in [true, false] {
            for id in self.waiting.clone() {
                let Some(pod) = self.snapshot.pods.get(&id).cloned() else { continue };
                let node = if expected { self.nominated(&pod) } else { self.chosen(&pod) };
                if let Some(node) = node {
                    self.bind_to(&id, node, agenda, ledger, now);
                }
            }
        }
    }

    fn nominated(&self, pod: &Pod) -> Option<Text> {
        let node = self.snapshot.nodes.get(self.expected.get(&pod.id)?)?;
        self.takes(node, pod).then(|| node.name.clone())
    }

    fn chosen(&self, pod: &Pod) -> Option<Text> {
        let nodes = self.snapshot.nodes.values().filter(|node| self.takes(node, pod));
        let free = |node: &Node| self.free.get(&node.name).map_or(0, |free| share(free, node));
        let score = |node: &Node| match self.scoring {
            Scoring::LeastAllocated => free(node),
            Scoring::MostAllocated => -free(node),
        };
        nodes.min_by_key(|node| (Reverse(score(node)), &node.name)).map(|node| node.name.clone())
    }

    fn takes(&self, node: &Node, pod: &Pod) -> bool {
        let labels =
            || pod.shape.node_selector.iter().all(|(key, value)| node.labels.get(key) == Some(value));
        let room = || self.free.get(&node.name).is_some_and(|free| free.covers(&pod.shape.requests));
        !node.unschedulable && !node.deleting && room() && labels()
    }

    fn bind_to(&mut self, id: &PodId, node: Text, agenda: &mut Agenda, ledger: &mut Ledger, now: Timestamp) {
        let (Some(pod), Some(tenant)) =
            (Arc::make_mut(&mut self.snapshot.pods).get_mut(id), self.tenants.get_mut(id))
        else {
            return;
        };
        if let Some(free) = self.free.get_mut(&node) {
            free.subtract(&pod.shape.requests);
        }
        let pod = Arc::make_mut(pod);
        (pod.state, pod.bound_at) = (PodState::Bound(node.clone()), Some(now));
        self.waiting.retain(|waiting| waiting != id);
        Arc::make_mut(&mut self.snapshot.last_pod_change).insert(node, now);
        tenant.runs_since = Some(now);
        if let Some(work) = tenant.task.work {
            agenda.add(now + work, Event::Done(id.clone()));
        }
        ledger.waited(tenant, now);
    }
}

/// The thousandths of a node's cores and memory that are free.
fn share(free: &Resources, node: &Node) -> i64 {
    let part = |name: &str| free.get(name).saturating_mul(1_000) / node.allocatable.get(name).max(1);
    part(Resources::CPU) + part(Resources::MEMORY)
}
