//! I7: nothing is written over and over, and claims are not created without end.
//!
//! A write is a new version of an object whose managed fields show Windlass as the latest writer. Writes that change
//! nothing make no new version and are not seen.

use std::collections::{HashMap, VecDeque};

use jiff::{SignedDuration, Timestamp};

use super::super::event::{ApiEvent, Change, Kind, ObjectName, Writer};
use super::super::provenance;
use super::super::violation::{Finding, Invariant};
use super::Case;

const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// When Windlass wrote what.
#[derive(Debug, Default)]
pub(in super::super) struct Storms {
    objects: HashMap<ObjectName, Writes>,
    claims: HashMap<String, VecDeque<Timestamp>>,
}

#[derive(Debug, Default)]
struct Writes {
    times: VecDeque<Timestamp>,
    /// When the object's managed fields last said that Windlass wrote it.
    ours: Option<Timestamp>,
}

impl Storms {
    /// Counts a write of an object that is in scope.
    pub(in super::super) fn count(&mut self, case: &mut Case<'_>, name: &ObjectName, event: &ApiEvent) {
        if event.change == Change::Deleted {
            return;
        }
        let ours = provenance::last_written_by_us(&event.object.metadata);
        if ours.is_none() && event.writer != Writer::Windlass {
            return;
        }
        let writes = self.objects.entry(name.clone()).or_default();
        let by_us = match event.writer {
            Writer::Windlass => true,
            Writer::Other => false,
            Writer::Unknown => provenance::latest_is_ours(&event.object.metadata, writes.ours),
        };
        writes.ours = ours;
        if event.change == Change::Found || !by_us {
            return;
        }
        let count = push(&mut writes.times, case.now, case.options.write_window);
        if count > case.options.writes_per_object {
            writes.times.clear();
            let message = format!("{name} was written {count} times within {:#}", case.options.write_window);
            case.findings.push(Finding::new(Invariant::NoWriteStorm, message, vec![name.clone()]));
        }
    }

    /// Counts a claim created for a pool that is in scope.
    pub(in super::super) fn claim_created(&mut self, case: &mut Case<'_>, pool: &str, claim: &ObjectName) {
        let times = self.claims.entry(pool.to_owned()).or_default();
        let count = push(times, case.now, HOUR);
        if count > case.options.claims_per_pool_per_hour {
            times.clear();
            let message = format!("{count} claims were created for NodePool {pool} within an hour");
            let objects = vec![ObjectName::new(Kind::NodePool, pool), claim.clone()];
            case.findings.push(Finding::new(Invariant::NoWriteStorm, message, objects));
        }
    }

    /// Forgets an object that is gone, unless it was just written: one that is created and deleted over and over is
    /// a storm too.
    pub(in super::super) fn forget(&mut self, case: &Case<'_>, name: &ObjectName) {
        let idle = |writes: &Writes| {
            writes.times.back().is_none_or(|last| case.now.duration_since(*last) > case.options.write_window)
        };
        if self.objects.get(name).is_some_and(idle) {
            self.objects.remove(name);
        }
    }
}

/// Adds a time and says how many there are within the window.
fn push(times: &mut VecDeque<Timestamp>, now: Timestamp, window: SignedDuration) -> usize {
    times.push_back(now);
    while times.front().is_some_and(|first| now.duration_since(*first) > window) {
        times.pop_front();
    }
    times.len()
}
