//! Which machines there are.

use futures::future::try_join_all;

use super::ExternalGrpc;
use super::books::Book;
use super::ledger::Entry;
use super::naming::awaited;
use crate::{Machine, ProviderError};

impl ExternalGrpc {
    /// All machines of this cluster, and all that claims wait for. What could not be made comes last, so that whoever looks
    /// for a claim's machine finds the one that it has.
    pub(super) async fn all(&self) -> Result<Vec<Machine>, ProviderError> {
        let books = self.books.list().await?;
        let each = try_join_all(books.iter().map(|book| self.machines(book))).await?;
        let (mut machines, mut failed) = (Vec::new(), Vec::new());
        for (machine, is_failed) in each.into_iter().flatten() {
            if is_failed { &mut failed } else { &mut machines }.push(machine);
        }
        machines.append(&mut failed);
        Ok(machines)
    }

    /// The machines of a group, each with whether it is one that could not be made.
    async fn machines(&self, book: &Book) -> Result<Vec<(Machine, bool)>, ProviderError> {
        let has_instances = book.ledger.entries().any(|entry| entry.instance().is_some());
        let seen = if has_instances { self.instances(book).await? } else { Vec::new() };
        let mut machines = Vec::new();
        for entry in book.ledger.entries() {
            let shown = entry.instance().and_then(|id| seen.iter().find(|seen| *seen.id == *id));
            if entry.instance().is_none() || shown.is_some() {
                machines.push((self.machine(book, entry, shown)?, entry.is_failed()));
            }
        }
        Ok(machines)
    }

    /// One machine.
    pub(super) async fn one(&self, provider_id: &str) -> Result<Machine, ProviderError> {
        let (book, entry) = self.find(provider_id).await?;
        let Some(instance) = entry.instance() else { return self.machine(&book, &entry, None) };
        let seen = self.instances(&book).await?;
        match seen.iter().find(|seen| *seen.id == *instance) {
            Some(shown) => self.machine(&book, &entry, Some(shown)),
            None => Err(ProviderError::NotFound { provider_id: provider_id.to_owned() }),
        }
    }

    /// Where a machine is recorded. An instance that the server has and no ledger names is not ours.
    pub(super) async fn find(&self, provider_id: &str) -> Result<(Book, Entry), ProviderError> {
        let books = self.books.list().await?;
        for book in &books {
            if let Some(entry) = book.ledger.of_instance(provider_id) {
                return Ok((book.clone(), entry.clone()));
            }
        }
        if let Some((group, claim_uid)) = awaited(&self.name, provider_id) {
            let book = books.iter().find(|book| *book.group == *group);
            let found = book.and_then(|book| Some((book, book.ledger.of_claim(claim_uid)?)));
            return match found {
                Some((book, entry)) => Ok((book.clone(), entry.clone())),
                None => Err(ProviderError::NotFound { provider_id: provider_id.to_owned() }),
            };
        }
        let groups = self.client.groups().await?;
        let listed = try_join_all(groups.iter().map(|group| self.client.instances(&group.id))).await?;
        if listed.iter().flatten().any(|seen| *seen.id == *provider_id) {
            let message = "it is recorded as nobody's".to_owned();
            return Err(ProviderError::NotOurs { provider_id: provider_id.to_owned(), message });
        }
        Err(ProviderError::NotFound { provider_id: provider_id.to_owned() })
    }
}
