//! The custom resources of Windlass (`windlass.dev/v1alpha1`): what users write and what Windlass reports back.
//!
//! - [`NodeProvider`]: where machines come from.
//! - [`NodePool`]: what kind of nodes, how many, and how they are treated.
//! - [`NodeClaim`]: one machine, from the decision to get it until it is given back.
//!
//! This crate has types, schema and validation rules only; it contains no client. A field is in the schema
//! once it works.

pub mod conditions;
pub mod labels;

mod crds;
mod disruption;
mod driver;
mod duration;
mod external_grpc;
mod machine;
mod node_claim;
mod node_pool;
mod node_provider;
mod proxmox;
mod quantity;
mod simulated;
mod size;

pub use crds::crds;
pub use disruption::{Budget, BudgetReason, ConsolidationPolicy, Disruption, Repair, RepairCondition};
pub use driver::{ClusterAutoscalerOptions, PoolDriver};
pub use duration::{DurationError, LimitedDuration};
pub use external_grpc::{DollarsPerHour, ExternalGrpcProvider, ExternalGrpcTls, SecretRef};
pub use machine::{NodeRequirement, RequirementOperator, Taint, TaintEffect};
pub use node_claim::{
    Adoption, ClaimOffering, ClaimPurpose, ClaimReason, LaunchAttempt, NodeClaim, NodeClaimSpec,
    NodeClaimStatus,
};
pub use node_pool::{
    NodePool, NodePoolSpec, NodePoolStatus, NodeTemplate, NodeTemplateMetadata, NodeTemplateSpec, ObjectRef,
    Performance,
};
pub use node_provider::{NodeProvider, NodeProviderSpec, NodeProviderStatus, ProviderHost, ProviderSource};
pub use proxmox::{
    ProxmoxClone, ProxmoxCloneMode, ProxmoxEndpoint, ProxmoxInterface, ProxmoxNetworkBoot, ProxmoxPrices,
    ProxmoxProvider, ProxmoxShape, ProxmoxShapes, VmidRange,
};
pub use quantity::ApiQuantity;
pub use simulated::{
    CapacityType, Catalogue, Fault, FaultEffect, LaunchErrorKind, ProviderCall, SimulatedInstanceType,
    SimulatedOffering, SimulatedProvider,
};
pub use size::{Headroom, HeadroomPods, Pace, Utilization};
