//! Finding a claim's machine, and being sure that it is that.

use futures::stream::{self, StreamExt as _};
use windlass_core::Text;

use super::Proxmox;
use super::client::Config;
use super::cluster::{Cluster, Guest};
use super::failure::{Failure, FailureKind};
use super::naming::{self, TAG, claim_tag, is_mark, owner_tag, uuid, uuid_in, vm_name, vmids};
use super::record::Record;
use crate::{Machine, MachineState, ProviderError};

/// How many machines are read at the same time.
const AT_ONCE: usize = 8;

/// A machine of ours.
#[derive(Clone, Debug)]
pub(super) struct Vm {
    pub host: Text,
    pub vmid: u32,
    pub config: Config,
    pub record: Record,
    /// Whether it has its name, tags and UUID. A clone gets its notes first and the rest afterwards.
    pub is_whole: bool,
}

/// Whose a machine is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Name, tags, UUID and notes agree.
    Ours(Box<Record>),
    /// The notes say that it is ours, and it has neither tags nor our UUID yet. One that has our UUID has lost its tags, by
    /// which somebody has taken it out of our hands.
    HalfMade(Box<Record>),
    /// It has our tags and the UUID that goes with them, and yet something differs.
    Changed(String),
    /// Nothing of ours.
    Another(String),
}

/// What there is for a claim.
#[derive(Clone, Debug)]
pub(super) enum Found {
    Nothing,
    /// A machine with an id that the claim may have got is being made, and cannot be told yet.
    Unclear(String),
    Machine(Box<Vm>),
}

impl Proxmox {
    /// Whose a machine is. Anybody may copy a machine with its tags, its name and its notes; the copy has another UUID.
    pub(super) fn judge(&self, config: &Config) -> Standing {
        let record = Record::read(&config.notes)
            .filter(|record| record.provider == *self.name && record.tag.cluster_id == self.cluster_id);
        let marked = |tag: &String| config.tags.contains(tag);
        let ours = owner_tag(&self.name, &self.cluster_id);
        let tagged = config.tags.iter().find_map(|tag| uuid_in(tag));
        let Some(tagged) = tagged.filter(|_| marked(&TAG.to_owned()) && marked(&ours)) else {
            return match record {
                Some(record)
                    if config.name == vm_name(&record.tag.claim_name)
                        && config.uuid.as_deref() != Some(uuid(&record.tag.claim_uid).as_str())
                        && !config.is_template
                        && !config.tags.iter().any(|tag| is_mark(tag)) =>
                {
                    Standing::HalfMade(Box::new(record))
                }
                _ => Standing::Another("it does not have the tags of this provider's machines".to_owned()),
            };
        };
        if config.uuid.as_deref() != Some(tagged) || config.is_template {
            let seen = config.uuid.as_deref().unwrap_or("none");
            return Standing::Another(format!("its SMBIOS UUID is {seen} and not {tagged}, as its tags say"));
        }
        match record {
            None => Standing::Changed("its notes were changed".to_owned()),
            Some(record) if uuid(&record.tag.claim_uid) != tagged => {
                Standing::Changed("its notes are about another claim than its tags".to_owned())
            }
            Some(record) if vm_name(&record.tag.claim_name) != config.name => Standing::Changed(format!(
                "it is called {} and not {}",
                config.name,
                vm_name(&record.tag.claim_name)
            )),
            Some(record) => Standing::Ours(Box::new(record)),
        }
    }

    /// Looks for the machine with this UUID on all hosts. A host that does not answer may have it.
    pub(super) async fn find(&self, cluster: &Cluster, uuid: &str) -> Result<Found, ProviderError> {
        let (tag, ours) = (claim_tag(uuid), owner_tag(&self.name, &self.cluster_id));
        let mut another = None;
        for guest in
            cluster.guests.iter().filter(|guest| guest.tags.contains(&tag) && guest.tags.contains(&ours))
        {
            let Some(config) = self.read(guest).await? else { continue };
            match self.judge(&config) {
                Standing::Ours(record) => return Ok(Found::machine(guest, config, *record, true)),
                Standing::HalfMade(_) => {}
                Standing::Changed(why) | Standing::Another(why) => another = Some((guest.vmid, why)),
            }
        }
        for vmid in vmids(self.vmids, uuid) {
            let Some(guest) = cluster.guest(vmid).filter(|guest| may_be_half_made(guest)) else { continue };
            let Some(config) = self.read(guest).await? else { continue };
            match self.judge(&config) {
                Standing::HalfMade(record) if naming::uuid(&record.tag.claim_uid) == *uuid => {
                    return Ok(Found::machine(guest, config, *record, false));
                }
                // It was made just now.
                Standing::Ours(record) if naming::uuid(&record.tag.claim_uid) == *uuid => {
                    return Ok(Found::machine(guest, config, *record, true));
                }
                _ if config.notes.is_empty()
                    && matches!(config.lock.as_deref(), Some("create" | "clone")) =>
                {
                    return Ok(Found::Unclear(format!(
                        "VM {vmid} on {} is being made, and does not say yet for whom",
                        guest.host
                    )));
                }
                _ => {}
            }
        }
        match another {
            Some((vmid, why)) => Err(ProviderError::NotOurs {
                provider_id: naming::provider_id(&self.name, uuid).to_string(),
                message: format!("VM {vmid} has its tags, but {why}"),
            }),
            None => Ok(Found::Nothing),
        }
    }

