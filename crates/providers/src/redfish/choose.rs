//! Which host a claim gets.

use std::collections::BTreeMap;

use tracing::info;
use windlass_core::Text;

use super::Redfish;
use super::ledger::{Hold, Standing};
use super::state::State;
use crate::{LaunchRequest, ProviderError};

/// How many hosts are named when there is none left.
const NAMED: usize = 5;

/// Hosts that were tried in vain, and why.
pub(super) type Tried = BTreeMap<Text, (State, String)>;

impl Redfish {
    /// The claim's host: the one that it has, or one that is free, which is written down as the claim's.
    pub(super) async fn take(&self, request: &LaunchRequest, tried: &Tried) -> Result<Text, ProviderError> {
        let uid = &request.tag.claim_uid;
        if let Some((host, _)) = self.books.read().await?.of_claim(uid) {
            return Ok(host.clone());
        }
        // What is known already will do where it names a host: its BMC is asked again before anything is done.
        let (mut free, _) = self.free(request, tried).await?;
        loop {
            let (now, quarantine) = (self.clock.now(), self.settings.quarantine);
            let taken = self.books.change(|ledger| {
                if let Some((host, _)) = ledger.of_claim(uid) {
                    return Some(host.clone());
                }
                let (host, hold) =
                    free.iter().find(|(host, _)| ledger.may_be_taken(host, quarantine, now))?;
                ledger.take(host, hold.clone());
                Some(host.clone())
            });
            if let Some(host) = taken.await? {
                info!(provider = %self.name, %host, claim = %request.tag.claim_name, "took a host");
                return Ok(host);
            }
            self.survey(self.pace.fresh).await?;
            let (found, others) = self.free(request, tried).await?;
            if found.is_empty() {
                return Err(none_left(request, &others));
            }
            free = found;
        }
    }

    /// The hosts of the offering that are free, as they would be taken, and what is the matter with the others.
    async fn free(
        &self,
        request: &LaunchRequest,
        tried: &Tried,
    ) -> Result<(Vec<(Text, Hold)>, Tried), ProviderError> {
        let view = self.view().await?;
        let now = self.clock.now();
        let (mut free, mut others) = (Vec::new(), Tried::new());
        for name in self.hosts.keys() {
            let Some(offer) = self.offer(name, true).filter(|offer| offer.key() == request.offering) else {
                continue;
            };
            let (state, why) = tried.get(name).cloned().unwrap_or_else(|| self.state(&view, name));
            match offer.shape(&self.reserved) {
                Some(shape) if state == State::Free && !tried.contains_key(name) => {
                    let hold = Hold {
                        tag: request.tag.clone(),
                        taken_at: now,
                        place: offer.host.place.clone(),
                        shape,
                        joined: false,
                        standing: Standing::Taken,
                    };
                    free.push((name.clone(), hold));
                }
                _ => _ = others.insert(name.clone(), (state, why)),
            }
        }
        Ok((free, others))
    }
}

/// The error that no host is free, with what is the matter with each.
fn none_left(request: &LaunchRequest, others: &Tried) -> ProviderError {
    let offering = &request.offering;
    let what = format!("{} in {}", offering.instance_type, offering.zone);
    if others.is_empty() {
        return ProviderError::InsufficientCapacity { message: format!("there is no host of type {what}") };
    }
    let each = others.iter().take(NAMED);
    let mut words: Vec<String> =
        each.map(|(host, (state, why))| format!("{host} is {}: {why}", state.as_str())).collect();
    if others.len() > NAMED {
        words.push(format!("and {} more", others.len() - NAMED));
    }
    let message = format!("none of the {} hosts of type {what} is free: {}", others.len(), words.join("; "));
    if others.values().all(|(state, _)| *state == State::Unauthorized) {
        return ProviderError::Unauthorized { message };
    }
    ProviderError::InsufficientCapacity { message }
}
