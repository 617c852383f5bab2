//! `windlass import`: what it makes of manifests of others, and what it says about it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic fails the test")]

mod desk;
mod faults;
mod made;
mod told;
