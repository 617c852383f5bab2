//! What planning is measured on: workloads and catalogues ([`demand`], [`catalogue`]), the clusters made of them
//! ([`scenario`]), how long a plan takes, what it costs and what it could cost at least ([`measure`]),
//! what comes of plans over a day ([`simulation`]),
//! and how quickly Cluster Autoscaler is answered ([`bridge`]).

pub mod bridge;
pub mod catalogue;
pub mod cluster;
pub mod consolidation;
pub mod demand;
mod dice;
pub mod measure;
pub mod memory;
pub mod scenario;
pub mod simulation;
