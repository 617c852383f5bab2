//! What can be had: each shape on each host.

use std::collections::BTreeMap;

use windlass_api::ProxmoxProvider;
use windlass_core::Text;
use windlass_core::model::{InstanceType, Resources};

use super::Proxmox;
use super::cluster::{Cluster, HostSeen, HostState};
use super::naming::{claim_tag, owner_tag};
use super::room::how_many;
use super::shapes::Shapes;
use super::templates::{Template, template_for};
use crate::{Host, Inventory, ProviderError};

/// What a specification itself says: the shapes on the hosts that it names. How much there is of them, it does not say, and
/// without names of hosts not even where.
pub(crate) fn instance_types(
    name: &Text,
    spec: &ProxmoxProvider,
) -> Result<Vec<InstanceType>, ProviderError> {
    let shapes = Shapes::read(spec)?;
    if spec.hosts.is_empty() {
        let message = format!(
            "provider {name} uses all hosts of its Proxmox VE cluster, which are known there alone; name them in hosts, or plan with the live cluster instead"
        );
        return Err(ProviderError::InvalidConfiguration { message });
    }
    let hosts = || spec.hosts.iter().map(|host| (host.as_str().into(), None));
    Ok(shapes.shapes.iter().map(|shape| shapes.instance_type(shape, hosts())).collect())
}

impl Proxmox {
    pub(super) async fn ask_offers(&self) -> Result<Vec<InstanceType>, ProviderError> {
        let cluster = self.client.cluster().await?;
        let hosts = self.hosts(&cluster)?;
        let templates = match &self.clone {
            Some(clone) => Some(self.templates(clone, &cluster).await?),
            None => None,
        };
        if let (Some(clone), Some([])) = (&self.clone, templates.as_deref()) {
            return Err(no_template(&clone.template));
        }
        let left: Vec<(Text, Resources)> = hosts
            .iter()
            .filter(|host| can_make(templates.as_deref(), &host.name))
            .map(|host| (host.name.clone(), self.left(&host.name, &cluster)))
            .collect();
        let ids = self.free_ids(&cluster);
        let each = self.shapes.shapes.iter().map(|shape| {
            let hosts =
                left.iter().map(|(host, left)| (host.clone(), Some(how_many(left, &shape.takes).min(ids))));
            self.shapes.instance_type(shape, hosts)
        });
        Ok(each.collect())
    }

    /// What a host has left for machines, launches under way counted.
    pub(super) fn left(&self, host: &str, cluster: &Cluster) -> Resources {
        let owner = owner_tag(&self.name, &self.cluster_id);
        let counted = |uuid: &str| {
            let tag = claim_tag(uuid);
            cluster.guests.iter().any(|guest| guest.memory > 0 && guest.tags.contains(&tag))
        };
        let asked = self.asked_for(host, counted);
        self.room.left(host, cluster, |guest| guest.tags.contains(&owner), asked)
    }

    /// The hosts that may be used.
    pub(super) fn hosts<'a>(&self, cluster: &'a Cluster) -> Result<Vec<&'a HostSeen>, ProviderError> {
        let is_allowed = |host: &&HostSeen| {
            self.allowed.is_empty() || self.allowed.iter().any(|name| **name == *host.name)
        };
        let hosts: Vec<&HostSeen> = cluster.hosts.iter().filter(is_allowed).collect();
        if !hosts.is_empty() && hosts.iter().all(|host| host.state == HostState::Hidden) {
            let message = format!(
                "the token in Secret {} may not see how large hosts are: give it the privilege Sys.Audit on /nodes",
                self.client.connection.credentials.name
            );
            return Err(ProviderError::Unauthorized { message });
        }
        if hosts.is_empty() {
            let message = if self.allowed.is_empty() {
                "the cluster has no hosts".to_owned()
            } else {
                format!("the cluster has none of the hosts {}", self.allowed.join(", "))
            };
            return Err(ProviderError::InvalidConfiguration { message });
        }
        Ok(hosts)
    }

    pub(super) async fn ask_inventory(&self) -> Result<Inventory, ProviderError> {
        let version = self.client.version().await?;
        let cluster = self.client.cluster().await?;
        let mut machines: BTreeMap<&str, usize> = BTreeMap::new();
        let owner = owner_tag(&self.name, &self.cluster_id);
        for guest in cluster.guests.iter().filter(|guest| guest.tags.contains(&owner)) {
            *machines.entry(&guest.host).or_default() += 1;
        }
        let host = |host: &&HostSeen| {
            let number = machines.get(&*host.name).copied().unwrap_or(0);
            let (state, message) = match host.state {
                HostState::Online => ("Online", format!("{number} machines")),
                HostState::Offline => {
                    ("Unreachable", format!("{number} machines, of which nothing is known"))
                }
                HostState::Hidden => ("Hidden", "the token lacks the privilege Sys.Audit".to_owned()),
            };
            let free = self.left(&host.name, &cluster);
            Host { name: host.name.clone(), state: state.into(), free, message: Some(message.into()) }
        };
        let hosts = self.hosts(&cluster)?.iter().map(host).collect();
        Ok(Inventory { version: version.map(Text::from), hosts })
    }

    fn free_ids(&self, cluster: &Cluster) -> u32 {
        let range = self.vmids.first..=self.vmids.last;
        let taken = cluster.guests.iter().filter(|guest| range.contains(&guest.vmid)).count();
        let size = range.end().saturating_sub(*range.start()).saturating_add(1);
        size.saturating_sub(u32::try_from(taken).unwrap_or(u32::MAX))
    }
}

pub(super) fn no_template(template: &str) -> ProviderError {
    let message = format!(
        "there is no template {template} that can be read: make a VM a template under that name, and give the token VM.Audit and VM.Clone on it"
    );
    ProviderError::InvalidConfiguration { message }
}

fn can_make(templates: Option<&[Template]>, host: &str) -> bool {
    templates.is_none_or(|templates| template_for(templates, host).is_some())
}
