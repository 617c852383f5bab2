//! Giving a host back: it shuts down, or is powered off once it has had its time, and only then is it anybody's again.

use tracing::{info, warn};
use windlass_core::Text;

use super::Redfish;
use super::bmc::{Failure, FailureKind, Power, System, Wish};
use super::ledger::{Ending, Hold, Standing};
use super::naming::host_and_claim;
use crate::clock::has_passed;
use crate::{MachineTag, ProviderError, Termination};

impl Redfish {
    /// Ends a machine, if its tag is this one.
    pub(super) async fn end(
        &self,
        provider_id: &str,
        tag: &MachineTag,
    ) -> Result<Termination, ProviderError> {
        let not_found = || ProviderError::NotFound { provider_id: provider_id.to_owned() };
        let (host, uid) = host_and_claim(&self.name, provider_id).ok_or_else(not_found)?;
        let host = Text::from(host);
        let _hosts_turn = self.turns.with(&host).await;
        let ledger = self.books.read().await?;
        let hold = ledger.hold(&host, uid).ok_or_else(not_found)?;
        if hold.tag != *tag {
            let message = format!("it is tagged {:?} and not {tag:?}", hold.tag);
            return Err(ProviderError::NotOurs { provider_id: provider_id.to_owned(), message });
        }
        self.give_back(&host, hold).await
    }

    /// Takes the end of a machine one step further. Whoever calls this has the host's turn.
    pub(super) async fn give_back(&self, host: &Text, hold: &Hold) -> Result<Termination, ProviderError> {
        let uid = &hold.tag.claim_uid;
        let ending = match &hold.standing {
            Standing::Taken => {
                let untouched = self.books.change(|ledger| ledger.withdraw(host, uid)).await?;
                return Ok(if untouched { Termination::Gone } else { Termination::UnderWay });
            }
            Standing::Ending(ending) => ending.clone(),
            Standing::Starting { asked_at, .. } => {
                let blame = self.blame(hold).await?;
                self.begin_end(host, hold, Some(*asked_at), blame).await?
            }
            Standing::Running { .. } => {
                let blame = self.blame(hold).await?;
                self.begin_end(host, hold, None, blame).await?
            }
        };
        if self.settings.leave_on {
            return self.release(host, hold, true).await;
        }
        let system = self.look(host, &self.place(host, &hold.place)).await?;
        match system.power {
            Power::Off if self.may_still_go_on(&ending) => Ok(Termination::UnderWay),
            Power::Off => self.release(host, hold, false).await,
            Power::On => {
                self.was_seen_on(host, hold, &ending).await?;
                self.ask_to_be_off(host, hold, &ending, &system).await?;
                Ok(Termination::UnderWay)
            }
            Power::Changing => Ok(Termination::UnderWay),
            Power::Unknown => {
                let message = format!("the BMC of {host} does not say whether its host is on");
                Err(ProviderError::transient(message))
            }
        }
    }

    /// Writes down that a machine is to end.
    async fn begin_end(
        &self,
        host: &Text,
        hold: &Hold,
        may_go_on_since: Option<jiff::Timestamp>,
        blame: Option<String>,
    ) -> Result<Ending, ProviderError> {
        let ending = Ending { since: self.clock.now(), may_go_on_since, blame, failed: false };
        let standing = Standing::Ending(ending.clone());
        let uid = &hold.tag.claim_uid;
        _ = self.books.change(|ledger| ledger.set(host, uid, standing.clone())).await?;
        info!(provider = %self.name, %host, claim = %hold.tag.claim_name, "a machine is to end");
        Ok(ending)
    }

    /// What the host is quarantined for, if its node never came although there was time.
    async fn blame(&self, hold: &Hold) -> Result<Option<String>, ProviderError> {
        let Standing::Running { since } = &hold.standing else { return Ok(None) };
        let Some(time) = self.settings.join_timeout else { return Ok(None) };
        let had_time = has_passed(*since, time, self.clock.now());
        let node = &hold.shape.node_name;
        if hold.joined || !had_time || self.node_exists(node).await? {
            return Ok(None);
        }
        Ok(Some(format!("node {node} did not come within {}s of its host being on", time.as_secs())))
    }

    /// Whether it may be that the host was told to be on, and is not yet.
    fn may_still_go_on(&self, ending: &Ending) -> bool {
        let Some(asked_at) = ending.may_go_on_since else { return false };
        let time = self.settings.power_timeout.unwrap_or(super::DEFAULT_POWER_TIMEOUT);
        !has_passed(asked_at, time, self.clock.now())
    }

    async fn was_seen_on(&self, host: &Text, hold: &Hold, ending: &Ending) -> Result<(), ProviderError> {
        if ending.may_go_on_since.is_none() {
            return Ok(());
        }
        let standing = Standing::Ending(Ending { may_go_on_since: None, ..ending.clone() });
        let uid = &hold.tag.claim_uid;
        _ = self.books.change(|ledger| ledger.set(host, uid, standing.clone())).await?;
        Ok(())
    }

    /// Asks the host to shut down, or powers it off once it has had its time. Neither is asked again and again.
    async fn ask_to_be_off(
        &self,
        host: &Text,
        hold: &Hold,
        ending: &Ending,
        system: &System,
    ) -> Result<(), Failure> {
        let bmc = self.bmcs.of(host, &self.place(host, &hold.place))?;
        let overdue =
            self.settings.force_after.is_some_and(|time| has_passed(ending.since, time, self.clock.now()));
        let wish =
            if overdue || !bmc.offers(system, Wish::ShutDown).await { Wish::Off } else { Wish::ShutDown };
        if !self.wishes.is_new(host, &hold.tag.claim_uid, wish, self.pace.repeat) {
            return Ok(());
        }
        let asked = bmc.reset(wish).await;
        match asked {
            Ok(()) => {
                info!(provider = %self.name, %host, claim = %hold.tag.claim_name, ?wish, "asked a host to be off");
                self.wishes.made(host, &hold.tag.claim_uid, wish);
                Ok(())
            }
            // A host that is hung refuses to shut down: it is powered off when its time is over.
            Err(failure) if wish == Wish::ShutDown && failure.kind != FailureKind::Unauthorized => {
                warn!(provider = %self.name, %host, failure.words, "a host cannot be shut down");
                self.wishes.made(host, &hold.tag.claim_uid, wish);
                Ok(())
            }
            Err(failure) => Err(failure),
        }
    }

    async fn release(&self, host: &Text, hold: &Hold, left_on: bool) -> Result<Termination, ProviderError> {
        let (uid, now) = (&hold.tag.claim_uid, self.clock.now());
        self.books.change(|ledger| ledger.release(host, uid, left_on, now)).await?;
        info!(provider = %self.name, %host, claim = %hold.tag.claim_name, left_on, "a host was given back");
        Ok(Termination::Gone)
    }
}
