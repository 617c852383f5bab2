//! What Cluster Autoscaler does, by hand.

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use serde_json::{Value, json};
use windlass_control::groups::{GroupError, Instance, InstanceState, NodeGroups as _, NodeRef, PoolGroups};
use windlass_testkit::{ControlPlane, eventually};

use crate::faults::Faults;
use crate::lab::{Lab, PATIENCE, Running, instance_type, merge};
use crate::steps::{calm_lab, start};

/// A lab with a pool `pool` of machines `four` about which Cluster Autoscaler decides, and a controller that leads.
pub struct Station {
    pub lab: Lab,
    pub running: Running,
    pub faults: Faults,
}

impl Station {
    pub async fn new(plane: Arc<ControlPlane>, name: &str, pool: &Value) -> Self {
        Self::with(calm_lab(plane, name).await, &json!({}), pool).await
    }

    pub async fn with(lab: Lab, provider: &Value, pool: &Value) -> Self {
        let mut simulated = json!({"bootDelay": "0s"});
        merge(&mut simulated, provider);
        lab.plain_provider(&simulated).await;
        let mut spec = json!({"driver": "ClusterAutoscaler"});
        merge(&mut spec, pool);
        lab.pool("pool", &spec).await;
        let faults = Faults::default();
        let running = start(&lab, &faults);
        let station = Self { lab, running, faults };
        station.groups_are_there().await;
        station
    }

    pub fn groups(&self) -> &PoolGroups {
        &self.running.groups
    }

    /// The group of the machine `four`.
    pub fn four(&self) -> String {
        format!("{}/four/zone-a/on-demand", self.lab.named("pool"))
    }

    pub async fn groups_are_there(&self) {
        let four = self.four();
        eventually("the group is there", PATIENCE, async || {
            let groups = self.groups().groups().map_err(|error| error.to_string())?;
            let ids: Vec<String> = groups.into_iter().map(|group| group.id).collect();
            if ids.contains(&four) { Ok(()) } else { Err(format!("{ids:?}")) }
        })
        .await;
    }

    pub async fn increase(&self, delta: u32) -> Result<(), GroupError> {
        self.groups().increase(&self.four(), delta).await
    }

    pub fn target(&self) -> u32 {
        self.groups().target_size(&self.four()).unwrap()
    }

    pub fn instances(&self) -> Vec<Instance> {
        self.groups().instances(&self.four()).unwrap()
    }

    /// Gives an instance back as Cluster Autoscaler does it with one that is not a node: all it knows is the id.
    pub async fn give_back(&self, id: &str) -> Result<(), GroupError> {
        self.groups().delete_nodes(&self.four(), &[fake(id)]).await
    }

    /// Waits until there are exactly so many nodes, which all run.
    pub async fn nodes_run(&self, count: usize) -> Vec<Instance> {
        self.lab.ready_claims(count).await;
        eventually(&format!("{count} instances run"), PATIENCE, async || {
            let instances = self.instances();
            let running = instances.iter().filter(|each| each.state == InstanceState::Running).count();
            if (instances.len(), running) == (count, count) {
                Ok(instances)
            } else {
                Err(format!("{instances:?}"))
            }
        })
        .await
    }

    /// Waits for an instance that failed.
    pub async fn failed(&self) -> Instance {
        eventually("an instance says why it failed", PATIENCE, async || {
            let instances = self.instances();
            let failed = instances.iter().find(|instance| instance.error.is_some());
            failed.cloned().ok_or(format!("{instances:?}"))
        })
        .await
    }

    pub async fn finish(self) {
        self.running.crash().await;
        self.lab.finish().await;
    }
}

/// A node that Cluster Autoscaler makes up for an instance that is none.
pub fn fake(id: &str) -> NodeRef {
    NodeRef { provider_id: id.to_owned(), name: id.to_owned(), ..NodeRef::default() }
}

/// The nodes of a lab as Cluster Autoscaler names them.
pub async fn real_nodes(lab: &Lab) -> Vec<NodeRef> {
    let nodes = lab.nodes().await;
    let named = nodes.iter().map(|node| NodeRef {
        provider_id: node.spec.as_ref().and_then(|spec| spec.provider_id.clone()).unwrap_or_default(),
        name: node.name_any(),
        labels: node.labels().clone(),
        annotations: node.annotations().clone(),
    });
    named.collect()
}

/// Two kinds of machines of which the second is dearer.
pub fn two_kinds() -> Value {
    json!([instance_type("four", 4, "0.10", &json!({})), instance_type("eight", 8, "0.30", &json!({}))])
}

/// Long enough for several plans and sweeps.
pub const A_WHILE: Duration = Duration::from_secs(4);
