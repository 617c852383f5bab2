use std::fmt;
use std::sync::Arc;

use kube::Client;
use windlass_api::NodeProviderSpec;
use windlass_core::Text;
use windlass_core::model::InstanceType;

use crate::external_grpc::{self, ExternalGrpc};
use crate::redfish::{self, Redfish};
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
/// taken. Those of a server are known to it alone.
pub fn stated_offers(name: &Text, spec: &NodeProviderSpec) -> Result<Vec<InstanceType>, ProviderError> {
    match (&spec.simulated, &spec.external_grpc, &spec.redfish) {
        (Some(spec), None, None) => simulated::instance_types(spec),
        (None, None, Some(spec)) => redfish::stated_types(spec),
        (None, Some(spec), None) => {
            let message = format!(
                "what provider {name} offers is known to the server at {} alone; plan with the live cluster instead",
                spec.endpoint
            );
            Err(ProviderError::InvalidConfiguration { message })
        }
        _ => Err(no_source(name)),
    }
}

fn no_source(name: &Text) -> ProviderError {
    let message = format!(
        "provider {name} must name exactly one source of machines: simulated, externalGrpc or redfish"
    );
    ProviderError::InvalidConfiguration { message }
}

impl ProviderFactory for Factory {
    fn build(&self, name: &Text, spec: &NodeProviderSpec) -> Result<Arc<dyn Provider>, ProviderError> {
        let (name, cluster_id) = (name.clone(), self.cluster_id.clone());
        let (client, clock) = (self.client.clone(), Arc::clone(&self.clock));
        Ok(match (&spec.simulated, &spec.external_grpc, &spec.redfish) {
            (Some(spec), None, None) => {
                Arc::new(Simulated::new(name, spec, cluster_id, self.namespace.clone(), client, clock)?)
            }
            (None, Some(spec), None) => {
                let pace = external_grpc::Pace::default();
                Arc::new(ExternalGrpc::new(name, spec, cluster_id, &self.namespace, client, clock, pace)?)
            }
            (None, None, Some(spec)) => {
                let pace = redfish::Pace::default();
                Arc::new(Redfish::new(name, spec, cluster_id, &self.namespace, client, clock, pace)?)
            }
            _ => return Err(no_source(&name)),
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
        let hosts = json!([{"name": "a", "address": "https://a", "capacity": {"cpu": 16, "memory": "64Gi"}}]);
        let metal = json!({"redfish": {"credentialsSecretRef": {"name": "bmc"}, "hosts": hosts}});
        assert_eq!(stated(metal), Ok(1));
        assert!(stated(json!({})).unwrap_err().contains("exactly one source"));
    }
}
