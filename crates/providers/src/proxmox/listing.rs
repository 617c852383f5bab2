//! Which machines there are.

use super::Proxmox;
use super::look::Found;
use super::naming::{claim_tag, uuid_of};
use crate::{Machine, ProviderError};

const READ: &str = "VM.Audit";

impl Proxmox {
    /// All machines of ours. What the token may not see is left out of every list without a word, so that it is asked first
    /// what it may see.
    pub(super) async fn all(&self) -> Result<Vec<Machine>, ProviderError> {
        self.expect_sight().await?;
        let cluster = self.client.cluster().await?;
        self.ours(&cluster).await
    }

    /// One machine.
    pub(super) async fn one(&self, provider_id: &str) -> Result<Machine, ProviderError> {
        let not_found = || ProviderError::NotFound { provider_id: provider_id.to_owned() };
        let uuid = uuid_of(&self.name, provider_id).ok_or_else(not_found)?;
        self.expect_sight().await?;
        let cluster = self.client.cluster().await?;
        match self.find(&cluster, uuid).await {
            Ok(Found::Machine(vm)) => Ok(self.machine(&vm.record, &vm.config)),
            Ok(Found::Unclear(why)) => Err(ProviderError::transient(why)),
            Ok(Found::Nothing) => Err(not_found()),
            Err(error @ ProviderError::Transient { .. }) => {
                let is_there = cluster.guests.iter().any(|guest| guest.tags.contains(&claim_tag(uuid)));
                self.known(uuid).filter(|_| is_there).ok_or(error)
            }
            Err(error) => Err(error),
        }
    }

    /// That there is no machine of ours can only be said by who may see them.
    pub(super) async fn expect_sight(&self) -> Result<(), ProviderError> {
        let pool = self.pool.as_ref().map(|pool| format!("/pool/{pool}"));
        let paths: Vec<&str> = ["/vms"].into_iter().chain(pool.as_deref()).collect();
        if self.client.is_allowed(READ, &paths).await? {
            return Ok(());
        }
        Err(ProviderError::Unauthorized {
            message: format!(
                "the token in Secret {} lacks the privilege {READ} on {}, without which it sees no machines; a token with privilege separation needs permissions of its own",
                self.client.connection.credentials.name,
                paths.join(" or ")
            ),
        })
    }
}
