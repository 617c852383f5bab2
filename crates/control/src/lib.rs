//! The controller: watches the cluster, plans, and carries every claim through its life.
//!
//! Data flows top to bottom. [`adapt`] turns API objects into the compact model as they arrive, [`index`] holds them,
//! [`planning`] asks the pure planner and writes its decision as claims, [`lifecycle`] moves each claim on, one
//! pure step at a time, with what [`joining`] tells machines where that is needed, and [`sweep`] compares what is claimed
//! with what the providers have. `buffers` reads what room is to be kept ready, and [`groups`] lets Cluster Autoscaler decide
//! about some pools. Only the holder of the lease ([`leader`]) writes. [`offline`] fills the same index from objects at hand,
//! to see what would be planned.
//!
//! Clock, randomness, Kubernetes client and providers are arguments ([`Dependencies`]), and there are no threads, so
//! that the whole controller runs deterministically in a simulation.

pub mod adapt;
pub mod groups;
pub mod index;
pub mod joining;
pub mod leader;
pub mod lifecycle;
pub mod offline;
pub mod planning;
pub mod sweep;

mod avoidance;
mod buffers;
mod catalogue;
mod controller;
mod events;
mod kubernetes;
mod metrics;
pub mod planted;
mod queue;
mod readable;
mod settings;
mod status;
mod watch;

pub use controller::{Controller, Dependencies, Health};
pub use kubernetes::controller_config;
pub use metrics::Metrics;
pub use settings::Settings;
