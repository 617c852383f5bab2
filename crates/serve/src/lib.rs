//! What Windlass serves over the network.

mod probes;

pub use probes::{Probes, probes, serve};
