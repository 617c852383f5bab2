//! The scheduler, as far as the apps here need it: room, taints, cordons, the pool that a pod asks for, nominations.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use super::{Cluster, NAMESPACE, NodeFact, PodFact, Turn};
use windlass_core::model::Resources;

/// What a node has left.
#[derive(Clone, Copy, Debug)]
struct Room {
    cpu: i64,
    memory: i64,
    pods: i64,
}

const MIB: i64 = 1 << 20;

impl Room {
    fn holds(self, pod: &PodFact) -> bool {
        self.cpu >= pod.cpu && self.memory >= pod.memory && self.pods >= 1
    }

    fn take(&mut self, pod: &PodFact) {
        self.cpu -= pod.cpu;
        self.memory -= pod.memory;
        self.pods -= 1;
    }
}

/// How long a pod is left alone after it was tried in vain once, and at most.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));

impl Cluster {
    pub(super) fn schedule(&mut self, turn: &mut Turn<'_>) {
        let mut rooms = self.rooms(turn);
        self.tried.retain(|name, _| self.pods.get(name).is_some_and(|pod| pod.node.is_none()));
        let mut waiting: Vec<&PodFact> =
            self.pods.values().filter(|pod| pod.node.is_none() && !pod.deleting).collect();
        waiting.sort_by(|a, b| (a.since, &a.name).cmp(&(b.since, &b.name)));
        let mut binds = Vec::new();
        // What is nominated keeps its room from others.
        for pod in &waiting {
            let there = pod.nominated.as_ref().and_then(|node| self.nodes.get(node));
            if let Some(node) = there.filter(|node| node.open && suits(pod, node))
                && let Some(room) = rooms.get_mut(&node.name).filter(|room| room.holds(pod))
            {
                room.take(pod);
                if self.is_tried(pod, turn) {
                    binds.push(((*pod).clone(), Some(node.name.clone())));
                }
            }
        }
        for pod in waiting {
            if binds.iter().any(|(bound, _)| bound.name == pod.name) || !self.is_tried(pod, turn) {
                continue;
            }
            let open = self.nodes.values().filter(|node| node.open && suits(pod, node));
            let fitting = open.filter(|node| rooms.get(&node.name).is_some_and(|room| room.holds(pod)));
            let score = |node: &&NodeFact| rooms.get(&node.name).map_or(0, |room| room.cpu);
            let best = if self.fills_nodes { fitting.min_by_key(score) } else { fitting.max_by_key(score) };
            let best = best.map(|node| node.name.clone());
            if let Some(room) = best.as_ref().and_then(|node| rooms.get_mut(node)) {
                room.take(pod);
            }
            binds.push((pod.clone(), best));
        }
        for (pod, node) in binds {
            match node {
                Some(node) => bind(turn, &pod, &node),
                None => {
                    let tried = self.tried.entry(pod.name.clone()).or_insert((0, turn.now));
                    *tried = (tried.0 + 1, turn.now);
                    give_up(turn, &pod);
                }
            }
        }
    }

    /// Whether it is a pod's turn again.
    fn is_tried(&self, pod: &PodFact, turn: &mut Turn<'_>) -> bool {
        let Some((times, last)) = self.tried.get(&pod.name) else { return true };
        let (first, most) = BACKOFF;
        turn.has_come(*last + first.saturating_mul(2_u32.saturating_pow(times - 1)).min(most))
    }

    /// What is left on each node.
    fn rooms(&self, turn: &Turn<'_>) -> BTreeMap<String, Room> {
        let mut rooms = BTreeMap::new();
        for node in self.nodes.values() {
            let unit = node.provider_id.as_deref().and_then(|id| turn.cloud.unit(id));
            let Some(unit) = unit else { continue };
            let has = |name: &str| unit.machine.allocatable.get(name);
            let (cpu, pods) = (has(Resources::CPU), has(Resources::PODS));
            rooms.insert(node.name.clone(), Room { cpu, memory: has(Resources::MEMORY) / MIB, pods });
        }
        for pod in self.pods.values() {
            if let Some(room) = pod.node.as_ref().and_then(|node| rooms.get_mut(node)) {
                room.take(pod);
            }
        }
        rooms
    }
}

fn suits(pod: &PodFact, node: &NodeFact) -> bool {
    pod.pool.is_none() || pod.pool == node.pool
}

fn bind(turn: &mut Turn<'_>, pod: &PodFact, node: &str) {
    let _ = turn.server.bind(NAMESPACE, &pod.name, node, turn.today);
}

/// Says that there is no node for a pod. What it was nominated to is forgotten, as the scheduler does.
fn give_up(turn: &mut Turn<'_>, pod: &PodFact) {
    if pod.unschedulable && pod.nominated.is_none() {
        return;
    }
    let now = turn.today.to_string();
    let _ = turn.server.edit_status("Pod", Some(NAMESPACE), &pod.name, turn.today, |value| {
        if !pod.unschedulable {
            value["status"]["conditions"] = json!([{
                "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": now,
            }]);
        }
        if let Some(status) = value["status"].as_object_mut() {
            status.remove("nominatedNodeName");
        }
    });
}
