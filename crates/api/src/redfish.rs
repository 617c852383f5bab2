use std::collections::{BTreeMap, BTreeSet};

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ApiQuantity, DollarsPerHour, LimitedDuration, SecretRef};

/// Hosts that are powered on and off through their management controllers (BMCs), which speak Redfish. A host boots from
/// the network when a machine is wanted, and what it boots joins the cluster by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.credentialsSecretRef) || self.hosts.all(host, has(host.credentialsSecretRef))")
        .message("give credentialsSecretRef, for all hosts or for each")
)]
pub struct RedfishProvider {
    /// The hosts. Each belongs to this provider alone.
    #[schemars(length(min = 1, max = 500))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub hosts: Vec<RedfishHost>,

    /// A Secret in the namespace that Windlass runs in, with `username` and `password`, for the BMCs of hosts that name no
    /// other. It is read again every minute, and whenever a BMC refuses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_secret_ref: Option<SecretRef>,

    /// By what the BMCs of hosts are known that do not say. Without it, by the authorities that the system trusts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<RedfishTls>,

    /// The zone of hosts that do not say. Default `default`.
    #[serde(default = "RedfishProvider::default_zone")]
    #[schemars(length(min = 1, max = 63))]
    pub zone: String,

    /// The price in dollars per hour of hosts that do not say, for example "0.35". Default "0": they are paid for anyway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_price: Option<DollarsPerHour>,

    /// What of a host is not for pods: its allocatable is its capacity less this. Default 100m of cpu and a sixteenth of the
    /// memory, of which the firmware, the kernel and the kubelet keep some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "ApiQuantity::map_of_non_negative")]
    pub reserved: Option<BTreeMap<String, ApiQuantity>>,

    /// What a host boots when it becomes a machine, this once: `Pxe`, or `UefiHttp`. Default `Pxe`.
    #[serde(default)]
    pub boot: RedfishBoot,

    /// What happens to a host whose machine is given back.
    #[serde(default)]
    pub release: RedfishRelease,

    /// How long a host may take to be on after it was told to. One that takes longer is quarantined, and another is taken.
    /// Default 3m.
    #[serde(default = "RedfishProvider::default_power_timeout")]
    pub power_timeout: LimitedDuration,

    /// A host that was on for so long and whose node was never seen is quarantined when its claim is given up. One that was
    /// given up sooner had no chance to join. Default 5m.
    #[serde(default = "RedfishProvider::default_join_timeout")]
    pub join_timeout: LimitedDuration,

    /// For how long a host is not taken that failed. Then it is tried again. Default 1h.
    #[serde(default = "RedfishProvider::default_quarantine")]
    pub quarantine: LimitedDuration,
}

impl RedfishProvider {
    fn default_zone() -> String {
        "default".to_owned()
    }

    fn default_power_timeout() -> LimitedDuration {
        LimitedDuration::seconds(180)
    }

    fn default_join_timeout() -> LimitedDuration {
        LimitedDuration::seconds(300)
    }

    fn default_quarantine() -> LimitedDuration {
        LimitedDuration::seconds(3600)
    }

    /// Why this cannot be used as it is, if so: what the schema cannot say, and its rules, for where no API server has
    /// checked them.
    pub fn flaw(&self) -> Option<String> {
        let (mut names, mut nodes, mut systems) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for host in &self.hosts {
            let name = &host.name;
            if !names.insert(name) {
                return Some(format!("there are two hosts {name}"));
            }
            if !nodes.insert(host.node_name()) {
                return Some(format!("host {name}: another host's node is called {} too", host.node_name()));
            }
            if !systems.insert((host.address.trim_end_matches('/'), &host.system_id)) {
                return Some(format!("host {name}: another host has the same address and systemID"));
            }
            if host.credentials_secret_ref.is_none() && self.credentials_secret_ref.is_none() {
                return Some(format!(
                    "host {name} has no credentialsSecretRef, and there is none for all hosts"
                ));
            }
        }
        self.hosts.is_empty().then(|| "there are no hosts".to_owned())
    }
}

