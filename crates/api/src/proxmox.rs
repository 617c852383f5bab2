use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ApiQuantity, DollarsPerHour, SecretRef};

/// A Proxmox VE cluster, or a single host, whose virtual machines become nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.clone) != has(self.networkBoot)")
        .message("name exactly one way to make a machine: clone or networkBoot"),
    validation = Rule::new("!has(self.networkBoot) || has(self.storage)")
        .message("networkBoot needs storage, on which the disk is made"),
    validation = Rule::new("!has(self.clone) || !has(self.storage) || self.clone.mode == 'Full'")
        .message("a linked clone is made where its template is: leave storage out, or set mode: Full"),
    validation = Rule::new(
        "!has(self.options) || self.options.all(key, !(key in ['boot', 'cores', 'delete', 'description', 'digest', 'force', 'lock', 'memory', 'name', 'node', 'pool', 'protection', 'skiplock', 'smbios1', 'sockets', 'start', 'storage', 'tags', 'template', 'vmid']))"
    )
    .message("options cannot set what Windlass sets by itself or could then not undo: boot, cores, delete, description, digest, force, lock, memory, name, node, pool, protection, skiplock, smbios1, sockets, start, storage, tags, template, vmid")
)]
pub struct ProxmoxProvider {
    /// Where the API listens. With several hosts of one cluster the next one is asked when one does not answer.
    #[schemars(length(min = 1, max = 32))]
    pub endpoints: Vec<ProxmoxEndpoint>,

    /// A Secret in the namespace that Windlass runs in, with `tokenID` (such as `windlass@pve!nodes`) and `secret`. It is
    /// read again every minute.
    pub credentials_secret_ref: SecretRef,

    /// The certificate authority of the endpoints, as PEM: that of a cluster is `/etc/pve/pve-root-ca.pem` on its hosts.
    /// Without it the authorities that the system trusts vouch for endpoints that have no fingerprint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 65536))]
    pub ca_bundle: Option<String>,

    /// The hosts that may be used. Default: all of the cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 200), inner(length(min = 1, max = 63)))]
    pub hosts: Vec<String>,

    /// The ids that machines get. Leave them to this provider alone.
    pub vmids: VmidRange,

    /// The storage for the disks of machines that boot from the network, and of full clones. A full clone without it has its
    /// disks where its template has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 100), regex(pattern = r"^[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]$"))]
    pub storage: Option<String>,

    /// The resource pool that machines are put into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200), regex(pattern = r"^[A-Za-z0-9._/-]+$"))]
    pub pool: Option<String>,

    /// Tags that machines get beside Windlass' own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 20),
        inner(length(min = 1, max = 63), regex(pattern = r"^[a-z0-9_][a-z0-9_.+-]*$"))
    )]
    pub tags: Vec<String>,

    /// Options that machines get, as `qm set` has them: `cpu: host`, `agent: "1"`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 50))]
    pub options: BTreeMap<String, String>,

    /// Machines are copies of a template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clone: Option<ProxmoxClone>,

    /// Machines are made with an empty disk and boot from the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_boot: Option<ProxmoxNetworkBoot>,

    /// How large machines may be.
    pub shapes: ProxmoxShapes,

    /// What a machine takes of its host's memory beyond what it has itself. Default 256Mi.
    #[serde(default = "ProxmoxProvider::default_memory_overhead")]
    pub memory_overhead: ApiQuantity,

    /// What of a machine its system and kubelet keep from pods. Default: 512Mi of memory.
    #[serde(default = "ProxmoxProvider::default_reserved")]
    #[schemars(schema_with = "ApiQuantity::map_of_non_negative")]
    pub reserved: BTreeMap<String, ApiQuantity>,

    /// What of each host's `cpu` and `memory` is left alone. Default: 2Gi of memory.
    #[serde(default = "ProxmoxProvider::default_host_reserved")]
    #[schemars(schema_with = "ApiQuantity::map_of_non_negative")]
    pub host_reserved: BTreeMap<String, ApiQuantity>,

    /// How many cores of machines there may be for each that a host has, as in `1.5`. Default 1.
    #[serde(default = "ProxmoxProvider::default_cpu_overcommit")]
    pub cpu_overcommit: ApiQuantity,

    /// What machines cost. Default: as much as in a cloud, so that fewer and fuller machines are better than many.
    #[serde(default)]
    pub prices: ProxmoxPrices,

    /// Labels that nodes have beside those of Kubernetes and Windlass.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 50))]
    pub labels: BTreeMap<String, String>,
}

