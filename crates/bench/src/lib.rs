//! What planning is measured on: workloads and catalogues ([`demand`], [`catalogue`]), the clusters made of them
//! ([`scenario`]), and how long a plan takes, what it costs and what it could cost at least ([`measure`]).

pub mod catalogue;
pub mod cluster;
pub mod consolidation;
pub mod demand;
mod dice;
pub mod measure;
pub mod memory;
pub mod scenario;
