//! Giving a machine back.

use tokio::time::{Instant, timeout_at};
use tracing::info;

use super::Proxmox;
use super::failure::{Failure, FailureKind};
use super::look::{Found, Standing, Vm};
use super::naming::{uuid, uuid_of};
use crate::{MachineTag, ProviderError, Termination};

impl Proxmox {
    /// Ends a machine, if its tag is this one.
    pub(super) async fn end(
        &self,
        provider_id: &str,
        tag: &MachineTag,
    ) -> Result<Termination, ProviderError> {
        let not_found = || ProviderError::NotFound { provider_id: provider_id.to_owned() };
        let wanted = uuid_of(&self.name, provider_id).ok_or_else(not_found)?;
        let until = Instant::now() + self.pace.wait;
        let Ok(_claims_turn) = timeout_at(until, self.claims.with(&tag.claim_uid)).await else {
            return Ok(Termination::UnderWay);
        };
        self.expect_sight().await?;
        let cluster = self.client.cluster().await?;
        let vm = match self.find(&cluster, wanted).await? {
            Found::Machine(vm) => vm,
            Found::Unclear(why) => return Err(ProviderError::transient(why)),
            Found::Nothing => {
                self.forget(wanted);
                return Err(not_found());
            }
        };
        if vm.record.tag != *tag || uuid(&tag.claim_uid) != wanted {
            let message = format!("it is tagged {:?} and not {tag:?}", vm.record.tag);
            return Err(ProviderError::NotOurs { provider_id: provider_id.to_owned(), message });
        }
        match self.remove(&vm, until).await {
            Ok(()) => {
                self.forget(wanted);
                info!(provider = %self.name, host = %vm.host, vmid = vm.vmid, claim = %tag.claim_name, "a machine was deleted");
                Ok(Termination::Gone)
            }
            Err(failure) if failure.kind == FailureKind::UnderWay => Ok(Termination::UnderWay),
            Err(failure) => Err(failure.error),
        }
    }

    /// Stops a machine, and deletes it with its disks and its drive. Each is awaited before the next, and each time it is made
    /// sure that the id still is that of this machine.
    pub(super) async fn remove(&self, vm: &Vm, until: Instant) -> Result<(), Failure> {
        let (host, vmid) = (&vm.host, vm.vmid);
        if !self.verify(vm).await? {
            return Ok(());
        }
        if self.client.is_running(host, vmid).await? {
            let task = self.client.stop(host, vmid).await?;
            self.client.wait(&task, &format!("stopping VM {vmid} on {host}"), until).await?;
        }
        // Before the machine, which is how the drive would be found again.
        if let Some(volume) = &vm.record.drive {
            self.remove_drive(vm, volume, until).await?;
        }
        if !self.verify(vm).await? {
            return Ok(());
        }
        let task = self.client.delete(host, vmid).await?;
        self.client.wait(&task, &format!("deleting VM {vmid} on {host}"), until).await
    }

    async fn remove_drive(&self, vm: &Vm, volume: &str, until: Instant) -> Result<(), Failure> {
        let storage = volume.split_once(':').map_or(volume, |(storage, _)| storage);
        if !self.client.drives(&vm.host, storage).await?.iter().any(|each| each == volume) {
            return Ok(());
        }
        match self.client.delete_volume(&vm.host, volume).await? {
            Some(task) => self.client.wait(&task, &format!("deleting {volume} on {}", vm.host), until).await,
            None => Ok(()),
        }
    }

    /// Makes sure that a machine is still the one that it was; false says that it is gone.
    async fn verify(&self, vm: &Vm) -> Result<bool, Failure> {
        let config = match self.client.config(&vm.host, vm.vmid).await {
            Ok(config) => config,
            Err(failure) if failure.kind == FailureKind::Missing => return Ok(false),
            Err(failure) => return Err(failure),
        };
        let provider_id =
            || super::naming::provider_id(&self.name, &uuid(&vm.record.tag.claim_uid)).to_string();
        let refuse =
            |message| Failure::unsent(ProviderError::NotOurs { provider_id: provider_id(), message });
        match self.judge(&config) {
            Standing::Ours(record) | Standing::HalfMade(record) if record.tag == vm.record.tag => {}
            Standing::Changed(why) | Standing::Another(why) => {
                return Err(refuse(format!("VM {} on {}: {why}", vm.vmid, vm.host)));
            }
            Standing::Ours(_) | Standing::HalfMade(_) => {
                return Err(refuse(format!("VM {} on {} is another claim's", vm.vmid, vm.host)));
            }
        }
        match &config.lock {
            Some(lock) => Err(Failure::unsent(ProviderError::transient(vm.locked(lock)))),
            None => Ok(true),
        }
    }
}
