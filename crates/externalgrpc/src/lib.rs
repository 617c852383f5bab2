//! Cluster Autoscaler's gRPC protocol on the wire, for those who serve it and those who call it.

pub mod kubernetes;
mod versions;

pub use versions::SpanError;

/// The messages, the server and the client, generated from `proto/externalgrpc.proto`.
#[allow(
    clippy::pedantic,
    missing_docs,
    unused_qualifications,
    reason = "generated; what is documented in the protocol is documented here"
)]
pub mod wire {
    include!("generated.rs");
}
