use std::fmt;
use std::sync::Arc;

use kube::Client;
use windlass_api::{NodeProviderSpec, ProviderSource};
use windlass_core::Text;
use windlass_core::model::InstanceType;

use crate::external_grpc::{ExternalGrpc, Pace};
use crate::proxmox::{self, Proxmox};
use crate::simulated::{self, Simulated};
use crate::{Clock, Provider, ProviderError, ProviderFactory};

/// Makes the providers that Windlass has, by the source of machines that their specification names.
#[derive(Clone)]
pub struct Factory {
    /// How the cluster is reached, in which machines are recorded.
    pub client: Client,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// With what the machines of this cluster are tagged.
    pub cluster_id: Text,
    /// The namespace of Windlass' own objects.
    pub namespace: String,
}

/// The machines that a specification itself says are on offer, without a provider being asked and whatever of them is
/// taken. Those of a server are known to it alone, and how much room there is for them on hosts is known there.
pub fn stated_offers(name: &Text, spec: &NodeProviderSpec) -> Result<Vec<InstanceType>, ProviderError> {
    match spec.source() {
        Some(ProviderSource::Simulated(spec)) => simulated::instance_types(spec),
        Some(ProviderSource::Proxmox(spec)) => proxmox::instance_types(name, spec),
        Some(ProviderSource::ExternalGrpc(spec)) => {
            let message = format!(
                "what provider {name} offers is known to the server at {} alone; plan with the live cluster instead",
                spec.endpoint
            );
            Err(ProviderError::InvalidConfiguration { message })
        }
        None => Err(no_source(name)),
    }
}

fn no_source(name: &Text) -> ProviderError {
    let message = format!("provider {name}: {}", NodeProviderSpec::NO_SOURCE);
    ProviderError::InvalidConfiguration { message }
}

impl ProviderFactory for Factory {
    fn build(&self, name: &Text, spec: &NodeProviderSpec) -> Result<Arc<dyn Provider>, ProviderError> {
        let (name, cluster_id) = (name.clone(), self.cluster_id.clone());
        let (client, clock) = (self.client.clone(), Arc::clone(&self.clock));
        Ok(match spec.source() {
            Some(ProviderSource::Simulated(spec)) => {
                Arc::new(Simulated::new(name, spec, cluster_id, self.namespace.clone(), client, clock)?)
            }
            Some(ProviderSource::ExternalGrpc(spec)) => {
                let pace = Pace::default();
                Arc::new(ExternalGrpc::new(name, spec, cluster_id, &self.namespace, client, clock, pace)?)
            }
            Some(ProviderSource::Proxmox(spec)) => {
                let pace = proxmox::Pace::default();
                Arc::new(Proxmox::new(name, spec, cluster_id, &self.namespace, client, clock, pace)?)
            }
            None => return Err(no_source(&name)),
        })
    }
}

impl fmt::Debug for Factory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Factory");
        debug
            .field("cluster_id", &self.cluster_id)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::stated_offers;

    #[test]
    fn what_only_a_server_knows_is_not_stated() {
        let stated = |spec| {
            let spec = serde_json::from_value(spec).unwrap();
            stated_offers(&"rack".into(), &spec).map(|types| types.len()).map_err(|error| error.to_string())
        };
        assert_eq!(stated(json!({"simulated": {"catalogue": "general"}})), Ok(21));
        let error = stated(json!({"externalGrpc": {"endpoint": "localhost:8086"}})).unwrap_err();
        assert!(error.contains("rack") && error.contains("localhost:8086"), "{error}");
        let mut proxmox = json!({
            "endpoints": [{"url": "https://pve1:8006"}],
            "credentialsSecretRef": {"name": "proxmox"},
            "vmids": {"first": 5000, "last": 5999},
            "clone": {"template": "debian"},
            "shapes": {"cpus": [2, 4], "memory": ["4Gi"]},
        });
        assert!(stated(json!({"proxmox": proxmox})).unwrap_err().contains("name them in hosts"));
        proxmox["hosts"] = json!(["pve1"]);
        assert_eq!(stated(json!({"proxmox": proxmox})), Ok(2));
        assert!(stated(json!({})).unwrap_err().contains("exactly one source"));
    }
}
