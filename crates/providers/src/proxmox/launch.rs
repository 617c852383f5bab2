//! Getting a machine for a claim, however often it is asked for.

use tokio::time::{Instant, sleep, timeout_at};
use tracing::{info, warn};

use super::Proxmox;
use super::client::Parameters;
use super::failure::{Failure, FailureKind};
use super::iso;
use super::look::{Found, Vm};
use super::make::Skipped;
use super::naming::{TAG, claim_tag, owner_tag, provider_id, uuid};
use crate::{Joining, LaunchRequest, Machine, ProviderError};

/// Where the drive with the user data is attached.
const DRIVE: &str = "ide2";

/// How far a launch has come.
pub(super) enum Step {
    Done(Box<Machine>),
    /// Look again at once.
    Again,
    /// Look again in a while; why.
    Wait(String),
}

impl Proxmox {
    /// Gets a machine for the claim, or finds the one that an earlier request has got, and does what is missing until it runs.
    pub(super) async fn launch_vm(&self, request: &LaunchRequest) -> Result<Machine, ProviderError> {
        let tag = &request.tag;
        if tag.cluster_id != self.cluster_id {
            let message =
                format!("the machine is for cluster {}, this is {}", tag.cluster_id, self.cluster_id);
            return Err(ProviderError::InvalidConfiguration { message });
        }
        let until = Instant::now() + self.pace.wait;
        let _claims_turn = timeout_at(until, self.claims.with(&tag.claim_uid))
            .await
            .map_err(|_| ProviderError::transient("another call about this claim is under way; ask again"))?;
        self.expect_sight().await?;
        let mut skipped = Skipped::new();
        loop {
            let why = match self.advance(request, until, &mut skipped).await {
                Ok(Step::Done(machine)) => return Ok(*machine),
                Ok(Step::Again) => None,
                Ok(Step::Wait(why)) => Some(ProviderError::transient(why)),
                Err(Failure { kind: FailureKind::Busy | FailureKind::Exists, error }) => Some(error),
                Err(failure) => return Err(failure.error),
            };
            match why {
                Some(error) if Instant::now() >= until => return Err(error),
                Some(_) => sleep(self.pace.poll).await,
                None if Instant::now() >= until => {
                    return Err(ProviderError::transient("the launch is under way; ask again"));
                }
                None => {}
            }
        }
    }

    /// Takes a launch one step further.
    async fn advance(
        &self,
        request: &LaunchRequest,
        until: Instant,
        skipped: &mut Skipped,
    ) -> Result<Step, Failure> {
        let uuid = uuid(&request.tag.claim_uid);
        let cluster = self.client.cluster().await?;
        let vm = match self.find(&cluster, &uuid).await.map_err(Failure::unsent)? {
            Found::Nothing => return self.make(request, &uuid, until, skipped).await,
            Found::Unclear(why) => return Ok(Step::Wait(why)),
            Found::Machine(vm) => vm,
        };
        if vm.record.tag != request.tag {
            let message = format!("it is tagged {:?} and not {:?}", vm.record.tag, request.tag);
            let provider_id = provider_id(&self.name, &uuid).to_string();
            return Err(Failure::unsent(ProviderError::NotOurs { provider_id, message }));
        }
        if let Some(lock) = &vm.config.lock {
            return Ok(Step::Wait(vm.locked(lock)));
        }
        if !vm.is_whole {
            self.configure(&vm, &uuid).await?;
            return Ok(Step::Again);
        }
        if self.client.is_running(&vm.host, vm.vmid).await? {
            return Ok(Step::Done(Box::new(self.machine(&vm.record, &vm.config))));
        }
        match self.prepare(&vm, request, &uuid, until).await {
            Err(failure) if failure.is_final() => {
                self.discard(&vm, until).await;
                Err(failure)
            }
            prepared => prepared.map(|()| Step::Again),
        }
    }

