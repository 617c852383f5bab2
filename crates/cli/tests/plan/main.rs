//! `windlass plan` and `windlass explain` on files: no cluster is needed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic fails the test")]

mod desk;
mod examples;
mod explained;
mod faults;
mod formats;
mod kinds;
mod sources;
mod what_if;
