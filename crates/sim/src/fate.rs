//! Fate: makes what a history says happen.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use windlass_api::labels;
use windlass_testkit::invariants::Kind;

use crate::cloud::pick;
use crate::cluster::{App, NAMESPACE, NodeFact};
use crate::history::{Event, Pool, What};
use crate::trouble::REPLICAS;
use crate::world::{State, World};

/// The number of a replica, whatever number is given.
fn replica(number: u32) -> usize {
    usize::try_from(number).unwrap_or_default() % REPLICAS
}

fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(seconds.into())
}

/// Lets an event happen, now.
pub(crate) fn happen(world: &Arc<World>, event: &Event) {
    match event.what {
        What::Jump { replica: number, seconds } => world.clocks[replica(number)].jump(seconds.into()),
        What::Restart { replica: number } => world.restarts[replica(number)].notify_one(),
        _ => {}
    }
    world.with(|state| {
        state.trace.note(|| format!("happens: {:?}", event.what));
        state.court.count(&format!("happened: {}", name(&event.what)));
        state.suffer(&event.what, world);
    });
    world.stirred.notify_one();
}

/// The name of what happened, without its particulars.
fn name(what: &What) -> String {
    let shown = format!("{what:?}");
    shown.split([' ', '(']).next().unwrap_or_default().to_owned()
}

impl State {
    fn suffer(&mut self, what: &What, world: &World) {
        let (now, today) = (Instant::now(), world.time.now());
        match *what {
            What::Deploy { app, replicas, cpu, memory, pool, budget } => {
                self.cluster.deploy(app, App { replicas, cpu, memory, pool, budget });
            }
            What::Scale { app, replicas } => self.cluster.scale(app, replicas),
            What::Remove { app } => self.cluster.remove(app),
            What::DeletePod(number) => {
                let pods: Vec<String> = self.cluster.pods().map(|pod| pod.name.clone()).collect();
                if let Some(pod) = pick(&pods, number) {
                    let _ = self.server.delete("Pod", Some(NAMESPACE), pod, None, today);
                }
            }
            What::DeleteNode(number) => {
                if let Some(node) = self.our_node(number) {
                    let _ = self.server.delete("Node", None, &node.name, None, today);
                }
            }
            What::DeleteClaim(number) => {
                if let Some(claim) = self.claim(number) {
                    let _ = self.server.delete("NodeClaim", None, &claim, None, today);
                }
            }
            What::AskToReplace(number) => {
                if let Some(claim) = self.claim(number) {
                    let _ = self.server.edit("NodeClaim", None, &claim, today, |value| {
                        value["metadata"]["annotations"][labels::REPLACE] = json!("true");
                    });
                }
            }
            What::Limit { pool, nodes } => self.edit_pool(pool, world, |spec| match nodes {
                Some(nodes) => spec["limits"]["nodes"] = json!(nodes.to_string()),
                None => drop(spec["limits"].as_object_mut().and_then(|limits| limits.remove("nodes"))),
            }),
            What::Keep { pool, nodes } => self.edit_pool(pool, world, |spec| spec["minNodes"] = json!(nodes)),
            What::Relabel { pool } => {
                let generation = now.elapsed().as_millis() + u128::from(self.server.version());
                self.edit_pool(pool, world, |spec| {
                    spec["template"]["metadata"]["labels"]["sim/made"] = json!(generation.to_string());
                });
            }
            What::Pause { pool, paused } => {
                self.edit_pool(pool, world, |spec| spec["paused"] = json!(paused));
            }
            What::Crash { replica: number, effect, side, down } => {
                self.trouble.replicas[replica(number)].set_trap(effect, side, seconds(down));
            }
            What::Fail { replica: number, how, requests } => {
                self.trouble.replicas[replica(number)].fail(how, requests);
            }
            What::Outage { replica: number, seconds: lasts } => {
                let until = Some(now + seconds(lasts));
                match number {
                    Some(number) => self.trouble.replicas[replica(number)].outage = until,
                    None => self.trouble.outage = until,
                }
                self.wake_watches();
            }
            What::Lag { replica: number, kind, seconds: lasts } => {
                self.trouble.replicas[replica(number)].lag(kind, now + seconds(lasts));
            }
            What::Cut { replica: number, kind } => {
                self.trouble.replicas[replica(number)].cut(kind);
                self.wake_watches();
            }
            What::Compact => {
                let version = self.server.version();
                self.server.compact(version);
            }
            What::Provider { call, how, calls } => self.trouble.strike_calls(call, how, calls),
            What::ListLag { seconds: lasts } => self.cloud.lists_lag(now + seconds(lasts), now),
            What::SoldOut { offering, seconds: lasts } => self.cloud.sell_out(offering, now + seconds(lasts)),
            What::LoseTag(number) => {
                if let Some(id) = self.cloud.lose_tag(number, now) {
                    self.court.foreign(Kind::Machine, &id, &Value::Null);
                }
            }
            What::Vanish(number) => self.cloud.vanish(number, now),
            What::Notice { machine, seconds: lasts } => {
                self.cloud.give_notice(machine, seconds(lasts), now, today);
            }
            What::NeverJoin { machines } => self.trouble.never_join += machines,
            What::Flap { node, seconds: lasts } => {
                let id = self.our_node(node).and_then(|node| node.provider_id);
                for unit in self.cloud.units_mut() {
                    if Some(&*unit.machine.provider_id) == id.as_deref() {
                        unit.not_ready_until = Some(now + seconds(lasts));
                    }
                }
            }
            What::KubeletDies(number) => {
                let id = self.our_node(number).and_then(|node| node.provider_id);
                for unit in self.cloud.units_mut() {
                    unit.kubelet_dead |= Some(&*unit.machine.provider_id) == id.as_deref();
                }
            }
            What::Jump { .. } | What::Restart { .. } => {}
        }
    }

