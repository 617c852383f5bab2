use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CapacityType;

/// A server that speaks Cluster Autoscaler's protocol `externalgrpc`, whose node groups become offerings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new(
        "has(self.tls) || self.insecure || self.endpoint.matches('^(127[.][0-9.]+|localhost|\\\\[::1\\\\]):[0-9]+$')"
    )
    .message("give tls, or a loopback address, or insecure: true"),
    validation = Rule::new("has(self.tls) || !self.endpoint.startsWith('https://')")
        .message("an https:// endpoint needs tls")
)]
pub struct ExternalGrpcProvider {
    /// Where the server listens: `host:port` or `https://host:port`.
    #[schemars(length(min = 3, max = 300), regex(pattern = r"^(https://)?[^/@ ]+:[0-9]{1,5}$"))]
    pub endpoint: String,

    /// How both sides prove who they are. Without it everything is said in plaintext, which is only accepted for a
    /// loopback address or with `insecure`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<ExternalGrpcTls>,

    /// Accepts plaintext to another machine: whoever is on the way can then launch and end machines. Has no effect where
    /// there is `tls`. Default false.
    #[serde(default)]
    pub insecure: bool,

    /// The terms on which machines are had whose template has no label `windlass.dev/capacity-type`: `on-demand`, `spot`
    /// or `reserved`. Default `on-demand`.
    #[serde(default = "ExternalGrpcProvider::default_capacity_type")]
    pub capacity_type: CapacityType,

    /// Prices in dollars per hour by the id of a node group, for example "0.192". The server's own price goes before.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 2000))]
    pub prices: BTreeMap<String, DollarsPerHour>,

    /// The price in dollars per hour of groups that neither the server nor `prices` has a price for. Without it such
    /// groups are not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_price: Option<DollarsPerHour>,
}

impl ExternalGrpcProvider {
    fn default_capacity_type() -> CapacityType {
        CapacityType::OnDemand
    }

    /// Why this cannot be used as it is, if so: the rules of the schema, for where no API server has checked them.
    pub fn flaw(&self) -> Option<&'static str> {
        if self.tls.is_some() {
            None
        } else if self.endpoint.starts_with("https://") {
            Some("an https:// endpoint needs tls")
        } else if self.insecure || is_loopback(&self.endpoint) {
            None
        } else {
            Some("give tls, or a loopback address, or insecure: true")
        }
    }
}

fn is_loopback(endpoint: &str) -> bool {
    let Some((host, port)) = endpoint.rsplit_once(':') else { return false };
    let in_net =
        |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let local = matches!(host, "localhost" | "[::1]") || host.strip_prefix("127.").is_some_and(in_net);
    local && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// How both sides prove who they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalGrpcTls {
    /// A Secret in the namespace that Windlass runs in, with `ca.crt` (who vouches for the server), `tls.crt` and `tls.key`
    /// (what Windlass shows). It is read again every minute.
    pub secret_ref: SecretRef,
    /// The name in the server's certificate, where it is not the host of the endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub server_name: Option<String>,
}

/// A Secret in the namespace that Windlass runs in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretRef {
    /// The Secret's name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// A price in dollars per hour, for example "0.192".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct DollarsPerHour(
    #[schemars(length(max = 20), regex(pattern = r"^[0-9]{1,9}(\.[0-9]{1,6})?$"))] pub String,
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::ExternalGrpcProvider;

    fn flaw(endpoint: &str, tls: bool, insecure: bool) -> Option<&'static str> {
        let mut given = json!({"endpoint": endpoint, "insecure": insecure});
        if tls {
            given["tls"] = json!({"secretRef": {"name": "client"}});
        }
        serde_json::from_value::<ExternalGrpcProvider>(given).unwrap().flaw()
    }

    #[test]
    fn plaintext_leaves_the_machine_only_where_that_is_asked_for() {
        for local in ["127.0.0.1:1", "127.8.0.1:80", "localhost:8086", "[::1]:1"] {
            assert_eq!(flaw(local, false, false), None, "{local}");
        }
        for remote in ["10.0.0.1:1", "machines.example.com:80", "127.example.com:1", "[::]:1", "127.0.0.1"] {
            let refusal = flaw(remote, false, false).unwrap();
            assert!(refusal.contains("insecure"), "{remote}: {refusal}");
            assert_eq!((flaw(remote, true, false), flaw(remote, false, true)), (None, None), "{remote}");
        }
        assert!(flaw("https://127.0.0.1:1", false, true).unwrap().contains("tls"));
    }
}
