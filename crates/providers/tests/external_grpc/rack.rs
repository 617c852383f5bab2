//! A server with a few machines, which does as it is told and misbehaves as it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use k8s_openapi::api::core::v1::Node;
use serde_json::json;
use tonic::Status;
use windlass_externalgrpc::kubernetes::encode_node;
use windlass_externalgrpc::wire::instance_status::InstanceState;
use windlass_externalgrpc::wire::{Instance, InstanceErrorInfo, InstanceStatus};

use crate::effects::Effects;

/// The infrastructure.
#[derive(Debug, Default)]
pub struct Rack {
    pub effects: Arc<Effects>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub struct State {
    pub groups: BTreeMap<String, GroupState>,
    /// Calls that do their work and whose answer is lost.
    pub lost: BTreeSet<&'static str>,
    /// Calls that are refused, and how.
    pub refused: BTreeMap<&'static str, Status>,
    /// What was done, in words.
    pub deeds: Vec<String>,
}

#[derive(Debug)]
pub struct GroupState {
    pub target: i32,
    pub max: i32,
    pub instances: Vec<Instance>,
    /// What stands for its nodes, as it is sent.
    pub template: Vec<u8>,
    pub price: f64,
    /// Whether instances are shown only when the test says so.
    pub slow: bool,
    /// Whether instances that are deleted are still shown for a while.
    pub lingering: bool,
    /// The error of instances that are made from now on.
    pub error: Option<InstanceErrorInfo>,
    made: usize,
}

impl GroupState {
    fn new(template: &Node) -> Self {
        Self {
            target: 0,
            max: 10,
            instances: Vec::new(),
            template: encode_node(template),
            price: 0.25,
            slow: false,
            lingering: false,
            error: None,
            made: 0,
        }
    }

    /// Makes one instance.
    pub fn make(&mut self, group: &str) -> String {
        self.made += 1;
        let id = format!("rack://{group}/{}", self.made);
        let state = if self.error.is_some() {
            InstanceState::InstanceCreating
        } else {
            InstanceState::InstanceRunning
        };
        let status = InstanceStatus { instance_state: state.into(), error_info: self.error.clone() };
        self.instances.push(Instance { id: id.clone(), status: Some(status) });
        id
    }

    pub fn ids(&self) -> Vec<String> {
        self.instances.iter().map(|instance| instance.id.clone()).collect()
    }
}

/// The template of a group.
pub fn template(instance_type: &str, zone: &str) -> Node {
    serde_json::from_value(json!({
        "metadata": {"name": "template", "labels": {
            "node.kubernetes.io/instance-type": instance_type, "topology.kubernetes.io/zone": zone,
        }},
        "status": {
            "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "allocatable": {"cpu": "3900m", "memory": "7Gi", "pods": "110"},
        },
    }))
    .unwrap()
}

impl Rack {
    /// A rack with the groups `a` and `b`, of the same machines in two zones.
    pub fn new() -> Arc<Self> {
        let rack = Self::default();
        for (group, zone) in [("a", "zone-a"), ("b", "zone-b")] {
            let group_state = GroupState::new(&template("small", zone));
            rack.state().groups.insert(group.to_owned(), group_state);
        }
        Arc::new(rack)
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn add(&self, group: &str, template: &Node) {
        self.state().groups.insert(group.to_owned(), GroupState::new(template));
    }

    pub fn change(&self, group: &str, change: impl FnOnce(&mut GroupState)) {
        change(self.state().groups.get_mut(group).unwrap());
    }

    /// How many a group is to have, and what it has.
    pub fn holds(&self, group: &str) -> (i32, Vec<String>) {
        let state = self.state();
        (state.groups[group].target, state.groups[group].ids())
    }

    /// A stranger's instance.
    pub fn intrude(&self, group: &str) -> String {
        let mut state = self.state();
        let found = state.groups.get_mut(group).unwrap();
        found.target += 1;
        found.make(group)
    }

    /// Does something for a call, and then answers, or not.
    pub(crate) async fn serve<T>(
        &self,
        call: &'static str,
        work: impl FnOnce(&mut State) -> Result<T, Status>,
    ) -> Result<tonic::Response<T>, Status> {
        let answer = {
            let mut state = self.state();
            match state.refused.get(call) {
                Some(status) => Err(status.clone()),
                None => {
                    let done = work(&mut state);
                    let lost = done.is_ok() && state.lost.contains(call);
                    if lost { Err(Status::unavailable("the line went dead")) } else { done }
                }
            }
        };
        self.effects.happened().await;
        answer.map(tonic::Response::new)
    }
}
