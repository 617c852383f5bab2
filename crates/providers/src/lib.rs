//! Where machines come from: the [`Provider`] trait, its errors, and one module per source of machines.
//!
//! A provider is told what to do and reports what it sees; it makes no decisions. Everything it launches carries a
//! [`MachineTag`] with the cluster's id and the claim's UID, by which the machine is found again after a crash and
//! told apart from machines that are not ours. [`Factory`] makes providers from their specification, and [`Guarded`]
//! keeps any of them from being called too long, too often or too seldom.

mod api_error;
mod clock;
mod error;
mod factory;
mod guard;
mod https;
mod inventory;
mod join;
mod machine;
mod names;
mod provider;
mod stated;
mod turns;
mod watch_retries;

pub mod external_grpc;
pub mod proxmox;
pub mod redfish;
pub mod simulated;

pub use clock::{Clock, SystemClock};
pub use error::{ErrorKind, ProviderError};
pub use factory::{Factory, stated_offers};
pub use guard::{GuardSettings, Guarded};
pub use inventory::{Host, Inventory};
pub use join::{Join, Joining};
pub use machine::{LaunchRequest, Machine, MachineState, MachineTag, Termination};
pub use provider::{Provider, ProviderFactory};
pub use watch_retries::WatchRetries;
