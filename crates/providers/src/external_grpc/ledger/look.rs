//! Taking in what the server shows.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use windlass_core::Text;

use super::{Entry, Hold, Holding, Ledger, Standing};
use crate::clock::has_passed;

/// How long an instance that is not shown any more is remembered: if it is shown again, it is still ours.
const REMEMBERED: Duration = Duration::from_hours(1);
/// How long an instance that was ended must have been out of sight for its id to be that of another.
const ID_FREE: Duration = Duration::from_mins(1);

/// An instance as the server shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Seen {
    pub id: Text,
    pub state: InstanceState,
    /// Why it cannot be made, if it cannot.
    pub error: Option<CreationError>,
}

/// Where an instance is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum InstanceState {
    Present,
    Deleting,
}

/// Why an instance cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct CreationError {
    /// The server's words.
    pub words: String,
    /// Whether there is no more of what it needs.
    pub out_of_resources: bool,
}

impl Ledger {
    /// Takes in all instances of the group. One that nobody has goes to the claim that has waited longest; where nobody
    /// waits it is a stranger, unless it is in doubt whether somebody should. Says which are new strangers.
    pub fn look(&mut self, seen: &[Seen], now: Timestamp) -> Vec<Text> {
        let known = self.strangers.clone();
        let shown: BTreeSet<&str> = seen.iter().map(|instance| &*instance.id).collect();
        self.strangers.retain(|id| shown.contains(&**id));
        for instance in seen.iter().filter(|instance| instance.state == InstanceState::Present) {
            self.place(&instance.id, now);
        }
        for entry in &mut self.entries {
            if let Standing::Has(holding) = &mut entry.standing {
                if shown.contains(&*holding.instance) {
                    holding.missing_since = None;
                } else {
                    holding.missing_since.get_or_insert(now);
                }
            }
        }
        self.entries.retain(|entry| !entry.was_missing_for(REMEMBERED, now));
        self.tidy();
        self.strangers.difference(&known).cloned().collect()
    }

    fn place(&mut self, instance: &Text, now: Timestamp) {
        if self.is_stranger(instance) {
            return;
        }
        if let Some(owner) = self.of_instance(instance) {
            if !(self.waiting() > 0 && owner.is_over() && owner.was_missing_for(ID_FREE, now)) {
                return;
            }
            self.entries.retain(|entry| entry.instance() != Some(&**instance));
        }
        let in_doubt = self.is_in_doubt();
        let longest = self.entries.iter_mut().find(|entry| entry.standing == Standing::Waiting);
        match longest {
            Some(entry) => {
                let holding = Holding { instance: instance.clone(), hold: Hold::Kept, missing_since: None };
                entry.standing = Standing::Has(holding);
            }
            None if in_doubt => {}
            None => {
                self.strangers.insert(instance.clone());
            }
        }
    }

    /// How many instances nobody has, and nobody is known not to.
    pub(super) fn unexplained(&self, seen: &[Seen]) -> usize {
        let unexplained = seen.iter().filter(|instance| {
            instance.state == InstanceState::Present
                && !self.is_stranger(&instance.id)
                && self.of_instance(&instance.id).is_none()
        });
        unexplained.map(|instance| &instance.id).collect::<BTreeSet<_>>().len()
    }
}

impl Entry {
    fn is_over(&self) -> bool {
        matches!(&self.standing, Standing::Has(holding) if holding.hold != Hold::Kept)
    }

    fn was_missing_for(&self, time: Duration, now: Timestamp) -> bool {
        let Standing::Has(Holding { missing_since: Some(since), .. }) = &self.standing else { return false };
        has_passed(*since, time, now)
    }
}
