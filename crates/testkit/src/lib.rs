//! A real Kubernetes control plane for Windlass's tests and its demo.
//!
//! [`ControlPlane`] starts etcd, the API server, the scheduler, the controller manager and KWOK in a few seconds, from
//! one binary that is built of `tools/controlplane` when it is first needed. [`plane_tests!`] makes a test binary of
//! async functions that share one such plane, and skips them, saying so, where it cannot be had.

mod binary;
mod builder;
mod cache;
mod crds;
mod credentials;
mod error;
mod flags;
mod goprogram;
pub mod harness;
pub mod invariants;
mod log;
pub mod objects;
mod placement;
mod plane;
mod ports;
mod programs;
pub mod proxmox;
mod pyenv;
mod ready;
mod supervised;
mod wait;
mod windlass;

pub use binary::controlplane_binary;
pub use builder::ControlPlaneBuilder;
pub use crds::install_crds;
pub use error::{PlaneError, PlaneUnavailable};
pub use placement::Placements;
pub use plane::ControlPlane;
pub use programs::Component;
pub use pyenv::{package_file, venv};
pub use wait::{Observation, eventually};
pub use windlass::{Memory, WindlassProcess};
