use std::fmt;
use std::sync::Arc;

use kube::Client;
use windlass_api::NodeProviderSpec;
use windlass_core::Text;

use crate::simulated::Simulated;
use crate::{Clock, Provider, ProviderError, ProviderFactory};

/// Makes the providers that Windlass has, by the source of machines that their specification names.
#[derive(Clone)]
pub struct Factory {
    /// How the cluster is reached, in which simulated machines are recorded.
    pub client: Client,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// With what the machines of this cluster are tagged.
    pub cluster_id: Text,
    /// The namespace of Windlass' own objects.
    pub namespace: String,
}

impl ProviderFactory for Factory {
    fn build(&self, name: &Text, spec: &NodeProviderSpec) -> Result<Arc<dyn Provider>, ProviderError> {
        let Some(simulated) = &spec.simulated else {
            let message =
                format!("provider {name} names no source of machines that this version knows: simulated");
            return Err(ProviderError::InvalidConfiguration { message });
        };
        let provider = Simulated::new(
            name.clone(),
            simulated,
            self.cluster_id.clone(),
            self.namespace.clone(),
            self.client.clone(),
            Arc::clone(&self.clock),
        )?;
        Ok(Arc::new(provider))
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
