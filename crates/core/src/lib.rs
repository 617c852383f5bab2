//! The pure heart of Windlass: the model of a cluster, and [`plan()`], which says what to launch and what to give
//! back. Nothing here does I/O, reads a clock or draws randomness; the same input gives the same plan everywhere.
//!
//! Data flows top to bottom: [`model`] is what is known, [`plan()`] decides on it, [`Plan`] is the decision and
//! [`Report`] the reasons for it.

mod ceiling;
mod dice;
mod hash;
pub mod model;
mod money;
mod quantity;

pub mod pack;
pub mod plan;
mod stock;

pub use ceiling::Ceiling;
pub use hash::stable_hash;
pub use money::{Price, PriceError};
pub use plan::{Plan, Report, plan};
pub use quantity::{Quantity, QuantityError};
pub use stock::{Lack, Stock};

/// Text that is shared rather than copied: names and labels recur in thousands of objects.
pub type Text = std::sync::Arc<str>;
