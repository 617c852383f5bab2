//! Giving back an instance, or what a claim still waits for.

use tracing::{info, warn};

use super::ExternalGrpc;
use super::books::{Book, Save};
use super::failure::FailureKind;
use super::ledger::{Hold, InstanceState, Seen, Standing};
use super::view::View;
use crate::clock::has_passed;
use crate::{MachineTag, ProviderError, Termination};

impl ExternalGrpc {
    /// Ends a machine, or what will become one, if its tag is this one.
    pub(super) async fn end(
        &self,
        provider_id: &str,
        tag: &MachineTag,
    ) -> Result<Termination, ProviderError> {
        let (book, entry) = self.find(provider_id).await?;
        if entry.tag != *tag {
            let message = format!("it is tagged {:?} and not {tag:?}", entry.tag);
            return Err(ProviderError::NotOurs { provider_id: provider_id.to_owned(), message });
        }
        let _groups_turn = self.groups.with(&book.group).await;
        let Some(view) = self.view(&book.group).await? else { return Ok(Termination::UnderWay) };
        // It may have got an instance, or have been dropped, in the meantime.
        let ledger = &view.book.ledger;
        let entry = match entry.instance() {
            Some(instance) => ledger.of_instance(instance).filter(|found| found.tag == *tag),
            None => ledger.of_claim(&tag.claim_uid),
        };
        match entry.map(|entry| entry.standing.clone()) {
            None => Ok(Termination::Gone),
            Some(Standing::Asked(_) | Standing::GivingUp(_)) => Ok(Termination::UnderWay),
            Some(Standing::Waiting) => self.give_up(view, tag).await,
            Some(Standing::Has(holding)) => self.delete(view, &holding.instance).await,
        }
    }

    async fn delete(&self, view: View, instance: &str) -> Result<Termination, ProviderError> {
        let View { mut book, seen, .. } = view;
        book.ledger.hold(instance, Hold::Ended);
        if self.books.save(&mut book).await? == Save::Overtaken {
            return Ok(Termination::UnderWay);
        }
        let shown = seen.iter().find(|seen| *seen.id == *instance);
        match shown.map(|seen| seen.state) {
            None => Ok(Termination::Gone),
            Some(InstanceState::Deleting) => Ok(Termination::UnderWay),
            // The number that the group is to have changes with it, which must not be while that is to tell something.
            Some(InstanceState::Present) if book.ledger.is_in_doubt() => Ok(Termination::UnderWay),
            Some(InstanceState::Present) => {
                self.client.delete(&book.group, instance).await?;
                info!(provider = %self.name, group = %book.group, instance, "asked for the end of an instance");
                Ok(Termination::UnderWay)
            }
        }
    }

    /// Has the server get one less, since nobody waits for it any more. If it is too late for that, the instance will be
    /// shown, and is ended then.
    async fn give_up(&self, view: View, tag: &MachineTag) -> Result<Termination, ProviderError> {
        let View { mut book, seen, .. } = view;
        if book.ledger.is_in_doubt() {
            return Ok(Termination::UnderWay);
        }
        let target = self.client.target(&book.group).await?;
        if self.will_not_come(&book, &seen, target, tag) {
            warn!(provider = %self.name, group = %book.group, claim = %tag.claim_name, "the server has given up an instance that it was to have");
            book.ledger.withdraw(&tag.claim_uid);
            return self.withdrawn(book).await;
        }
        book.ledger.intend_less(&tag.claim_uid, target, self.clock.now());
        if self.books.save(&mut book).await? == Save::Overtaken {
            return Ok(Termination::UnderWay);
        }
        match self.client.decrease(&book.group).await {
            Ok(()) => {
                book.ledger.withdraw(&tag.claim_uid);
                self.withdrawn(book).await
            }
            Err(failure) if failure.kind == FailureKind::Lost => Err(failure.error),
            Err(failure) => {
                let (provider, group, claim) = (&self.name, book.group.clone(), &tag.claim_name);
                info!(%provider, %group, %claim, error = %failure.error, "waiting for an instance to end it");
                book.ledger.still_comes(&tag.claim_uid);
                _ = self.books.save(&mut book).await?;
                Ok(Termination::UnderWay)
            }
        }
    }

    async fn withdrawn(&self, mut book: Book) -> Result<Termination, ProviderError> {
        Ok(match self.books.save(&mut book).await? {
            Save::Done => Termination::Gone,
            Save::Overtaken => Termination::UnderWay,
        })
    }

    /// Whether there are more who wait than the group is to have beyond what it shows. The server has then given up some of
    /// it by itself, and would have to be asked for one less than others wait for.
    fn will_not_come(&self, book: &Book, seen: &[Seen], target: i32, tag: &MachineTag) -> bool {
        let shown = seen.iter().filter(|seen| seen.state == InstanceState::Present).count();
        let expected = i64::try_from(shown.saturating_add(book.ledger.waiting())).unwrap_or(i64::MAX);
        let old = book
            .ledger
            .of_claim(&tag.claim_uid)
            .is_some_and(|entry| has_passed(entry.asked_at, self.pace.doubt, self.clock.now()));
        old && i64::from(target) < expected
    }
}