    /// The machines of ours, whole or not, and the guests that do not let themselves be told for the moment.
    pub(super) async fn ours(&self, cluster: &Cluster) -> Result<Vec<Machine>, ProviderError> {
        let owner = owner_tag(&self.name, &self.cluster_id);
        let in_range = |guest: &Guest| (self.vmids.first..=self.vmids.last).contains(&guest.vmid);
        let is_candidate =
            |guest: &&Guest| guest.tags.contains(&owner) || in_range(guest) && may_be_half_made(guest);
        let candidates: Vec<Guest> = cluster.guests.iter().filter(is_candidate).cloned().collect();
        let read: Vec<(Guest, Result<Config, Failure>)> =
            stream::iter(candidates).map(|guest| self.read_guest(guest)).buffered(AT_ONCE).collect().await;
        let mut machines = Vec::new();
        for (guest, config) in read {
            let known = guest.tags.iter().find_map(|tag| self.known(uuid_in(tag)?));
            match config {
                Ok(config) => match self.judge(&config) {
                    Standing::Ours(record) | Standing::HalfMade(record) => {
                        machines.push(self.machine(&record, &config));
                    }
                    Standing::Another(_) => {}
                    Standing::Changed(why) => match known {
                        Some(machine) => machines.push(machine),
                        None => return Err(changed(&guest, &why)),
                    },
                },
                Err(failure) if failure.kind == FailureKind::Missing => {}
                Err(failure) => match known {
                    Some(machine) => machines.push(machine),
                    None => return Err(failure.error),
                },
            }
        }
        Ok(machines)
    }

    /// A machine of ours as everybody else sees it.
    pub(super) fn machine(&self, record: &Record, config: &Config) -> Machine {
        let uuid = uuid(&record.tag.claim_uid);
        let source = self.source();
        let drift = (record.source != source).then(|| {
            format!("it was made of {}, and the provider now makes machines of {source}", record.source)
                .into()
        });
        let machine = Machine {
            provider_id: naming::provider_id(&self.name, &uuid),
            tag: record.tag.clone(),
            offering: record.offering.clone(),
            price: record.price,
            capacity: record.capacity.clone(),
            allocatable: record.allocatable.clone(),
            labels: record.labels.clone(),
            node_name: Some(vm_name(&record.tag.claim_name).into()),
            created_at: record.created_at,
            ends_at: None,
            drift,
            state: match config.lock.as_deref() {
                Some("destroyed") => MachineState::Terminating,
                _ => MachineState::Running,
            },
        };
        self.remember(&uuid, &machine);
        machine
    }

    async fn read_guest(&self, guest: Guest) -> (Guest, Result<Config, Failure>) {
        let config = self.client.config(&guest.host, guest.vmid).await;
        (guest, config)
    }

    /// What is written down of a guest; none if it has gone in the meantime.
    async fn read(&self, guest: &Guest) -> Result<Option<Config>, ProviderError> {
        match self.client.config(&guest.host, guest.vmid).await {
            Ok(config) => Ok(Some(config)),
            Err(Failure { kind: FailureKind::Missing, .. }) => Ok(None),
            Err(failure) => Err(failure.error),
        }
    }
}

impl Found {
    fn machine(guest: &Guest, config: Config, record: Record, is_whole: bool) -> Self {
        Self::Machine(Box::new(Vm { host: guest.host.clone(), vmid: guest.vmid, config, record, is_whole }))
    }
}

/// A clone of ours gets its tags only after it is made, and runs only after that.
fn may_be_half_made(guest: &Guest) -> bool {
    !guest.is_running
        && !guest.is_template
        && !guest.is_container
        && !guest.tags.iter().any(|tag| is_mark(tag))
}

fn changed(guest: &Guest, why: &str) -> ProviderError {
    ProviderError::transient(format!(
        "VM {} on {} has the tags and the UUID of a machine of ours, but {why}; undo that, or remove its tags if Windlass is to leave it alone",
        guest.vmid, guest.host
    ))
}
