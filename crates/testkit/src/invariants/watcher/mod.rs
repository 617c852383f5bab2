//! Feeds a [`Judge`] from watches of a real API server.

mod court;
mod known;
mod order;
mod streams;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use kube::{Client, Resource};
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use self::court::Court;
use self::streams::{follow, is_caught_up};
use super::event::{JournalEntry, Kind, ObjectName};
use super::options::Options;
use super::violation::{Invariant, Violation};

/// How long the watches may take to see what is on the API server.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often is looked whether events are due.
const INTERVAL: Duration = Duration::from_millis(100);

/// Why the watcher cannot judge.
#[derive(Debug, thiserror::Error)]
pub enum WatcherError {
    /// A watch did not see what is on the API server.
    #[error("the watch of {kind} is not caught up after {PATIENCE:?}; last error: {problem}")]
    Behind {
        /// What is watched.
        kind: Kind,
        /// What the watch said last.
        problem: String,
    },
    /// An object is not JSON.
    #[error("cannot read the object")]
    Object(#[from] serde_json::Error),
}

/// Watches a control plane for as long as it is kept, and has each change judged.
///
/// Events of different kinds come by different watches. So that they are judged in the order in which they happened, each
/// is held back for a moment and they are let go by resource version.
pub struct InvariantWatcher {
    client: Client,
    court: Arc<Mutex<Court>>,
    /// Dropping it ends the watches.
    _tasks: JoinSet<()>,
}

impl InvariantWatcher {
    /// Starts to watch, and returns once everything that exists has been seen. The custom resources must be installed.
    pub async fn start(client: Client, options: Options) -> Result<Self, WatcherError> {
        let court = Arc::new(Mutex::new(Court::new(options)));
        let mut tasks = JoinSet::new();
        for kind in Kind::ALL {
            tasks.spawn(follow(client.clone(), kind, Arc::clone(&court)));
        }
        tasks.spawn(keep_time(Arc::clone(&court)));
        let watcher = Self { client, court, _tasks: tasks };
        watcher.wait_for_watches().await?;
        watcher.court().release_all(now());
        Ok(watcher)
    }

    /// Declares an object foreign: from now on it has to stay as it is here.
    pub fn foreign<K>(&self, kind: Kind, object: &K) -> Result<(), WatcherError>
    where
        K: Resource + Serialize,
    {
        let metadata = object.meta();
        let name = metadata.name.as_deref().unwrap_or_default();
        let name =
            metadata.namespace.as_ref().map_or_else(|| name.to_owned(), |space| format!("{space}/{name}"));
        Ok(self.court().judge.foreign(ObjectName::new(kind, name), object)?)
    }

    /// Leaves violations of an invariant unreported when they concern this object.
    pub fn excuse(&self, invariant: Invariant, object: ObjectName) {
        self.court().judge.excuse(invariant, object);
    }

    /// Reports what a provider did whose machines do not show on the API.
    pub fn journal(&self, entry: JournalEntry) {
        self.court().journal(entry, now());
    }

    /// What was violated so far.
    pub fn violations(&self) -> Vec<Violation> {
        self.court().violations.clone()
    }

    /// Panics if anything was violated so far.
    #[expect(clippy::panic, reason = "this is an assertion")]
    #[track_caller]
    pub fn check(&self) {
        let violations = self.violations();
        if !violations.is_empty() {
            let texts: Vec<_> = violations.iter().map(ToString::to_string).collect();
            panic!("{} invariants were violated:\n{}", texts.len(), texts.join("\n"));
        }
    }

    /// Waits until everything that has happened up to now is judged, and returns what was violated.
    pub async fn settle(&self) -> Result<Vec<Violation>, WatcherError> {
        let deadline = Instant::now() + PATIENCE;
        for kind in Kind::ALL {
            while !is_caught_up(&self.client, kind, &self.court).await {
                if Instant::now() > deadline {
                    return Err(self.behind(kind));
                }
                sleep(INTERVAL).await;
            }
        }
        let mut court = self.court();
        court.release_all(now());
        Ok(court.violations.clone())
    }

    /// Waits until everything that has happened up to now is judged, and panics if anything was violated.
    pub async fn finish(self) -> Result<(), WatcherError> {
        self.settle().await?;
        self.check();
        Ok(())
    }

    async fn wait_for_watches(&self) -> Result<(), WatcherError> {
        let all: BTreeSet<Kind> = Kind::ALL.into();
        let waiting = async {
            while !all.iter().all(|kind| self.court().known(*kind).is_complete()) {
                sleep(INTERVAL).await;
            }
        };
        if timeout(PATIENCE, waiting).await.is_ok() {
            return Ok(());
        }
        let missing = all.into_iter().find(|kind| !self.court().known(*kind).is_complete());
        missing.map_or(Ok(()), |kind| Err(self.behind(kind)))
    }

    fn behind(&self, kind: Kind) -> WatcherError {
        let problem = self.court().known(kind).problem.clone().unwrap_or_else(|| "none".to_owned());
        WatcherError::Behind { kind, problem }
    }

    fn court(&self) -> MutexGuard<'_, Court> {
        lock(&self.court)
    }
}

async fn keep_time(court: Arc<Mutex<Court>>) {
    loop {
        sleep(INTERVAL).await;
        lock(&court).release_due(now());
    }
}

/// A panic elsewhere in the test must not hide what was found.
fn lock(court: &Mutex<Court>) -> MutexGuard<'_, Court> {
    court.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::disallowed_methods, reason = "events of a real API server happen in real time")]
fn now() -> Timestamp {
    Timestamp::now()
}
