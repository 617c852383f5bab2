//! A group as it is now: its ledger, and what the server shows.

use tracing::info;

use super::ExternalGrpc;
use super::books::{Book, Save};
use super::failure::Failure;
use super::ledger::{Entry, InstanceState, Seen, Settled};
use crate::{Machine, MachineState, ProviderError};

/// A group whose ledger has taken in what the server shows, and is written.
#[derive(Debug)]
pub(super) struct View {
    pub book: Book,
    pub seen: Vec<Seen>,
    pub settled: Settled,
}

impl ExternalGrpc {
    /// Reads a group's ledger, settles what is in doubt, and gives instances that have appeared to those who wait. None
    /// says that somebody else wrote the ledger at the same time. Whoever calls this has the group's turn.
    pub(super) async fn view(&self, group: &str) -> Result<Option<View>, ProviderError> {
        let mut book = self.books.get(group).await?;
        let in_doubt = book.ledger.is_in_doubt();
        let target = if in_doubt { Some(self.client.target(group).await?) } else { None };
        let seen = self.client.instances(group).await?;
        let now = self.clock.now();
        let settled = match target {
            Some(target) => book.ledger.settle(target, &seen, self.pace.doubt, now),
            None => Settled::Clear,
        };
        for instance in book.ledger.look(&seen, now) {
            info!(provider = %self.name, %group, %instance, "an instance that nobody waits for is left alone");
        }
        let saved = self.books.save(&mut book).await?;
        Ok((saved == Save::Done).then_some(View { book, seen, settled }))
    }

    /// The machine of an entry, as far as there is one.
    pub(super) fn machine(
        &self,
        book: &Book,
        entry: &Entry,
        seen: Option<&Seen>,
    ) -> Result<Machine, ProviderError> {
        let shape = book.ledger.shape(entry)?.clone();
        let gone = seen.is_some_and(|seen| seen.state == InstanceState::Deleting);
        Ok(Machine {
            provider_id: match entry.instance() {
                Some(instance) => instance.into(),
                None => super::naming::awaited_id(&self.name, &book.group, &entry.tag.claim_uid),
            },
            tag: entry.tag.clone(),
            offering: shape.offering,
            price: shape.price,
            capacity: shape.capacity,
            allocatable: shape.allocatable,
            labels: shape.labels,
            node_name: None,
            created_at: entry.asked_at,
            ends_at: None,
            drift: None,
            state: if gone { MachineState::Terminating } else { MachineState::Running },
        })
    }

    /// The instances of a group in which there are machines of ours. A group that is gone takes them out of sight.
    pub(super) async fn instances(&self, book: &Book) -> Result<Vec<Seen>, ProviderError> {
        self.client.instances(&book.group).await.map_err(|failure: Failure| match failure.error {
            ProviderError::Transient { message } => ProviderError::transient(format!(
                "{message}; if the group is gone for good, and its machines with it, delete ConfigMap {}",
                book.name
            )),
            error => error,
        })
    }
}
