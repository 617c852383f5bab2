//! KubeNodeSmith's kinds.

mod claim;
mod control_plane;
mod options;
mod pool;
mod provider;
mod proxmox;

pub(crate) use claim::claim;
pub(crate) use control_plane::{Smithy, control_plane};
pub(crate) use pool::pool;
pub(crate) use provider::provider;

/// The version of all of them.
pub(crate) const VERSION: &str = "kubenodesmith.parawell.cloud/v1alpha1";
