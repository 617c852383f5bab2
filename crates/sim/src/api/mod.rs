//! The simulated API server.

mod apply;
mod builtin;
mod delete;
mod eviction;
mod fields;
mod handle;
mod history;
mod kind;
mod list;
mod metadata;
mod owners;
mod patch;
mod pod;
mod proposal;
mod refusal;
mod route;
mod schema;
mod selector;
mod server;
mod stored;
#[cfg(test)]
mod tests;
mod typed;
mod watch;
mod write;

pub use handle::{Caller, Reply};
pub use history::Commit;
pub use kind::{KINDS, ResourceKind};
pub use refusal::StatusError;
pub use server::Server;
pub use stored::Stored;
pub use watch::{Gone, Watch};
