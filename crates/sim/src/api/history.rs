use std::sync::Arc;

use tokio::time::Instant;
use windlass_testkit::invariants::{Change, Writer};

use super::kind::{KINDS, ResourceKind};
use super::stored::Stored;

/// One write. Every write has a version of its own.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The resource version that it made.
    pub version: u64,
    /// The moment from which on it can be seen.
    pub seen_from: Instant,
    /// What kind of object was written.
    pub kind: &'static ResourceKind,
    /// What happened to the object.
    pub change: Change,
    /// The object afterwards; of one that is gone its last state, with the version of its going.
    pub object: Arc<Stored>,
    /// The object before.
    pub before: Option<Arc<Stored>>,
    /// Who wrote.
    pub writer: Writer,
}

/// All writes since the last compaction, in order.
#[derive(Debug)]
pub(super) struct History {
    commits: Vec<Commit>,
    /// The versions of each kind's commits.
    by_kind: Vec<Vec<u64>>,
    /// The version up to which everything is forgotten.
    compacted: u64,
}

impl History {
    pub fn new() -> Self {
        Self { commits: Vec::new(), by_kind: vec![Vec::new(); KINDS.len()], compacted: 0 }
    }

    pub fn version(&self) -> u64 {
        self.commits.last().map_or(self.compacted, |last| last.version)
    }

    pub fn compacted(&self) -> u64 {
        self.compacted
    }

    pub fn add(&mut self, commit: Commit) {
        self.by_kind[commit.kind.place].push(commit.version);
        self.commits.push(commit);
    }

    pub fn after(&self, version: u64) -> &[Commit] {
        let first = self.commits.partition_point(|commit| commit.version <= version);
        &self.commits[first..]
    }

    /// A kind's commits after a version.
    pub fn of_kind_after(&self, kind: &ResourceKind, version: u64) -> impl Iterator<Item = &Commit> {
        let versions = &self.by_kind[kind.place];
        let first = versions.partition_point(|each| *each <= version);
        versions[first..].iter().filter_map(|version| self.commit(*version))
    }

    pub fn compact(&mut self, version: u64) {
        let kept = self.commits.partition_point(|commit| commit.version <= version);
        self.commits.drain(..kept);
        for versions in &mut self.by_kind {
            let kept = versions.partition_point(|each| *each <= version);
            versions.drain(..kept);
        }
        self.compacted = self.compacted.max(version);
    }

    fn commit(&self, version: u64) -> Option<&Commit> {
        let first = self.commits.first()?.version;
        self.commits.get(usize::try_from(version.checked_sub(first)?).ok()?)
    }
}
