use std::fmt;
use std::sync::Arc;

use kube::Client;
use windlass_api::{NodeProviderSpec, SimulatedProvider};
use windlass_core::Text;
use windlass_core::model::InstanceType;

use crate::simulated::{self, Simulated};
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

/// The machines that a specification itself says are on offer, without a provider being asked and whatever of them is
/// taken.
pub fn stated_offers(name: &Text, spec: &NodeProviderSpec) -> Result<Vec<InstanceType>, ProviderError> {
    simulated::instance_types(simulated_part(name, spec)?)
}

fn simulated_part<'s>(
    name: &Text,
    spec: &'s NodeProviderSpec,
) -> Result<&'s SimulatedProvider, ProviderError> {
    spec.simulated.as_ref().ok_or_else(|| {
        let message =
            format!("provider {name} names no source of machines that this version knows: simulated");
        ProviderError::InvalidConfiguration { message }
    })
}

impl ProviderFactory for Factory {
    fn build(&self, name: &Text, spec: &NodeProviderSpec) -> Result<Arc<dyn Provider>, ProviderError> {
        let provider = Simulated::new(
            name.clone(),
            simulated_part(name, spec)?,
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
