use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::model::InstanceType;
use windlass_providers::{
    Inventory, LaunchRequest, Machine, MachineTag, Provider, ProviderError, Termination,
};

use super::{Leadership, NotLeading};

/// A provider whose machines only the leader launches and ends; everyone may look.
#[derive(Debug)]
pub struct Led {
    provider: Arc<dyn Provider>,
    leadership: Leadership,
}

impl Led {
    /// Puts a provider under a leadership.
    pub fn new(provider: Arc<dyn Provider>, leadership: Leadership) -> Self {
        Self { provider, leadership }
    }

    fn check(&self) -> Result<(), ProviderError> {
        if self.leadership.may_write() { Ok(()) } else { Err(ProviderError::transient(NotLeading)) }
    }
}

#[async_trait]
impl Provider for Led {
    fn kind(&self) -> &'static str {
        self.provider.kind()
    }

    async fn instance_types(&self) -> Result<Vec<InstanceType>, ProviderError> {
        self.provider.instance_types().await
    }

    async fn launch(&self, request: &LaunchRequest) -> Result<Machine, ProviderError> {
        self.check()?;
        self.provider.launch(request).await
    }

    async fn terminate(&self, provider_id: &str, tag: &MachineTag) -> Result<Termination, ProviderError> {
        self.check()?;
        self.provider.terminate(provider_id, tag).await
    }

    async fn get(&self, provider_id: &str) -> Result<Machine, ProviderError> {
        self.provider.get(provider_id).await
    }

    async fn list(&self) -> Result<Vec<Machine>, ProviderError> {
        self.provider.list().await
    }

    async fn inventory(&self) -> Result<Inventory, ProviderError> {
        self.provider.inventory().await
    }

    async fn run(&self) {
        self.provider.run().await;
    }
}