    /// The n-th node that belongs to a pool.
    fn our_node(&self, number: u32) -> Option<NodeFact> {
        let ours: Vec<&NodeFact> = self.cluster.nodes().filter(|node| node.ours).collect();
        pick(&ours, number).map(|node| (*node).clone())
    }

    fn claim(&self, number: u32) -> Option<String> {
        let name = |claim: &Value| claim["metadata"]["name"].as_str().map(ToOwned::to_owned);
        let claims: Vec<String> =
            self.server.iter("NodeClaim").filter_map(|claim| name(claim.value())).collect();
        pick(&claims, number).cloned()
    }

    fn edit_pool(&mut self, pool: u32, world: &World, change: impl FnOnce(&mut Value)) {
        let count = u32::try_from(self.server.iter("NodePool").count()).unwrap_or(1).max(1);
        let name = format!("pool-{}", pool % count);
        let _ =
            self.server.edit("NodePool", None, &name, world.time.now(), |value| change(&mut value["spec"]));
    }

    /// Makes the provider, the pools, and things that are not ours to touch.
    pub(crate) fn furnish(&mut self, pools: &[Pool], world: &World) {
        let today = world.time.now();
        let home = json!({"name": "windlass-system"});
        let mut objects = vec![json!({"apiVersion": "v1", "kind": "Namespace", "metadata": home})];
        objects.push(json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "NodeProvider", "metadata": {"name": "cloud"},
            "spec": {"simulated": {"catalogue": "general"}},
        }));
        objects.extend(pools.iter().enumerate().map(|(number, pool)| new_pool(number, pool)));
        for object in objects {
            if let Err(error) = self.server.create(object, today) {
                self.court.find("simulation", format!("the world cannot be furnished: {error}"));
            }
        }
        let foreign = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": "theirs", "labels": {"kubernetes.io/hostname": "theirs"}},
            "spec": {"providerID": "other://theirs"},
            "status": {
                "allocatable": {"cpu": "1", "memory": "1Gi", "pods": "0"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        });
        if let Ok(stored) = self.server.create(foreign, today) {
            self.court.foreign(Kind::Node, "theirs", stored.value());
        }
    }

    /// Ends all trouble. What lasts, such as lifetimes, is taken away too, so that there comes a time of rest.
    pub(crate) fn heal(&mut self, world: &World) {
        self.trace.note(|| "all heals".to_owned());
        self.trouble.heal();
        self.cloud.heal();
        self.cluster.loosen_budgets();
        let pools = u32::try_from(self.server.iter("NodePool").count()).unwrap_or_default();
        for pool in 0..pools {
            self.edit_pool(pool, world, |spec| {
                spec["paused"] = json!(false);
                if let Some(template) = spec["template"]["spec"].as_object_mut() {
                    template.remove("expireAfter");
                }
            });
        }
        self.wake_watches();
    }
}

fn new_pool(number: usize, pool: &Pool) -> Value {
    let mut limits = serde_json::Map::new();
    if let Some(nodes) = pool.max_nodes {
        limits.insert("nodes".to_owned(), json!(nodes.to_string()));
    }
    if let Some(cores) = pool.max_cores {
        limits.insert("cpu".to_owned(), json!(cores.to_string()));
    }
    let policy = if pool.consolidates { "WhenEmptyOrUnderutilized" } else { "WhenEmpty" };
    let mut template = json!({"metadata": {"labels": {"sim/made": "0"}}, "spec": {}});
    if let Some(lifetime) = pool.lifetime {
        template["spec"]["expireAfter"] = json!(format!("{lifetime}s"));
    }
    json!({
        "apiVersion": "windlass.dev/v1alpha1", "kind": "NodePool",
        "metadata": {"name": format!("pool-{number}")},
        "spec": {
            "providerRef": {"name": "cloud"}, "limits": limits, "minNodes": pool.min_nodes,
            "template": template,
            "disruption": {
                "consolidationPolicy": policy, "consolidateAfter": "20s", "rotateBefore": "60s",
                "budgets": [{"nodes": "50%"}],
                "repair": {"after": format!("{}s", pool.repair_after)},
            },
        },
    })
}
