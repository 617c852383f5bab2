//! Making a machine that is not there yet.

use std::collections::BTreeSet;
use std::sync::PoisonError;

use tokio::time::{Instant, timeout_at};
use tracing::{info, warn};
use windlass_api::{ProxmoxClone, ProxmoxCloneMode, ProxmoxNetworkBoot};

use super::Proxmox;
use super::client::Parameters;
use super::cluster::{Cluster, HostState};
use super::failure::{Failure, FailureKind};
use super::launch::Step;
use super::look::Found;
use super::naming::{mac, vm_name, vmids};
use super::offers::no_template;
use super::record::Record;
use super::room::how_many;
use super::shapes::Shape;
use super::task::Upid;
use super::templates::{Template, template_for};
use crate::{LaunchRequest, ProviderError};

/// Ids that a launch has found to be taken although they are not shown.
pub(super) type Skipped = BTreeSet<u32>;

/// A machine to be made: a clone where there is a template.
struct Order<'a> {
    template: Option<&'a Template>,
    parameters: Parameters,
}

impl Proxmox {
    /// Makes a machine of the offering, unless there is no room for it any more.
    pub(super) async fn make(
        &self,
        request: &LaunchRequest,
        uuid: &str,
        until: Instant,
        skipped: &mut Skipped,
    ) -> Result<Step, Failure> {
        let record = self.record(request, uuid)?;
        match (&self.clone, &self.network_boot) {
            (Some(clone), _) => self.make_clone(clone, &record, uuid, until, skipped).await?,
            (None, Some(boot)) => self.make_empty(boot, &record, uuid, until, skipped).await?,
            (None, None) => {
                let message =
                    "proxmox: name exactly one way to make a machine: clone or networkBoot".to_owned();
                return Err(Failure::unsent(ProviderError::InvalidConfiguration { message }));
            }
        }
        Ok(Step::Again)
    }

    /// What machines are made of.
    pub(super) fn source(&self) -> String {
        match &self.clone {
            Some(clone) => format!("template {}", clone.template),
            None => "an empty disk".to_owned(),
        }
    }

    fn record(&self, request: &LaunchRequest, uuid: &str) -> Result<Record, Failure> {
        let key = &request.offering;
        let shape = self.shape(&key.instance_type)?;
        let drive = match (&request.join, self.clone.as_ref().map(|clone| &clone.iso_storage)) {
            (None, _) => None,
            (Some(_), Some(Some(storage))) => Some(format!("{storage}:iso/windlass-{uuid}.iso")),
            (Some(_), found) => {
                let instead = match found {
                    Some(_) => "set clone.isoStorage, on which drives with it are put",
                    None => "machines that boot from the network get it from their boot server alone",
                };
                let message = format!("pool {} has user data for its machines: {instead}", request.tag.pool);
                return Err(Failure::unsent(ProviderError::InvalidConfiguration { message }));
            }
        };
        Ok(Record {
            provider: self.name.to_string(),
            tag: request.tag.clone(),
            offering: key.clone(),
            price: shape.price,
            capacity: shape.capacity.clone(),
            allocatable: shape.allocatable.clone(),
            labels: self.shapes.labels_of(key),
            created_at: self.clock.now(),
            source: self.source(),
            drive,
        })
    }

    fn shape(&self, name: &str) -> Result<&Shape, Failure> {
        self.shapes.get(name).ok_or_else(|| {
            let message = format!("provider {} has no shape {name} any more", self.name);
            Failure::unsent(ProviderError::InsufficientCapacity { message })
        })
    }

