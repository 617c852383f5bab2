//! The nodes of simulated machines: how they come and how they fall silent. Nodes that are not of this provider are
//! never touched.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::api::Patch;
use kube::{Api, Client};
use serde_json::{Value, json};
use windlass_core::Text;

use super::naming::provider_id;
use super::node::{KWOK, condition, new_node};
use super::record::{PROVIDER_LABEL, Stored};
use super::writer::{patching, posting};
use crate::api_error::already_exists;

/// The nodes of one provider's machines.
#[derive(Clone, Debug)]
pub(super) struct Nodes {
    pub api: Api<Node>,
    provider: Text,
}

/// How the registration of a node went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Registration {
    /// The machine is a node, since then.
    Registered(Timestamp),
    /// The name is taken by a node that is not the machine's.
    NameTaken,
}

/// Why a node's kubelet is not heard of any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// It is in trouble, and said so.
    Sick,
    /// It ended with its machine.
    Gone,
}

impl Nodes {
    pub fn new(client: Client, provider: Text) -> Self {
        Self { api: Api::all(client), provider }
    }

    /// What selects the nodes of this provider.
    pub fn selector(&self) -> String {
        format!("{PROVIDER_LABEL}={}", self.provider)
    }

    /// Whether the node is of this provider's machine of the same name.
    pub fn are_ours(&self, node: &Node) -> bool {
        let name = node.metadata.name.as_deref().unwrap_or_default();
        let found = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref());
        found == Some(&*provider_id(&self.provider, name))
    }

    /// Registers the machine as a node, or finds that it is one.
    pub async fn register(&self, stored: &Stored, now: Timestamp) -> Result<Registration, kube::Error> {
        let node = new_node(stored, &self.provider, now);
        match self.api.create(&posting(), &node).await {
            Ok(_) => return Ok(Registration::Registered(now)),
            Err(error) if already_exists(&error) => {}
            Err(error) => return Err(error),
        }
        let found = self.api.get(&stored.name).await?;
        let since = found.metadata.creation_timestamp.as_ref().map_or(now, |time| time.0);
        Ok(if self.are_ours(&found) { Registration::Registered(since) } else { Registration::NameTaken })
    }

    /// Makes a node what it is when nothing is heard of its kubelet any more. KWOK has to let go of it first, or it
    /// would make it ready again.
    pub async fn silence(&self, name: &str, why: Silence, now: Timestamp) -> Result<(), kube::Error> {
        let Some(mut node) = self.api.get_opt(name).await?.filter(|node| self.are_ours(node)) else {
            return Ok(());
        };
        let parameters = patching();
        if node.metadata.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(KWOK)) {
            let mut metadata = precondition(&node);
            metadata["annotations"] = json!({KWOK: null});
            node = self.api.patch(name, &parameters, &Patch::Merge(json!({"metadata": metadata}))).await?;
        }
        let ready = match why {
            Silence::Sick => ("False", "KubeletNotReady", "simulated fault: the kubelet is in trouble"),
            Silence::Gone => ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."),
        };
        let conditions =
            node.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
        let mut conditions: Vec<_> = conditions.into_iter().filter(|found| found.type_ != "Ready").collect();
        conditions.push(condition(ready, now));
        let status = json!({"metadata": precondition(&node), "status": {"conditions": conditions}});
        self.api.patch_status(name, &parameters, &Patch::Merge(status)).await?;
        Ok(())
    }
}

/// Lets a patch go through only on the very object that was read.
fn precondition(node: &Node) -> Value {
    json!({"uid": node.metadata.uid, "resourceVersion": node.metadata.resource_version})
}
