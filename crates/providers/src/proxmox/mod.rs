//! Virtual machines of a Proxmox VE cluster.
//!
//! Nothing is recorded but with the machines themselves: a machine has the claim's UID in a tag and as its SMBIOS UUID, and
//! says in its notes what it was made as (`naming`, `record`). So each call looks at what there is (`look`) and does the next
//! thing that is missing (`launch`, `make`, `end`), and whoever comes after a crash goes on from there. The ids that a claim's
//! machine may get follow from the claim, so that two who launch for it at once want the same one.
//!
//! What takes time is a task, which has done what it was to do only if it says so (`task`, `client`). A host that does not
//! answer keeps its machines (`look`), and what each host has left is counted by what its guests are given (`room`).

mod client;
mod cluster;
mod connection;
mod credentials;
mod end;
mod failure;
mod iso;
mod launch;
mod listing;
mod look;
mod make;
mod naming;
mod offers;
mod record;
mod room;
mod shapes;
mod task;
mod templates;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use kube::Api;
use tokio::time::Instant;
use windlass_api::{ProxmoxClone, ProxmoxNetworkBoot, ProxmoxProvider, VmidRange};
use windlass_core::Text;
use windlass_core::model::{InstanceType, Resources};

use self::client::Client;
use self::connection::Connection;
use self::credentials::Credentials;
use self::room::Room;
use self::shapes::Shapes;
use self::task::Upid;
use crate::names::check_labels;
use crate::turns::Turns;
use crate::{Clock, Inventory, LaunchRequest, Machine, MachineTag, Provider, ProviderError, Termination};

pub(crate) use self::offers::instance_types;

/// How long things take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How long a call waits for tasks before it is to be asked again: less than a call to a provider may take.
    pub wait: Duration,
    /// How often it looks meanwhile.
    pub poll: Duration,
    /// For how long a launch that was asked for counts against its host although the host does not show it.
    pub doubt: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { wait: Duration::from_secs(30), poll: Duration::from_secs(1), doubt: Duration::from_mins(2) }
    }
}

/// A Proxmox VE cluster as a source of machines.
pub struct Proxmox {
    name: Text,
    cluster_id: Text,
    client: Client,
    /// The hosts that may be used; none means all.
    allowed: Vec<String>,
    vmids: VmidRange,
    storage: Option<String>,
    pool: Option<String>,
    tags: Vec<String>,
    options: BTreeMap<String, String>,
    clone: Option<ProxmoxClone>,
    network_boot: Option<ProxmoxNetworkBoot>,
    shapes: Shapes,
    room: Room,
    /// Whose turn it is to do something about a claim.
    claims: Turns,
    /// Whose turn it is to count what a host has left, and to take of it.
    hosts_turns: Turns,
    /// Whose turn it is to clone on a storage.
    storages: Turns,
    /// The clone that was begun last on a storage.
    clones: Mutex<BTreeMap<String, Upid>>,
    /// What was asked of hosts, by the UUID of the machine.
    asked: Mutex<BTreeMap<String, Asked>>,
    /// The machines as they were seen last, by UUID: for hosts that do not answer.
    known: Mutex<BTreeMap<String, Machine>>,
    pace: Pace,
    clock: Arc<dyn Clock>,
}

struct Asked {
    host: Text,
    takes: Resources,
    at: Instant,
}

impl Proxmox {
    /// The provider of this name. Its token is in this namespace.
    pub fn new(
        name: Text,
        spec: &ProxmoxProvider,
        cluster_id: Text,
        namespace: &str,
        client: kube::Client,
        clock: Arc<dyn Clock>,
        pace: Pace,
    ) -> Result<Self, ProviderError> {
        check_labels(&name, &cluster_id)?;
        let shapes = Shapes::read(spec)?;
        let secrets = Api::namespaced(client, namespace);
        let credentials = Credentials::new(secrets, spec.credentials_secret_ref.name.clone());
        Ok(Self {
            client: Client { connection: Connection::new(spec, credentials)?, poll: pace.poll },
            allowed: spec.hosts.clone(),
            vmids: spec.vmids,
            storage: spec.storage.clone(),
            pool: spec.pool.clone(),
            tags: spec.tags.clone(),
            options: spec.options.clone(),
            clone: spec.clone.clone(),
            network_boot: spec.network_boot.clone(),
            room: Room::read(spec)?,
            shapes,
            name,
            cluster_id,
            claims: Turns::default(),
            hosts_turns: Turns::default(),
            storages: Turns::default(),
            clones: Mutex::default(),
            asked: Mutex::default(),
            known: Mutex::default(),
            pace,
            clock,
        })
    }

    fn remember(&self, uuid: &str, machine: &Machine) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(uuid.to_owned(), machine.clone());
    }

    fn known(&self, uuid: &str) -> Option<Machine> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(uuid).cloned()
    }

    fn forget(&self, uuid: &str) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(uuid);
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).remove(uuid);
    }

    /// Counts a machine against its host before it is shown there.
    fn ask(&self, uuid: &str, host: &Text, takes: &Resources) {
        let asked = Asked { host: host.clone(), takes: takes.clone(), at: Instant::now() };
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(uuid.to_owned(), asked);
    }

    /// What was asked of a host and is not shown there, with those that are left out for being counted otherwise.
    fn asked_for(&self, host: &str, counted: impl Fn(&str) -> bool) -> Vec<Resources> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.retain(|uuid, each| each.at.elapsed() < self.pace.doubt && !counted(uuid));
        asked.values().filter(|each| *each.host == *host).map(|each| each.takes.clone()).collect()
    }
}

#[async_trait]
impl Provider for Proxmox {
    fn kind(&self) -> &'static str {
        "proxmox"
    }

    async fn instance_types(&self) -> Result<Vec<InstanceType>, ProviderError> {
        self.ask_offers().await
    }

    async fn launch(&self, request: &LaunchRequest) -> Result<Machine, ProviderError> {
        self.launch_vm(request).await
    }

    async fn terminate(&self, provider_id: &str, tag: &MachineTag) -> Result<Termination, ProviderError> {
        self.end(provider_id, tag).await
    }

    async fn get(&self, provider_id: &str) -> Result<Machine, ProviderError> {
        self.one(provider_id).await
    }

    async fn list(&self) -> Result<Vec<Machine>, ProviderError> {
        self.all().await
    }

    async fn inventory(&self) -> Result<Inventory, ProviderError> {
        self.ask_inventory().await
    }
}

impl fmt::Debug for Proxmox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxmox")
            .field("name", &self.name)
            .field("cluster_id", &self.cluster_id)
            .finish_non_exhaustive()
    }
}
