//! Providers that fail, lose answers, lag or lie, around those that the product has.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_api::NodeProviderSpec;
use windlass_core::Text;
use windlass_core::model::InstanceType;
use windlass_providers::{
    Factory, LaunchRequest, Machine, MachineTag, Provider, ProviderError, ProviderFactory, Termination,
};

/// What is wrong with a provider: each call, with the true provider at hand.
#[async_trait]
pub trait Twist: Debug + Send + Sync + 'static {
    async fn launch(&self, truth: &dyn Provider, request: &LaunchRequest) -> Result<Machine, ProviderError> {
        truth.launch(request).await
    }

    async fn terminate(
        &self,
        truth: &dyn Provider,
        id: &str,
        tag: &MachineTag,
    ) -> Result<Termination, ProviderError> {
        truth.terminate(id, tag).await
    }

    async fn get(&self, truth: &dyn Provider, id: &str) -> Result<Machine, ProviderError> {
        truth.get(id).await
    }

    async fn list(&self, truth: &dyn Provider) -> Result<Vec<Machine>, ProviderError> {
        truth.list().await
    }
}

/// Makes the product's providers, each with the twist.
pub fn twisted<T: Twist>(twist: &Arc<T>) -> impl FnOnce(Factory) -> Arc<dyn ProviderFactory> + use<T> {
    let twist = twist.clone();
    move |factory| Arc::new(Twister { factory, twist })
}

#[derive(Debug)]
struct Twister<T> {
    factory: Factory,
    twist: Arc<T>,
}

impl<T: Twist> ProviderFactory for Twister<T> {
    fn build(&self, name: &Text, spec: &NodeProviderSpec) -> Result<Arc<dyn Provider>, ProviderError> {
        let truth = self.factory.build(name, spec)?;
        Ok(Arc::new(Twisted { truth, twist: self.twist.clone() }))
    }
}

#[derive(Debug)]
struct Twisted<T> {
    truth: Arc<dyn Provider>,
    twist: Arc<T>,
}

#[async_trait]
impl<T: Twist> Provider for Twisted<T> {
    fn kind(&self) -> &'static str {
        self.truth.kind()
    }

    async fn instance_types(&self) -> Result<Vec<InstanceType>, ProviderError> {
        self.truth.instance_types().await
    }

    async fn launch(&self, request: &LaunchRequest) -> Result<Machine, ProviderError> {
        self.twist.launch(&*self.truth, request).await
    }

    async fn terminate(&self, id: &str, tag: &MachineTag) -> Result<Termination, ProviderError> {
        self.twist.terminate(&*self.truth, id, tag).await
    }

    async fn get(&self, id: &str) -> Result<Machine, ProviderError> {
        self.twist.get(&*self.truth, id).await
    }

    async fn list(&self) -> Result<Vec<Machine>, ProviderError> {
        self.twist.list(&*self.truth).await
    }

    async fn run(&self) {
        self.truth.run().await;
    }
}
