//! Node groups, served to Cluster Autoscaler over its own gRPC protocol.
//!
//! What the groups are and what is done to them is behind [`NodeGroups`](windlass_groups::NodeGroups). This module checks what a caller says before
//! anything sees it, gives every refusal a code and a sentence, and lets in only whom the certificates let in.

mod answer;
mod ask;
mod certificates;
mod incoming;
mod options;
mod security;
mod server;
mod service;

pub use certificates::{CertificateError, TlsFiles};
pub use security::{Security, Unsecured};
pub use server::{ServeError, serve_grpc};
