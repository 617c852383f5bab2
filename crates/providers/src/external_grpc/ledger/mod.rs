//! Who has which instance of one group.
//!
//! The server knows nothing of claims: it is told to have one more, and some time later shows an instance that was not
//! there before. So what was asked for, and for whom, is written down before it is asked, and an instance is written down
//! as somebody's before anybody is told of it. Nothing here does I/O.

mod doubt;
mod entry;
mod look;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use windlass_core::{Text, stable_hash};

pub(super) use self::doubt::{Doubt, Settled};
pub(super) use self::entry::{Entry, Hold, Holding, Shape, Standing};
pub(super) use self::look::{CreationError, InstanceState, Seen};
use crate::{MachineTag, ProviderError};

/// Who has which instance of one group, and who waits for one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ledger {
    /// In the order in which instances were asked for.
    entries: Vec<Entry>,
    /// Instances that were there when nobody waited for any. They are never touched.
    strangers: BTreeSet<Text>,
    /// What the entries' machines are, by the hash of it: most have it in common.
    shapes: BTreeMap<String, Shape>,
}

impl Ledger {
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// What a claim has or waits for. What could not be made for it is nothing that it has.
    pub fn of_claim(&self, claim_uid: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| *entry.tag.claim_uid == *claim_uid && !entry.is_failed())
    }

    /// Whose an instance is.
    pub fn of_instance(&self, instance: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.instance() == Some(instance))
    }

    pub fn is_stranger(&self, instance: &str) -> bool {
        self.strangers.contains(instance)
    }

    /// What the machine of an entry is.
    pub fn shape(&self, entry: &Entry) -> Result<&Shape, ProviderError> {
        let missing =
            || ProviderError::transient(format!("it is not recorded what {} has", entry.tag.claim_name));
        self.shapes.get(&entry.shape).ok_or_else(missing)
    }

    /// How many wait for an instance that the server has said it will get.
    pub fn waiting(&self) -> usize {
        self.entries.iter().filter(|entry| entry.standing == Standing::Waiting).count()
    }

    /// Writes down that one more is about to be asked for, for this claim, while the group is to have `target`.
    pub fn intend(&mut self, tag: MachineTag, shape: Shape, target: i32, now: Timestamp) {
        let key = key(&shape);
        self.shapes.insert(key.clone(), shape);
        let standing = Standing::Asked(Doubt { target, asked_at: now, words: None });
        self.entries.push(Entry { tag, shape: key, asked_at: now, standing });
    }

    /// The server said that it will have one more for this claim.
    pub fn granted(&mut self, claim_uid: &str) {
        self.change(claim_uid, |entry| entry.standing = Standing::Waiting);
    }

    /// The server refused in words that leave open whether it did as asked.
    pub fn said(&mut self, claim_uid: &str, words: &str) {
        self.change(claim_uid, |entry| {
            if let Standing::Asked(doubt) = &mut entry.standing {
                doubt.words = Some(words.to_owned());
            }
        });
    }

    /// Writes down that the server is about to be asked for one less, since this claim waits no more.
    pub fn intend_less(&mut self, claim_uid: &str, target: i32, now: Timestamp) {
        self.change(claim_uid, |entry| {
            entry.standing = Standing::GivingUp(Doubt { target, asked_at: now, words: None });
        });
    }

    /// The server will not have one less: what the claim waited for will come.
    pub fn still_comes(&mut self, claim_uid: &str) {
        self.change(claim_uid, |entry| entry.standing = Standing::Waiting);
    }

    /// What the claim has or waits for is nobody's any more.
    pub fn withdraw(&mut self, claim_uid: &str) {
        self.entries.retain(|entry| *entry.tag.claim_uid != *claim_uid || entry.is_failed());
        self.tidy();
    }

    /// Writes down what is being done about an instance.
    pub fn hold(&mut self, instance: &str, hold: Hold) {
        for entry in &mut self.entries {
            if let Standing::Has(holding) = &mut entry.standing
                && *holding.instance == *instance
                && holding.hold == Hold::Kept
            {
                holding.hold = hold;
            }
        }
    }

    fn change(&mut self, claim_uid: &str, change: impl FnOnce(&mut Entry)) {
        let found =
            self.entries.iter_mut().find(|entry| *entry.tag.claim_uid == *claim_uid && !entry.is_failed());
        if let Some(entry) = found {
            change(entry);
        }
    }

    fn tidy(&mut self) {
        let used: BTreeSet<&str> = self.entries.iter().map(|entry| entry.shape.as_str()).collect();
        self.shapes.retain(|key, _| used.contains(key.as_str()));
    }
}

fn key(shape: &Shape) -> String {
    format!("{:016x}", stable_hash(&[format!("{shape:?}").as_bytes()]))
}
