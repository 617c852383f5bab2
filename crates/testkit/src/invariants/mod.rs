//! What must hold at every moment of a test, judged from outside.
//!
//! An [`InvariantWatcher`] sees every change on the API and, where a provider's machines do not show there, a journal
//! of what the provider did. A [`Judge`] decides at each of these events, not at the end, whether the [`Invariant`]s
//! hold. Neither shares code with the controller, whose mistakes they would otherwise share too. [`Foreign`] is the
//! plain comparison of before and after, for things that nobody should touch.

mod event;
mod facts;
mod history;
mod index;
mod judge;
mod options;
mod provenance;
mod rules;
mod settled;
mod snapshot;
mod violation;
mod watcher;
mod world;

#[cfg(test)]
mod tests;

pub use event::{ApiEvent, Change, Event, JournalEntry, Kind, ObjectName, Writer};
pub use judge::Judge;
pub use options::{Options, Scope};
pub use snapshot::Foreign;
pub use violation::{Invariant, Violation};
pub use watcher::{InvariantWatcher, WatcherError};