/// One way to the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProxmoxEndpoint {
    /// Such as `https://pve1.example.com:8006`.
    #[schemars(length(max = 300), regex(pattern = r"^https://[^/@ ]+$"))]
    pub url: String,
    /// The SHA-256 fingerprint of its certificate, which is then trusted whoever vouches for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 95), regex(pattern = r"^([0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}$"))]
    pub fingerprint: Option<String>,
}

/// Ids of virtual machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.first <= self.last").message("first must not be beyond last"))]
pub struct VmidRange {
    /// The first one.
    #[schemars(range(min = 100, max = 999_999_999))]
    pub first: u32,
    /// The last one.
    #[schemars(range(min = 100, max = 999_999_999))]
    pub last: u32,
}

/// How machines are copied from a template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProxmoxClone {
    /// The template's name or id. Of several templates of one name each host uses its own; a host without one can only use
    /// another's whose disks are on storage that both share.
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9.-]*$"))]
    pub template: String,
    /// Whether the template's disks are copied or built upon. Default `Linked`.
    #[serde(default)]
    pub mode: ProxmoxCloneMode,
    /// The storage, with content type `iso`, for the small drives by which cloud-init in a machine gets its user data. Pools
    /// with user data need it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 100), regex(pattern = r"^[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]$"))]
    pub iso_storage: Option<String>,
}

/// What becomes of a template's disks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ProxmoxCloneMode {
    /// Machines keep only what they write; their template has to stay.
    #[default]
    Linked,
    /// Machines have disks of their own.
    Full,
}

/// What machines are that boot from the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProxmoxNetworkBoot {
    /// How large the disk is, in GiB. Default 32.
    #[serde(default = "ProxmoxNetworkBoot::default_disk_gib")]
    #[schemars(range(min = 1, max = 65536))]
    pub disk_gib: u32,
    /// The network interfaces. Machines boot from the first.
    #[schemars(length(min = 1, max = 8))]
    pub interfaces: Vec<ProxmoxInterface>,
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProxmoxInterface {
    /// What it looks like to the machine: `virtio`, `e1000`, `e1000e`, `vmxnet3` or another that Proxmox VE knows. Default
    /// `virtio`.
    #[serde(default = "ProxmoxInterface::default_model")]
    #[schemars(length(max = 20), regex(pattern = r"^[a-z0-9-]+$"))]
    pub model: String,
    /// The bridge of the host that it is connected to, such as `vmbr0`.
    #[schemars(length(min = 1, max = 15), regex(pattern = r"^[A-Za-z0-9_.-]+$"))]
    pub bridge: String,
    /// The VLAN that its packets get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4094))]
    pub vlan: Option<u16>,
    /// What its address begins with, such as `BC:24:11`: a boot server may know machines by it. The rest of the address
    /// follows from the claim. Default: the cluster's prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 8),
        regex(pattern = r"^[0-9A-Fa-f][02468ACEace]:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}$")
    )]
    pub mac_prefix: Option<String>,
}

/// How large machines may be: each of `cpus` with each of `memory`, or those of a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.list) ? !has(self.cpus) && !has(self.memory) : has(self.cpus) && has(self.memory)")
        .message("give either cpus and memory, or a list")
)]
pub struct ProxmoxShapes {
    /// Numbers of cores.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 20), inner(range(min = 1, max = 1024)))]
    pub cpus: Vec<u32>,
    /// Amounts of memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 20))]
    pub memory: Vec<ApiQuantity>,
    /// Shapes one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 400))]
    pub list: Vec<ProxmoxShape>,
}

/// How large a machine is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProxmoxShape {
    /// The number of cores.
    #[schemars(range(min = 1, max = 1024))]
    pub cpu: u32,
    /// The amount of memory.
    pub memory: ApiQuantity,
}

/// What machines cost by the hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProxmoxPrices {
    /// Dollars per hour for a core. Default 0.02.
    #[serde(default = "ProxmoxPrices::default_cpu")]
    pub cpu: DollarsPerHour,
    /// Dollars per hour for a GiB of memory. Default 0.0025.
    #[serde(default = "ProxmoxPrices::default_memory_gib")]
    pub memory_gib: DollarsPerHour,
}

/// Options that a user cannot set: Windlass sets them, or could not undo them.
const OWN_OPTIONS: [&str; 20] = [
    "boot",
    "cores",
    "delete",
    "description",
    "digest",
    "force",
    "lock",
    "memory",
    "name",
    "node",
    "pool",
    "protection",
    "skiplock",
    "smbios1",
    "sockets",
    "start",
    "storage",
    "tags",
    "template",
    "vmid",
];

