//! What Windlass serves over the network.

pub mod grpc;
mod probes;

pub use probes::{Probes, probes, serve};