    /// Gives a clone what makes it ours, at once: afterwards it has all of it or nothing.
    async fn configure(&self, vm: &Vm, uuid: &str) -> Result<(), Failure> {
        let mut parameters = self.parameters(&vm.record, uuid);
        parameters.extend(self.options.iter().map(|(key, value)| (key.clone(), value.clone())));
        parameters.extend(vm.config.digest.iter().map(|digest| ("digest".to_owned(), digest.clone())));
        self.client.set(&vm.host, vm.vmid, &parameters).await
    }

    /// What every machine of a record gets, in whichever way it is made, beside its name and notes.
    pub(super) fn parameters(&self, record: &super::record::Record, uuid: &str) -> Parameters {
        let own = [TAG.to_owned(), owner_tag(&self.name, &self.cluster_id), claim_tag(uuid)];
        let tags: Vec<String> = own.into_iter().chain(self.tags.iter().cloned()).collect();
        let memory = record.capacity.get("memory") >> 20;
        [
            ("cores", (record.capacity.get("cpu") / 1000).to_string()),
            ("sockets", "1".to_owned()),
            ("memory", memory.to_string()),
            ("smbios1", format!("uuid={uuid}")),
            ("tags", tags.join(";")),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into()
    }

    /// Gives a machine its drive, if it is to have one, and starts it.
    async fn prepare(
        &self,
        vm: &Vm,
        request: &LaunchRequest,
        uuid: &str,
        until: Instant,
    ) -> Result<(), Failure> {
        if let Some(volume) = &vm.record.drive
            && !vm.config.volumes.contains(volume)
        {
            let Some(join) = &request.join else {
                let message = format!(
                    "VM {} was made to be told how to join, and its pool has no user data any more",
                    vm.vmid
                );
                return Err(Failure::unsent(ProviderError::InvalidConfiguration { message }));
            };
            let provider_id = provider_id(&self.name, uuid);
            let joining = Joining {
                node_name: &vm.config.name,
                provider_id: &provider_id,
                labels: &request.labels,
                taints: &request.taints,
            };
            let user_data = join.user_data(joining).map_err(Failure::unsent)?;
            let image = iso::drive(uuid, &vm.config.name, &user_data);
            let (storage, file) = parts(volume);
            let doing = format!("putting a drive on storage {storage} of {}", vm.host);
            let task = self.client.upload(&vm.host, storage, file, &image).await?;
            self.client.wait(&task, &doing, until).await?;
            let attached = vec![(DRIVE.to_owned(), format!("{volume},media=cdrom"))];
            self.client.set(&vm.host, vm.vmid, &attached).await?;
        }
        let task = self.client.start(&vm.host, vm.vmid).await?;
        self.client.wait(&task, &format!("starting VM {} on {}", vm.vmid, vm.host), until).await?;
        info!(provider = %self.name, host = %vm.host, vmid = vm.vmid, claim = %vm.record.tag.claim_name, "a machine was started");
        Ok(())
    }

    /// Removes a machine that cannot be started, so that the claim can be tried elsewhere. If that fails it is found again.
    async fn discard(&self, vm: &Vm, until: Instant) {
        if let Err(failure) = self.remove(vm, until).await {
            let (host, vmid) = (&vm.host, vm.vmid);
            warn!(provider = %self.name, %host, vmid, error = %failure.error, "a machine that cannot be started is still there");
        }
    }
}

impl Vm {
    /// Why nothing can be done with it, and what to do if that lasts.
    pub(super) fn locked(&self, lock: &str) -> String {
        format!(
            "VM {} on {} is locked ({lock}); if no task of it is running, release it with: qm unlock {}",
            self.vmid, self.host, self.vmid
        )
    }
}

/// The storage and the file of a volume such as `local:iso/name.iso`.
fn parts(volume: &str) -> (&str, &str) {
    let (storage, path) = volume.split_once(':').unwrap_or((volume, ""));
    (storage, path.rsplit_once('/').map_or(path, |(_, file)| file))
}
