use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_api::NodeProviderSpec;
use windlass_core::Text;
use windlass_core::model::InstanceType;

use crate::{Inventory, LaunchRequest, Machine, MachineTag, ProviderError, Termination};

/// A source of machines.
///
/// The contract that keeps machines from being launched twice or lost:
/// - `launch` is idempotent under the claim's UID in the request's tag;
/// - `terminate` verifies the whole tag before it acts, and refuses with [`ProviderError::NotOurs`];
/// - `list` answers with all of this cluster's machines or with an error, never with a part of them;
/// - an error or a timeout says nothing about whether the call had its effect.
#[async_trait]
pub trait Provider: Debug + Send + Sync {
    /// What kind of source this is, for status and metrics.
    fn kind(&self) -> &'static str;

    /// The instance types on offer, including those that cannot be had just now.
    async fn instance_types(&self) -> Result<Vec<InstanceType>, ProviderError>;

    /// Launches a machine, or finds the one launched before under the same claim UID.
    async fn launch(&self, request: &LaunchRequest) -> Result<Machine, ProviderError>;

    /// Ends a machine, if its tag is this one. Asked again it says how far that has come.
    async fn terminate(&self, provider_id: &str, tag: &MachineTag) -> Result<Termination, ProviderError>;

    /// Looks at one machine.
    async fn get(&self, provider_id: &str) -> Result<Machine, ProviderError>;

    /// All machines of this cluster.
    async fn list(&self) -> Result<Vec<Machine>, ProviderError>;

    /// What it has, for people: its version, and its hosts with what is free on them.
    async fn inventory(&self) -> Result<Inventory, ProviderError> {
        Ok(Inventory::default())
    }

    /// What the provider does by itself while this process leads, beside answering calls. Never returns.
    async fn run(&self) {
        std::future::pending::<()>().await;
    }
}

/// Makes providers from their specification.
pub trait ProviderFactory: Debug + Send + Sync {
    /// Makes the provider of this name.
    fn build(&self, name: &Text, spec: &NodeProviderSpec) -> Result<Arc<dyn Provider>, ProviderError>;
}
