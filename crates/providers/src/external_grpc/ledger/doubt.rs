//! Requests of which it is not known whether they had their effect.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use windlass_core::Text;

use super::{Ledger, Seen, Standing};
use crate::clock::has_passed;

/// A request that changes how many instances a group is to have, which was sent or is about to be. In each group at most
/// one is in doubt at a time, so that the number itself tells whether it had its effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Doubt {
    /// How many the group was to have before.
    pub target: i32,
    pub asked_at: Timestamp,
    /// What the server said, where it answered with an error that leaves open what it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

/// What became of a doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Settled {
    /// There is none, or none any more.
    Clear,
    /// There is still one: the request may be under way.
    NotYet,
    /// One more was asked for this claim in vain; what the server said, if it did.
    InVain { claim_uid: Text, words: Option<String> },
}

impl Ledger {
    /// Whether a request is in doubt.
    pub fn is_in_doubt(&self) -> bool {
        self.entries.iter().any(|entry| matches!(entry.standing, Standing::Asked(_) | Standing::GivingUp(_)))
    }

    /// Settles what is in doubt by how many instances the group is to have now, and by those that it has. That a request had
    /// no effect is believed only when there was `time` for it to arrive.
    pub fn settle(&mut self, target: i32, seen: &[Seen], time: Duration, now: Timestamp) -> Settled {
        let more_than_expected = self.unexplained(seen) > self.waiting();
        let doubtful =
            |entry: &&mut super::Entry| matches!(entry.standing, Standing::Asked(_) | Standing::GivingUp(_));
        let Some(entry) = self.entries.iter_mut().find(doubtful) else { return Settled::Clear };
        let claim_uid = entry.tag.claim_uid.clone();
        match &entry.standing {
            Standing::Asked(doubt) if target > doubt.target || more_than_expected => {
                entry.standing = Standing::Waiting;
                Settled::Clear
            }
            Standing::Asked(doubt) if has_passed(doubt.asked_at, time, now) => {
                let words = doubt.words.clone();
                self.withdraw(&claim_uid);
                Settled::InVain { claim_uid, words }
            }
            Standing::GivingUp(doubt) if target < doubt.target => {
                self.withdraw(&claim_uid);
                Settled::Clear
            }
            Standing::GivingUp(doubt) if has_passed(doubt.asked_at, time, now) => {
                entry.standing = Standing::Waiting;
                Settled::Clear
            }
            _ => Settled::NotYet,
        }
    }
}