/// One host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RedfishHost {
    /// Its name.
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// Where its BMC listens: `https://address` or `https://address:port`.
    #[schemars(length(min = 9, max = 300), regex(pattern = r"^https://[^/@?# ]+/?$"))]
    pub address: String,
    /// The id of the host among the systems of its BMC, such as `1` or `System.Embedded.1`. Not needed where there is one.
    #[serde(default, rename = "systemID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[A-Za-z0-9._:@ -]+$"))]
    pub system_id: Option<String>,
    /// A Secret with `username` and `password` for its BMC, where it is not that of the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_secret_ref: Option<SecretRef>,
    /// By what its BMC is known, where it is not as the provider says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<RedfishTls>,
    /// What its node is called. Default the host's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"))]
    pub node_name: Option<String>,
    /// Its zone, where it is not that of the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub zone: Option<String>,
    /// Its price in dollars per hour, where it is not the provider's `defaultPrice`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<DollarsPerHour>,
    /// What it has: cpu, memory, pods, `nvidia.com/gpu` and so on. Without `pods`, 110. Without cpu or memory, those that its
    /// BMC says; given, they are also known while it cannot be asked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "ApiQuantity::map_of_non_negative")]
    pub capacity: BTreeMap<String, ApiQuantity>,
    /// More labels of its node. `kubernetes.io/arch` is amd64 and `kubernetes.io/os` linux unless said here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 50))]
    pub labels: BTreeMap<String, String>,
}

impl RedfishHost {
    /// What its node is called.
    pub fn node_name(&self) -> &str {
        self.node_name.as_deref().unwrap_or(&self.name)
    }
}

/// By what a BMC is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.caBundle) != has(self.fingerprint)")
        .message("give either caBundle or fingerprint")
)]
pub struct RedfishTls {
    /// The certificates of those who vouch for it, as PEM. Its certificate must name the host of its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 20000))]
    pub ca_bundle: Option<String>,
    /// The SHA-256 of its certificate, 64 hexadecimal digits with or without colons, as `openssl x509 -fingerprint -sha256`
    /// prints it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^([0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}$"))]
    pub fingerprint: Option<String>,
}

/// What a host boots from when it becomes a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RedfishBoot {
    /// The network, by PXE.
    #[default]
    Pxe,
    /// The network, by UEFI's HTTP boot.
    UefiHttp,
}

impl RedfishBoot {
    /// Redfish's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pxe => "Pxe",
            Self::UefiHttp => "UefiHttp",
        }
    }
}

/// What happens to a host whose machine is given back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.leaveOn) || !self.leaveOn || !has(self.forceAfter)")
        .message("a host that is left on is not forced off: leave forceAfter out")
)]
pub struct RedfishRelease {
    /// Leaves the host on. What runs on it goes on running until the host is taken again, and restarted. Default false.
    #[serde(default)]
    pub leave_on: bool,
    /// How long a host may take to shut down by itself before it is powered off. Default 2m; `0s` powers it off at once, and
    /// `Never` waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force_after: Option<LimitedDuration>,
}

impl RedfishRelease {
    /// How long a host may take to shut down by itself.
    pub fn force_after(&self) -> LimitedDuration {
        self.force_after.unwrap_or(LimitedDuration::seconds(120))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::RedfishProvider;

    fn flaw(spec: Value) -> Option<String> {
        serde_json::from_value::<RedfishProvider>(spec).unwrap().flaw()
    }

    #[test]
    fn hosts_that_cannot_be_told_apart_are_refused() {
        let a = json!({"name": "a", "address": "https://bmc-a"});
        let secret = json!({"name": "bmc"});
        let of = |other: Value| flaw(json!({"credentialsSecretRef": secret, "hosts": [a, other]}));
        assert_eq!(of(json!({"name": "b", "address": "https://bmc-b"})), None);
        assert_eq!(of(json!({"name": "b", "address": "https://bmc-a", "systemID": "2"})), None);
        for (other, part) in [
            (json!({"name": "a", "address": "https://bmc-b"}), "two hosts a"),
            (json!({"name": "b", "address": "https://bmc-a/"}), "same address"),
            (json!({"name": "b", "address": "https://bmc-b", "nodeName": "a"}), "called a too"),
        ] {
            let flaw = of(other).unwrap();
            assert!(flaw.contains(part), "{flaw}");
        }
        assert!(flaw(json!({"hosts": [a]})).unwrap().contains("credentialsSecretRef"));
        assert!(flaw(json!({"hosts": []})).unwrap().contains("no hosts"));
    }
}
