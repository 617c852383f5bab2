//! The whole controller in a simulated world, thousands of times.
//!
//! Data flows top to bottom. [`generate`] makes a [`History`] of a seed: what users do, and what goes wrong, as an
//! explicit list. [`play`] runs two replicas of the controller, unmodified, in a [`world`] made of a simulated API server
//! ([`api`]), a network to it that loses and delays (`network`), a cloud that lies (`cloud`, `rack`) and the rest of a
//! cluster (`cluster`), and lets the history happen to them (`fate`). A court sees every change and every call, at the
//! moment it happens; when the history is over all heals, and the world has to come to rest, in order (`rest`).
//! [`shrink`] leaves out of a history whatever is not needed for it to fail.
//!
//! Time is tokio's paused clock, chance follows the seed, and a run has one thread: the same history takes the same course
//! each time.

pub mod api;

mod bonds;
mod cloud;
mod cluster;
mod court;
mod fate;
mod generate;
mod history;
mod network;
mod rack;
mod replica;
mod rest;
mod run;
mod shrink;
mod time;
mod trace;
mod trouble;
mod world;

pub use court::Finding;
pub use generate::generate;
pub use history::{Call, CallFault, Event, Failure, History, Pool, Setting, Side, WatchedKind, What};
pub use run::{Manner, Outcome, play};
pub use shrink::shrink;
