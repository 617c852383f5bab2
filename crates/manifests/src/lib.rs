//! Manifests as a cluster to plan for, without an API server.
//!
//! Data flows top to bottom. [`Manifests::read`] takes texts apart into documents and those into typed [`Object`]s, held
//! to what the API server would hold them to (`admit`), which also says what it and the controllers behind it would set;
//! the first that it would refuse is a [`Fault`] that names file, document and field. [`apply()`] puts the objects into a
//! [`Cluster`](windlass_control::offline::Cluster), which may know a live cluster's objects already: those of the same
//! name are replaced, and workloads keep the pods that are still as the manifest says.

mod admit;
mod apply;
mod daemons;
mod fault;
mod made_of;
mod object;
mod read;
mod workload;

pub use apply::apply;
pub use fault::{Fault, Flaw, Place, join};
pub use object::Object;
pub use read::{Document, Manifests, Source};
pub use workload::Workload;
