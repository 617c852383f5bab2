use std::time::Duration;

use windlass_core::Text;

/// What machines are told that join by user data.
#[derive(Clone, Debug)]
pub struct JoinSettings {
    /// The URL at which machines find the API server. Without it, that by which this process finds it, or what the cluster
    /// says of itself.
    pub api_server: Option<Text>,
    /// Who vouches for the API server, as PEM. Without it, whom this process trusts, or what the cluster says of itself.
    pub ca_bundle: Option<Text>,
    /// The URL by which this process finds the API server.
    pub own_api_server: Option<Text>,
    /// Whom this process trusts to vouch for the API server, as PEM.
    pub own_ca_bundle: Option<Text>,
    /// Whether nobody elsewhere can reach the URL by which this process does.
    pub is_local: bool,
    /// For how long a bootstrap token is good. Without it, a little longer than a machine may take to become a node.
    pub bootstrap_token_ttl: Option<Duration>,
    /// The groups that a machine with a bootstrap token is in. Each begins with `system:bootstrappers:`.
    pub bootstrap_token_groups: Vec<String>,
}

/// The group to which `kubeadm init` gives what it takes to join.
const NODES_OF_KUBEADM: &str = "system:bootstrappers:kubeadm:default-node-token";

impl Default for JoinSettings {
    fn default() -> Self {
        Self {
            api_server: None,
            ca_bundle: None,
            own_api_server: None,
            own_ca_bundle: None,
            is_local: false,
            bootstrap_token_ttl: None,
            bootstrap_token_groups: vec![NODES_OF_KUBEADM.to_owned()],
        }
    }
}
