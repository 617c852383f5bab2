//! Machines whose kubelets do not say which machine they run on: their nodes are known by the names that the provider
//! states. Who boots such a machine is the test.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::ResourceExt;
use kube::api::PostParams;
use serde_json::{Value, json};
use windlass_providers::{Clock, LaunchRequest, Machine, Provider, ProviderError, SystemClock};
use windlass_testkit::eventually;
use windlass_testkit::objects::NodeBuilder;

use crate::lab::{Lab, PATIENCE};
use crate::twist::Twist;

/// Goes into the specification of the simulated provider, whose machines then do not join by themselves.
pub fn silent() -> Value {
    json!({"faults": [{"effect": "NeverRegister"}]})
}

/// Remembers what it was asked to launch, and states the names of nodes.
#[derive(Debug, Default)]
pub struct Named {
    requests: Mutex<Vec<LaunchRequest>>,
    /// What all nodes are called, if that does not follow from their machines.
    always: Option<String>,
}

impl Named {
    /// One that states the same name of all nodes.
    #[allow(dead_code, reason = "not every test binary needs it")]
    pub fn always(name: &str) -> Self {
        Self { always: Some(name.to_owned()), ..Self::default() }
    }

    /// What it was asked to launch.
    pub fn requests(&self) -> MutexGuard<'_, Vec<LaunchRequest>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn named(&self, machine: Machine) -> Machine {
        let from_machine = || node_name(machine.provider_id.rsplit('/').next().unwrap_or_default());
        let name = self.always.clone().unwrap_or_else(from_machine);
        Machine { node_name: Some(name.into()), ..machine }
    }
}

#[async_trait]
impl Twist for Named {
    async fn launch(&self, truth: &dyn Provider, request: &LaunchRequest) -> Result<Machine, ProviderError> {
        self.requests().push(request.clone());
        Ok(self.named(truth.launch(request).await?))
    }

    async fn get(&self, truth: &dyn Provider, id: &str) -> Result<Machine, ProviderError> {
        Ok(self.named(truth.get(id).await?))
    }

    async fn list(&self, truth: &dyn Provider) -> Result<Vec<Machine>, ProviderError> {
        Ok(truth.list().await?.into_iter().map(|machine| self.named(machine)).collect())
    }
}

/// What the node of a machine is called.
pub fn node_name(machine: &str) -> String {
    format!("node-of-{machine}")
}

/// Lets a node join under this name, as its kubelet would that says nothing of machines.
pub async fn join(lab: &Lab, name: &str) -> Node {
    let node = NodeBuilder::new(name);
    lab.node_api().create(&PostParams::default(), &node.build()).await.unwrap()
}

/// Waits until a machine's launch began in an earlier second than this: by the second nodes are known for younger.
pub async fn boots(machine: &ConfigMap) {
    let launched = machine.creation_timestamp().unwrap().0;
    eventually("the machine to boot", PATIENCE, async || {
        (SystemClock.now().duration_since(launched) >= SignedDuration::from_secs(2)).then_some(())
    })
    .await;
}