    async fn make_empty(
        &self,
        boot: &ProxmoxNetworkBoot,
        record: &Record,
        uuid: &str,
        until: Instant,
        skipped: &mut Skipped,
    ) -> Result<(), Failure> {
        let mut parameters = self.parameters(record, uuid);
        let storage = self.storage.as_deref().unwrap_or_default();
        let mut add = |key: &str, value: String| parameters.push((key.to_owned(), value));
        add("name", vm_name(&record.tag.claim_name));
        add("description", notes(record)?);
        add("ostype", "l26".to_owned());
        add("scsihw", "virtio-scsi-pci".to_owned());
        add("scsi0", format!("{storage}:{}", boot.disk_gib));
        add("boot", "order=net0".to_owned());
        for (number, interface) in boot.interfaces.iter().enumerate() {
            let address =
                interface.mac_prefix.as_ref().map(|prefix| format!("={}", mac(prefix, uuid, number)));
            let vlan = interface.vlan.map(|vlan| format!(",tag={vlan}")).unwrap_or_default();
            let address = address.unwrap_or_default();
            add(
                &format!("net{number}"),
                format!("{}{address},bridge={}{vlan}", interface.model, interface.bridge),
            );
        }
        if let Some(pool) = &self.pool {
            add("pool", pool.clone());
        }
        parameters.retain(|(key, _)| !self.options.contains_key(key));
        parameters.extend(self.options.iter().map(|(key, value)| (key.clone(), value.clone())));
        let host = &record.offering.zone;
        let (task, vmid) = self.begin(Order { template: None, parameters }, record, uuid, skipped).await?;
        self.await_made(&task, vmid, &format!("making VM {vmid} on {host}"), until, skipped).await
    }

    async fn make_clone(
        &self,
        clone: &ProxmoxClone,
        record: &Record,
        uuid: &str,
        until: Instant,
        skipped: &mut Skipped,
    ) -> Result<(), Failure> {
        let cluster = self.client.cluster().await?;
        let templates = self.templates(clone, &cluster).await.map_err(Failure::unsent)?;
        let host = &record.offering.zone;
        let template =
            template_for(&templates, host).ok_or_else(|| Failure::unsent(no_template(&clone.template)))?;
        let storage = match (&self.storage, template.storages.first()) {
            (Some(storage), _) | (None, Some(storage)) => storage.clone(),
            (None, None) => template.host.to_string(),
        };
        // Two at once would wait for each other's lock on the storage, and not for long.
        let waiting =
            || Failure::under_way(format!("another clone on storage {storage} is under way; ask again"));
        let turn = timeout_at(until, self.storages.with(&storage)).await;
        let _turn = turn.map_err(|_| waiting())?;
        let before = self.clones.lock().unwrap_or_else(PoisonError::into_inner).get(&storage).cloned();
        if let Some(before) = before {
            match self.client.wait(&before, "an earlier clone", until).await {
                Err(failure) if failure.kind == FailureKind::UnderWay => return Err(waiting()),
                // How it ended is the business of whoever began it.
                _ => _ = self.clones.lock().unwrap_or_else(PoisonError::into_inner).remove(&storage),
            }
        }
        let parameters = self.clone_parameters(clone, template, record)?;
        let order = Order { template: Some(template), parameters };
        let (task, vmid) = self.begin(order, record, uuid, skipped).await?;
        self.clones.lock().unwrap_or_else(PoisonError::into_inner).insert(storage, task.clone());
        let doing = format!("cloning template {} as VM {vmid} on {host}", template.vmid);
        self.await_made(&task, vmid, &doing, until, skipped).await
    }

    fn clone_parameters(
        &self,
        clone: &ProxmoxClone,
        template: &Template,
        record: &Record,
    ) -> Result<Parameters, Failure> {
        let full = clone.mode == ProxmoxCloneMode::Full;
        let mut parameters = vec![
            ("name".to_owned(), vm_name(&record.tag.claim_name)),
            ("description".to_owned(), notes(record)?),
            ("full".to_owned(), u8::from(full).to_string()),
        ];
        let mut add = |key: &str, value: &str| parameters.push((key.to_owned(), value.to_owned()));
        if template.host != record.offering.zone {
            add("target", &record.offering.zone);
        }
        if let (true, Some(storage)) = (full, &self.storage) {
            add("storage", storage);
        }
        if let Some(pool) = &self.pool {
            add("pool", pool);
        }
        Ok(parameters)
    }

