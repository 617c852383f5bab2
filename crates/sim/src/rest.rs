//! What the world has to be like at rest, when nothing happens any more: every claim has its machine and its node, every
//! machine its claim, and every pod runs for which there may be a machine.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tokio::time::Instant;
use windlass_api::labels;
use windlass_core::model::Resources;

use crate::api::Commit;
use crate::cluster::{NAMESPACE, PodFact, condition};
use crate::world::State;

/// The cores of the smallest machine, in thousandths.
const SMALLEST: i64 = 2_000;
/// More cores than any limit allows, of which more can be counted.
const TOO_MANY: i64 = i64::MAX / 2;

impl State {
    /// What is not as it should be at rest, if anything.
    pub(crate) fn unrest(&self) -> Option<String> {
        let now = Instant::now();
        let machines: BTreeMap<&str, &str> =
            self.cloud.running(now).map(|machine| (&*machine.provider_id, &*machine.tag.claim_uid)).collect();
        let mut claimed = BTreeSet::new();
        for claim in self.server.iter("NodeClaim") {
            let claim = claim.value();
            let name = claim["metadata"]["name"].as_str().unwrap_or_default();
            if claim["metadata"].get("deletionTimestamp").is_some() {
                if self.is_held_by_budget(claim["status"]["nodeName"].as_str().unwrap_or_default()) {
                    claimed.extend(claim["status"]["providerID"].as_str());
                    continue;
                }
                return Some(format!("claim {name} is still being deleted: {}", conditions(claim)));
            }
            let Some(id) = claim["status"]["providerID"].as_str() else {
                return Some(format!("claim {name} has no machine: {}", conditions(claim)));
            };
            if !claimed.insert(id) {
                return Some(format!("two claims have the machine {id}"));
            }
            if self.is_disowned(id) {
                continue;
            }
            if !machines.contains_key(id) {
                return Some(format!(
                    "claim {name} has the machine {id}, which is no more: {}",
                    conditions(claim)
                ));
            }
            if !condition(claim, "Ready").is_some_and(|ready| ready["status"] == "True") {
                return Some(format!("claim {name} is not ready: {}", conditions(claim)));
            }
        }
        if let Some(id) = machines.keys().find(|id| !claimed.contains(*id)) {
            return Some(format!("machine {id} has no claim"));
        }
        let lost = self.cluster.nodes().find(|node| {
            let id = node.provider_id.as_deref().unwrap_or_default();
            node.ours && !claimed.contains(id) && !self.is_disowned(id)
        });
        if let Some(node) = lost {
            return Some(format!("node {} has no claim", node.name));
        }
        self.short_pool().or_else(|| self.needless_wait())
    }

    /// Whether a pod on this node may not be evicted, which keeps the node for as long as it takes.
    fn is_held_by_budget(&self, node: &str) -> bool {
        let on_node = self.cluster.pods().filter(|pod| pod.node.as_deref() == Some(node));
        let allows_nothing = |app: &str| {
            let budget = self.server.get("PodDisruptionBudget", Some(NAMESPACE), app);
            budget.is_some_and(|budget| budget.value()["status"]["disruptionsAllowed"] == 0)
        };
        on_node.map(|pod| pod.app.as_str()).any(allows_nothing)
    }

    /// Whether somebody has taken the tag off this machine.
    fn is_disowned(&self, id: &str) -> bool {
        let now = Instant::now();
        self.cloud.unit(id).is_some_and(|unit| !unit.is_gone(now) && !unit.is_ours())
    }

    /// A pool that has fewer nodes than it keeps, although it could have more.
    fn short_pool(&self) -> Option<String> {
        for pool in self.server.iter("NodePool") {
            let pool = pool.value();
            let name = pool["metadata"]["name"].as_str().unwrap_or_default();
            let least = pool["spec"]["minNodes"].as_i64().unwrap_or(0);
            let (nodes, _) = self.used(name);
            if nodes < least && self.may_grow(pool, SMALLEST) {
                return Some(format!("pool {name} has {nodes} nodes and is to keep {least}"));
            }
        }
        None
    }

    /// A pod that waits although there may be a machine for it.
    fn needless_wait(&self) -> Option<String> {
        let waiting = self
            .cluster
            .pods()
            .find(|pod| (pod.node.is_none() || !pod.ready) && !pod.deleting && self.may_have_machine(pod))?;
        Some(match &waiting.node {
            Some(node) => format!("pod {} does not run on {node}", waiting.name),
            None => format!("pod {} still waits for a node", waiting.name),
        })
    }

    fn may_have_machine(&self, pod: &PodFact) -> bool {
        if pod.node.is_some() {
            return true;
        }
        self.server.iter("NodePool").any(|pool| {
            let pool = pool.value();
            let suits = pod.pool.as_deref().is_none_or(|asked| pool["metadata"]["name"] == asked);
            suits && self.may_grow(pool, self.machine_for(pod))
        })
    }

    /// The cores of the smallest machine that holds a pod.
    fn machine_for(&self, pod: &PodFact) -> i64 {
        let types = self.cloud.instance_types(Instant::now());
        let holding = types.iter().filter(|found| {
            found.allocatable.get(Resources::CPU) >= pod.cpu
                && found.allocatable.get(Resources::MEMORY) >= pod.memory << 20
        });
        holding.map(|found| found.capacity.get(Resources::CPU)).min().unwrap_or(TOO_MANY)
    }

    /// Whether a pool's limits allow one more machine of this size.
    fn may_grow(&self, pool: &Value, cpu: i64) -> bool {
        let (nodes, used) = self.used(pool["metadata"]["name"].as_str().unwrap_or_default());
        let limit =
            |name: &str| pool["spec"]["limits"][name].as_str().and_then(|text| text.parse::<i64>().ok());
        limit("nodes").is_none_or(|most| nodes < most)
            && limit("cpu").is_none_or(|most| used + cpu <= most * 1000)
    }

    /// Whether with this claim its pool has all that its limits allow.
    pub(crate) fn fills_pool(&self, made: &Commit) -> bool {
        let name = made.object.value()["metadata"]["labels"][labels::POOL].as_str().unwrap_or_default();
        let pool = self.server.get("NodePool", None, name);
        pool.is_some_and(|pool| !self.may_grow(pool.value(), SMALLEST))
    }

    /// How many claims a pool has, and for how many millicores.
    fn used(&self, pool: &str) -> (i64, i64) {
        let of_pool = self
            .server
            .iter("NodeClaim")
            .filter(|claim| claim.value()["metadata"]["labels"][labels::POOL] == pool);
        let mut used = (0, 0);
        for claim in of_pool {
            let id = claim.value()["status"]["providerID"].as_str().unwrap_or_default();
            let unit = self.cloud.unit(id);
            used.0 += 1;
            used.1 += unit.map_or(0, |unit| unit.machine.capacity.get(Resources::CPU));
        }
        used
    }
}

/// The conditions of a claim in a few words.
fn conditions(claim: &Value) -> String {
    let conditions = claim["status"]["conditions"].as_array().into_iter().flatten();
    let text = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    let shown = conditions.map(|one| {
        format!(
            "{}={} {} {}",
            text(one, "type"),
            text(one, "status"),
            text(one, "reason"),
            text(one, "message")
        )
    });
    shown.collect::<Vec<_>>().join("; ")
}
