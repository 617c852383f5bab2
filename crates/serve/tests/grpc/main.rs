//! Node groups over gRPC, asked by a real client over loopback.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic fails the test")]

mod authority;
mod barn;
mod calls;
mod malformed;
mod options;
mod raw;
mod stage;
mod together;
mod trust;
