//! Machines that exist only as records in the cluster, whose nodes are run by KWOK: for trying Windlass out and for
//! tests.
//!
//! The truth is in the cluster, as it is in a cloud: each machine is a `ConfigMap` (`record`), and nothing is lost when
//! the process ends or the provider is built anew from a changed specification. The calls of [`Provider`] read and write
//! these records (`records`), struck by the specified faults (`faults`). [`Provider::run`] is the cloud behind
//! them (`cloud`): it lets machines register as nodes, fall ill and vanish.

mod agenda;
mod aim;
mod builtin;
mod catalogue;
mod cloud;
mod faults;
mod launch;
mod mirror;
mod naming;
mod node;
mod nodes;
mod pace;
mod record;
mod records;
mod struck;
mod writer;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use kube::Client;
use tokio::sync::Mutex;
use windlass_api::{LimitedDuration, ProviderCall, SimulatedProvider};
use windlass_core::Text;
use windlass_core::model::{InstanceType, OfferingKey};

pub(crate) use self::catalogue::instance_types;

use self::aim::Subject;
use self::cloud::Cloud;
use self::faults::Faults;
use self::nodes::Nodes;
use self::record::Stored;
use self::records::Records;
use self::struck::Struck;
use crate::names::check_labels;
use crate::{Clock, LaunchRequest, Machine, MachineTag, Provider, ProviderError, Termination};

/// A source of simulated machines.
pub struct Simulated {
    name: Text,
    cluster_id: Text,
    catalogue: Vec<InstanceType>,
    boot_delay: LimitedDuration,
    /// After how long the provider ends a machine.
    lifetime: Option<Duration>,
    /// What new machines run.
    image: String,
    faults: Faults,
    /// One launch at a time of each offering of which there is not as much as one likes, and of all that are cut from one
    /// host.
    turns: BTreeMap<OfferingKey, Arc<Mutex<()>>>,
    records: Records,
    nodes: Nodes,
    clock: Arc<dyn Clock>,
}

impl Simulated {
    /// The provider of this name, whose machines' records are in this namespace. The namespace is created with the
    /// first machine if there is none.
    pub fn new(
        name: Text,
        spec: &SimulatedProvider,
        cluster_id: Text,
        namespace: String,
        client: Client,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ProviderError> {
        check_labels(&name, &cluster_id)?;
        let catalogue = instance_types(spec)?;
        Ok(Self {
            turns: turns(&catalogue),
            faults: Faults::read(&spec.faults)?,
            boot_delay: spec.boot_delay,
            lifetime: spec.lifetime.and_then(LimitedDuration::limit),
            image: spec.image.clone(),
            records: Records::new(client.clone(), namespace, name.clone(), cluster_id.clone()),
            nodes: Nodes::new(client, name.clone()),
            catalogue,
            clock,
            cluster_id,
            name,
        })
    }

    /// What befalls a call about this machine. The machine is looked at only where there are faults to strike it.
    async fn strike(&self, call: ProviderCall, provider_id: &str) -> Struck {
        if !self.faults.concern(call) {
            return Struck::default();
        }
        let stored = self.find(provider_id).await.ok();
        self.faults.strike(call, stored.as_ref().map(subject))
    }

    /// The record of a machine of this cluster.
    async fn find(&self, provider_id: &str) -> Result<Stored, ProviderError> {
        let not_ours =
            |message: String| ProviderError::NotOurs { provider_id: provider_id.to_owned(), message };
        let name = naming::machine_of(&self.name, provider_id)
            .ok_or_else(|| not_ours(format!("it is not of the simulated provider {}", self.name)))?;
        let Some(stored) = self.records.get(name).await? else {
            return Err(ProviderError::NotFound { provider_id: provider_id.to_owned() });
        };
        let cluster_id = &stored.record.tag.cluster_id;
        if *cluster_id != self.cluster_id {
            return Err(not_ours(format!("it is of cluster {cluster_id}, this is {}", self.cluster_id)));
        }
        Ok(stored)
    }

    async fn offer(&self) -> Result<Vec<InstanceType>, ProviderError> {
        let mut types = self.catalogue.clone();
        if self.turns.is_empty() {
            return Ok(types);
        }
        let taken = self.records.count().await?;
        InstanceType::take(&mut types, &taken);
        Ok(types)
    }

    async fn end(&self, provider_id: &str, tag: &MachineTag) -> Result<Termination, ProviderError> {
        let stored = self.find(provider_id).await?;
        if stored.record.tag != *tag {
            let message = format!("it is tagged {:?} and not {tag:?}", stored.record.tag);
            return Err(ProviderError::NotOurs { provider_id: provider_id.to_owned(), message });
        }
        self.records.delete(&stored).await
    }

    async fn list_machines(&self) -> Result<Vec<Machine>, ProviderError> {
        let mut machines = Vec::new();
        for stored in self.records.list().await? {
            let machine = stored.machine(&self.name, &self.image);
            if self.faults.doubles(subject(&stored)) {
                machines.push(machine.clone());
            }
            machines.push(machine);
        }
        Ok(machines)
    }
}

/// Who has to wait for whom at a launch.
fn turns(catalogue: &[InstanceType]) -> BTreeMap<OfferingKey, Arc<Mutex<()>>> {
    let mut of_hosts: BTreeMap<Text, Arc<Mutex<()>>> = BTreeMap::new();
    let mut turns = BTreeMap::new();
    for found in catalogue {
        for offering in &found.offerings {
            let turn = match &offering.draws {
                Some(draw) => of_hosts.entry(draw.from.clone()).or_default().clone(),
                None if offering.available.is_some() => Arc::default(),
                None => continue,
            };
            turns.insert(found.key(offering), turn);
        }
    }
    turns
}

fn subject(stored: &Stored) -> Subject<'_> {
    Subject { claim_uid: &stored.record.tag.claim_uid, offering: &stored.record.offering }
}

#[async_trait]
impl Provider for Simulated {
    fn kind(&self) -> &'static str {
        "simulated"
    }

    async fn instance_types(&self) -> Result<Vec<InstanceType>, ProviderError> {
        self.faults.strike(ProviderCall::InstanceTypes, None).carry_out(|| self.offer()).await
    }

    async fn launch(&self, request: &LaunchRequest) -> Result<Machine, ProviderError> {
        let subject = Subject { claim_uid: &request.tag.claim_uid, offering: &request.offering };
        let struck = self.faults.strike(ProviderCall::Launch, Some(subject));
        struck.carry_out(|| self.launch_machine(request)).await
    }

    async fn terminate(&self, provider_id: &str, tag: &MachineTag) -> Result<Termination, ProviderError> {
        let struck = self.strike(ProviderCall::Terminate, provider_id).await;
        struck.carry_out(|| self.end(provider_id, tag)).await
    }

    async fn get(&self, provider_id: &str) -> Result<Machine, ProviderError> {
        let struck = self.strike(ProviderCall::Get, provider_id).await;
        struck
            .carry_out(|| async { Ok(self.find(provider_id).await?.machine(&self.name, &self.image)) })
            .await
    }

    async fn list(&self) -> Result<Vec<Machine>, ProviderError> {
        self.faults.strike(ProviderCall::List, None).carry_out(|| self.list_machines()).await
    }

    async fn run(&self) {
        let cloud =
            Cloud { provider: &self.name, records: &self.records, nodes: &self.nodes, clock: &self.clock };
        cloud.run().await;
    }
}

impl fmt::Debug for Simulated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulated")
            .field("name", &self.name)
            .field("cluster_id", &self.cluster_id)
            .finish_non_exhaustive()
    }
}
