//! I2: a live machine is without a claim at most for the grace period.
//!
//! A machine has a claim as long as there is one with the UID in its tag, or one that takes over that claim's machine;
//! a claim that is being deleted still counts. The clock starts when the judge first sees the machine without one.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;

use super::super::violation::{Finding, Invariant};
use super::Case;

/// The machines without a claim, and until when each may be.
#[derive(Debug, Default)]
pub(in super::super) struct Orphans {
    deadlines: HashMap<String, Timestamp>,
    due: BTreeSet<(Timestamp, String)>,
}

impl Orphans {
    /// Looks again at the machines that were launched for a claim.
    pub(in super::super) fn review_claim(&mut self, case: &Case<'_>, claim_uid: &str) {
        for machine in case.world.machines_of(claim_uid) {
            self.review(case, &machine.provider_id);
        }
    }

    /// Looks again at one machine.
    pub(in super::super) fn review(&mut self, case: &Case<'_>, provider_id: &str) {
        let orphan = case.world.machine(provider_id).is_some_and(|machine| {
            let has_claim = case.world.claim(&machine.claim_uid).is_some()
                || case.world.adopters(&machine.claim_uid).next().is_some();
            machine.live && !has_claim && case.options.scope.includes_cluster(&machine.cluster_id)
        });
        if !orphan {
            if let Some(deadline) = self.deadlines.remove(provider_id) {
                self.due.remove(&(deadline, provider_id.to_owned()));
            }
        } else if !self.deadlines.contains_key(provider_id) {
            let deadline = case.now.checked_add(case.options.orphan_grace).unwrap_or(Timestamp::MAX);
            self.deadlines.insert(provider_id.to_owned(), deadline);
            self.due.insert((deadline, provider_id.to_owned()));
        }
    }

    /// Reports the machines whose time is up, each once.
    pub(in super::super) fn expire(&mut self, case: &mut Case<'_>) {
        while let Some((_, id)) = self.due.first().filter(|(deadline, _)| *deadline < case.now).cloned() {
            self.due.pop_first();
            if let Some(machine) = case.world.machine(&id) {
                let message = format!(
                    "machine {id} has had no NodeClaim for {:#}; it was launched for the claim with UID {}",
                    case.options.orphan_grace, machine.claim_uid
                );
                case.findings.push(Finding::new(Invariant::NoOrphans, message, vec![machine.name.clone()]));
            }
        }
    }
}
