//! Which claim has which host, and how far that has come.
//!
//! A BMC cannot bear a mark, so it is written here whose a host is, before its BMC is asked for anything. What may have an
//! effect later, such as powering on, is written down before it is asked, too. Nothing here does I/O.

mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use windlass_core::Text;

pub(super) use self::record::{Ending, Hold, Place, Quarantine, Record, Shape, Standing};

/// Which claim has which host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ledger {
    records: BTreeMap<Text, Record>,
}

impl Ledger {
    pub fn new(records: BTreeMap<Text, Record>) -> Self {
        Self { records }
    }

    /// What is known of each host of which there is anything to know.
    pub fn records(&self) -> impl Iterator<Item = (&Text, &Record)> {
        self.records.iter()
    }

    pub fn record(&self, host: &str) -> Option<&Record> {
        self.records.get(host)
    }

    /// The hosts that somebody has.
    pub fn holds(&self) -> impl Iterator<Item = (&Text, &Hold)> {
        self.records.iter().filter_map(|(host, record)| Some((host, record.hold.as_ref()?)))
    }

    /// The host that a claim has. One that failed is nothing that it has.
    pub fn of_claim(&self, claim_uid: &str) -> Option<(&Text, &Hold)> {
        self.holds().find(|(_, hold)| *hold.tag.claim_uid == *claim_uid && !hold.is_failed())
    }

    /// What a claim has of this host.
    pub fn hold(&self, host: &str, claim_uid: &str) -> Option<&Hold> {
        self.records.get(host)?.hold.as_ref().filter(|hold| *hold.tag.claim_uid == *claim_uid)
    }

    /// Whether a host is nobody's and may be taken.
    pub fn may_be_taken(&self, host: &str, quarantine: Option<Duration>, now: Timestamp) -> bool {
        self.records.get(host).is_none_or(|record| {
            record.hold.is_none()
                && !record.quarantine.as_ref().is_some_and(|each| each.holds(quarantine, now))
        })
    }

    /// Writes down that a host is this claim's.
    pub fn take(&mut self, host: &str, hold: Hold) {
        let record = self.records.entry(host.into()).or_default();
        record.quarantine = None;
        record.hold = Some(hold);
    }

    /// Writes down how far a claim has come with its host; whether the host is still the claim's.
    pub fn set(&mut self, host: &str, claim_uid: &str, standing: Standing) -> bool {
        self.change(host, claim_uid, |hold| hold.standing = standing)
    }

    /// Writes down that a host has become a node.
    pub fn joined(&mut self, host: &str, claim_uid: &str) -> bool {
        self.change(host, claim_uid, |hold| hold.joined = true)
    }

    /// Gives back a host of which nothing was asked yet; whether there was one.
    pub fn withdraw(&mut self, host: &str, claim_uid: &str) -> bool {
        let untouched = self.hold(host, claim_uid).is_some_and(|hold| hold.standing == Standing::Taken);
        if untouched {
            self.free(host);
        }
        untouched
    }

    /// Gives back a host that is off, or is left on. One that failed is quarantined.
    pub fn release(&mut self, host: &str, claim_uid: &str, left_on: bool, now: Timestamp) {
        let Some(hold) = self.hold(host, claim_uid) else { return };
        let blame = match &hold.standing {
            Standing::Ending(ending) => ending.blame.clone(),
            _ => None,
        };
        if let Some(record) = self.records.get_mut(host) {
            record.left_on = left_on;
        }
        self.free(host);
        if let Some(reason) = blame {
            self.quarantine(host, reason, now);
        }
    }

    /// Keeps a host from being taken for a while.
    pub fn quarantine(&mut self, host: &str, reason: String, now: Timestamp) {
        self.records.entry(host.into()).or_default().quarantine = Some(Quarantine { since: now, reason });
    }

    /// A host that was left on was seen to be off: whoever powers it on now is somebody else.
    pub fn went_off(&mut self, host: &str) {
        if let Some(record) = self.records.get_mut(host) {
            record.left_on = false;
        }
        self.tidy();
    }

    fn free(&mut self, host: &str) {
        if let Some(record) = self.records.get_mut(host) {
            record.hold = None;
        }
        self.tidy();
    }

    fn change(&mut self, host: &str, claim_uid: &str, change: impl FnOnce(&mut Hold)) -> bool {
        let hold = self.records.get_mut(host).and_then(|record| record.hold.as_mut());
        match hold.filter(|hold| *hold.tag.claim_uid == *claim_uid) {
            Some(hold) => {
                change(hold);
                true
            }
            None => false,
        }
    }

    fn tidy(&mut self) {
        self.records.retain(|_, record| *record != Record::default());
    }
}