impl ProxmoxProvider {
    fn default_memory_overhead() -> ApiQuantity {
        "256Mi".into()
    }

    fn default_reserved() -> BTreeMap<String, ApiQuantity> {
        [("memory".to_owned(), "512Mi".into())].into()
    }

    fn default_host_reserved() -> BTreeMap<String, ApiQuantity> {
        [("memory".to_owned(), "2Gi".into())].into()
    }

    fn default_cpu_overcommit() -> ApiQuantity {
        "1".into()
    }

    /// Why this cannot be used as it is, if so: the rules of the schema, for where no API server has checked them.
    pub fn flaw(&self) -> Option<String> {
        let words = if self.endpoints.is_empty() {
            "give at least one endpoint"
        } else if let Some(bad) = self.endpoints.iter().find(|each| !each.url.starts_with("https://")) {
            return Some(format!("endpoint {:?}: write https://host:port", bad.url));
        } else if self.clone.is_some() == self.network_boot.is_some() {
            "name exactly one way to make a machine: clone or networkBoot"
        } else if self.network_boot.is_some() && self.storage.is_none() {
            "networkBoot needs storage, on which the disk is made"
        } else if self.storage.is_some()
            && self.clone.as_ref().is_some_and(|clone| clone.mode == ProxmoxCloneMode::Linked)
        {
            "a linked clone is made where its template is: leave storage out, or set mode: Full"
        } else if self.vmids.first > self.vmids.last || self.vmids.first < 100 {
            "vmids: first must be at least 100 and not beyond last"
        } else if let Some(own) = self.options.keys().find(|key| OWN_OPTIONS.contains(&key.as_str())) {
            return Some(format!("options cannot set {own}, which is Windlass' own to set"));
        } else {
            let ProxmoxShapes { cpus, memory, list } = &self.shapes;
            let is_grid = !cpus.is_empty() && !memory.is_empty() && list.is_empty();
            let is_list = cpus.is_empty() && memory.is_empty() && !list.is_empty();
            if is_grid || is_list {
                return None;
            }
            "shapes: give either cpus and memory, or a list"
        };
        Some(words.to_owned())
    }
}

impl ProxmoxNetworkBoot {
    fn default_disk_gib() -> u32 {
        32
    }
}

impl ProxmoxInterface {
    fn default_model() -> String {
        "virtio".to_owned()
    }
}

impl ProxmoxPrices {
    fn default_cpu() -> DollarsPerHour {
        DollarsPerHour("0.02".to_owned())
    }

    fn default_memory_gib() -> DollarsPerHour {
        DollarsPerHour("0.0025".to_owned())
    }
}

impl Default for ProxmoxPrices {
    fn default() -> Self {
        Self { cpu: Self::default_cpu(), memory_gib: Self::default_memory_gib() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::ProxmoxProvider;

    fn flaw(change: impl FnOnce(&mut Value)) -> Option<String> {
        let mut given = json!({
            "endpoints": [{"url": "https://pve1:8006"}],
            "credentialsSecretRef": {"name": "proxmox"},
            "vmids": {"first": 5000, "last": 5999},
            "clone": {"template": "debian"},
            "shapes": {"cpus": [2], "memory": ["4Gi"]},
        });
        change(&mut given);
        serde_json::from_value::<ProxmoxProvider>(given).unwrap().flaw()
    }

    #[test]
    fn what_the_schema_refuses_is_refused_without_an_api_server_too() {
        assert_eq!(flaw(|_| ()), None);
        let set = |key: &'static str, value: Value| flaw(|given| given[key] = value).unwrap_or_default();
        assert!(set("networkBoot", json!({"interfaces": []})).contains("exactly one way"));
        assert!(set("storage", json!("fast")).contains("mode: Full"));
        assert!(set("vmids", json!({"first": 10, "last": 5})).contains("vmids"));
        assert!(set("options", json!({"protection": "1"})).contains("protection"));
        assert!(set("shapes", json!({"cpus": [2]})).contains("shapes"));
        assert!(set("endpoints", json!([{"url": "http://pve1"}])).contains("https"));
        let without_storage = flaw(|given| {
            given["clone"] = Value::Null;
            given["networkBoot"] = json!({"interfaces": [{"bridge": "vmbr0"}]});
        });
        assert!(without_storage.unwrap().contains("needs storage"));
    }
}