    /// Begins to make a machine with the first of the claim's ids that is free, if its host has room for it. One at a time for
    /// each host, so that what one takes is counted by the next.
    async fn begin(
        &self,
        mut order: Order<'_>,
        record: &Record,
        uuid: &str,
        skipped: &mut Skipped,
    ) -> Result<(Upid, u32), Failure> {
        let host = &record.offering.zone;
        let _turn = self.hosts_turns.with(host).await;
        let cluster = self.client.cluster().await?;
        // What somebody has asked for who is dead by now may have come about since this launch has looked.
        if !matches!(self.find(&cluster, uuid).await.map_err(Failure::unsent)?, Found::Nothing) {
            return Err(Failure::busy(format!(
                "a machine of claim {} has just appeared",
                record.tag.claim_name
            )));
        }
        // What an earlier try has asked for has come to nothing.
        self.forget(uuid);
        self.expect_room(&cluster, record)?;
        let shape = self.shape(&record.offering.instance_type)?;
        for vmid in vmids(self.vmids, uuid) {
            if skipped.contains(&vmid) || cluster.guest(vmid).is_some() {
                continue;
            }
            self.ask(uuid, host, &shape.takes);
            match self.place(&mut order, host, vmid).await {
                Ok(task) => {
                    info!(provider = %self.name, %host, vmid, claim = %record.tag.claim_name, "a machine is being made");
                    return Ok((task, vmid));
                }
                Err(failure) if failure.kind == FailureKind::Exists => {
                    // Somebody took it just now, or it is of somebody whose machines are not shown. If it was another launch
                    // for this claim, that one is found when this one looks again.
                    skipped.insert(vmid);
                    return Err(failure);
                }
                Err(failure) => {
                    if failure.kind != FailureKind::Lost {
                        self.forget(uuid);
                    }
                    return Err(failure);
                }
            }
        }
        let message = format!(
            "all ids that this claim may get of {} to {} are taken",
            self.vmids.first, self.vmids.last
        );
        Err(Failure::unsent(ProviderError::InsufficientCapacity { message }))
    }

    async fn place(&self, order: &mut Order<'_>, host: &str, vmid: u32) -> Result<Upid, Failure> {
        let key = if order.template.is_some() { "newid" } else { "vmid" };
        order.parameters.retain(|(each, _)| each != key);
        order.parameters.push((key.to_owned(), vmid.to_string()));
        match order.template {
            Some(template) => self.client.clone(&template.host, template.vmid, &order.parameters).await,
            None => self.client.create(host, &order.parameters).await,
        }
    }

    fn expect_room(&self, cluster: &Cluster, record: &Record) -> Result<(), Failure> {
        let (host, shape) = (&record.offering.zone, self.shape(&record.offering.instance_type)?);
        let lacking = |message: String| Err(Failure::unsent(ProviderError::InsufficientCapacity { message }));
        let allowed = self.hosts(cluster).map_err(Failure::unsent)?;
        match cluster.host(host).filter(|host| allowed.contains(host)).map(|host| host.state) {
            Some(HostState::Online) => {}
            Some(_) => return lacking(format!("host {host} does not answer")),
            None => return lacking(format!("there is no host {host} that may be used")),
        }
        let left = self.left(host, cluster);
        if how_many(&left, &shape.takes) == 0 {
            return lacking(format!("host {host} has {left} left, and {} takes {}", shape.name, shape.takes));
        }
        Ok(())
    }

    /// Waits until a machine is made. What failed is done away with by Proxmox VE itself, and if not it is found again.
    async fn await_made(
        &self,
        task: &Upid,
        vmid: u32,
        doing: &str,
        until: Instant,
        skipped: &mut Skipped,
    ) -> Result<(), Failure> {
        self.client.wait(task, doing, until).await.inspect_err(|failure| {
            if failure.kind == FailureKind::Exists {
                skipped.insert(vmid);
            }
            if failure.kind != FailureKind::UnderWay {
                warn!(provider = %self.name, vmid, error = %failure.error, "a machine was not made");
            }
        })
    }
}

fn notes(record: &Record) -> Result<String, Failure> {
    record.notes().map_err(|error| Failure::unsent(ProviderError::transient(error)))
}
