use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ApiQuantity, ExternalGrpcProvider, ProxmoxProvider, SimulatedProvider};

/// Where machines come from.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "windlass.dev",
    version = "v1alpha1",
    kind = "NodeProvider",
    plural = "nodeproviders",
    singular = "nodeprovider",
    shortname = "wpr",
    category = "windlass",
    status = "NodeProviderStatus",
    doc = "Where machines come from.",
    printcolumn(name = "Kind", type_ = "string", json_path = ".status.kind"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(name = "Types", type_ = "integer", json_path = ".status.instanceTypes"),
    printcolumn(name = "Machines", type_ = "integer", json_path = ".status.machines"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].message"#,
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("[has(self.simulated), has(self.externalGrpc), has(self.proxmox)].exists_one(given, given)")
        .message("name exactly one source of machines: simulated, externalGrpc or proxmox")
)]
pub struct NodeProviderSpec {
    /// Machines that exist only as records in the cluster and whose nodes are run by KWOK: for trying Windlass out
    /// and for tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<SimulatedProvider>,

    /// Machines of a server that speaks Cluster Autoscaler's protocol `externalgrpc`. Its node groups must be left to this
    /// one provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_grpc: Option<ExternalGrpcProvider>,

    /// Virtual machines of a Proxmox VE cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxmox: Option<ProxmoxProvider>,
}

/// The one source of machines that a provider names.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "described at `NodeProviderSpec`")]
pub enum ProviderSource<'a> {
    Simulated(&'a SimulatedProvider),
    ExternalGrpc(&'a ExternalGrpcProvider),
    Proxmox(&'a ProxmoxProvider),
}

impl NodeProviderSpec {
    /// What is wrong with a provider that has no source of machines, or several: the words of the schema's rule.
    pub const NO_SOURCE: &'static str =
        "name exactly one source of machines: simulated, externalGrpc or proxmox";

    /// The source of machines, if there is exactly one.
    pub fn source(&self) -> Option<ProviderSource<'_>> {
        let sources = [
            self.simulated.as_ref().map(ProviderSource::Simulated),
            self.external_grpc.as_ref().map(ProviderSource::ExternalGrpc),
            self.proxmox.as_ref().map(ProviderSource::Proxmox),
        ];
        let mut named = sources.into_iter().flatten();
        named.next().filter(|_| named.next().is_none())
    }
}

/// What Windlass says about a provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeProviderStatus {
    /// Which source of machines it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// How many instance types it offers.
    #[serde(default)]
    pub instance_types: i32,
    /// How many machines of this cluster it holds.
    #[serde(default)]
    pub machines: i32,
    /// The version of what is spoken to, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The hosts that machines run on or that become machines, where the provider has such.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    pub hosts: Vec<ProviderHost>,
    /// `Reachable`, `Authenticated`, and `Ready` for both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// A host of a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderHost {
    /// Its name.
    pub name: String,
    /// How it is, in one word.
    pub state: String,
    /// What can still be had of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub free: BTreeMap<String, ApiQuantity>,
    /// What else there is to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
