//! Hosts that are powered on and off through their management controllers (BMCs), which speak Redfish.
//!
//! Hosts that are alike become offerings (`catalogue`), a launch picks one of them (`choose`) and has it boot from the network (`launch`), and an end
//! powers it off (`end`, and `patrol` where nobody asks any more). A BMC does not know whose its host is: that is written in a
//! ledger (`ledger`, kept in the cluster by `books`) before the BMC is asked for anything. `bmc` is the little of Redfish that
//! it takes.

mod bmc;
mod bmcs;
mod books;
mod catalogue;
mod choose;
mod end;
mod hosts;
mod launch;
mod ledger;
mod listing;
mod naming;
mod patrol;
mod sights;
mod state;
mod view;
mod wishes;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use kube::Api;
use tokio::sync::Mutex;
use tokio::time::Instant;
use windlass_api::{RedfishBoot, RedfishProvider};
use windlass_core::Text;
use windlass_core::model::InstanceType;

use self::bmc::Keys;
use self::bmcs::Bmcs;
use self::books::Books;
pub(crate) use self::catalogue::stated_types;
use self::hosts::{Host, Reserved};
use self::sights::Sights;
use self::view::Nodes;
use self::wishes::Wishes;
use crate::names::check_labels;
use crate::turns::Turns;
use crate::{Clock, Inventory, LaunchRequest, Machine, MachineTag, Provider, ProviderError, Termination};

/// Where a host may take for ever to be on, after how long one that is off is taken to stay off.
const DEFAULT_POWER_TIMEOUT: Duration = Duration::from_secs(180);

/// How long things take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How long a launch waits for its host to be on before it is asked again. Less than calls to a provider may take.
    pub wait: Duration,
    /// How often it looks meanwhile.
    pub poll: Duration,
    /// How long a connection to a BMC may take to come about.
    pub connect: Duration,
    /// How long a BMC may take to answer one call.
    pub call: Duration,
    /// How long it may take in all to see how a host is.
    pub look: Duration,
    /// How long what a BMC does by and by is waited for.
    pub task: Duration,
    /// After how long a host is told the same again.
    pub repeat: Duration,
    /// For how long it need not be asked again how hosts are.
    pub fresh: Duration,
    /// How often the hosts are looked after.
    pub patrol: Duration,
    /// How long a login that a BMC refuses is not tried again, unless its Secret changes.
    pub lockout: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            wait: Duration::from_secs(30),
            poll: Duration::from_secs(1),
            connect: Duration::from_secs(5),
            call: Duration::from_secs(10),
            look: Duration::from_secs(15),
            task: Duration::from_secs(20),
            repeat: Duration::from_secs(30),
            fresh: Duration::from_secs(10),
            patrol: Duration::from_secs(15),
            lockout: Duration::from_mins(5),
        }
    }
}

/// What is done with all hosts alike. A time that is none is for ever.
#[derive(Clone, Copy, Debug)]
struct Settings {
    boot: RedfishBoot,
    leave_on: bool,
    force_after: Option<Duration>,
    power_timeout: Option<Duration>,
    join_timeout: Option<Duration>,
    quarantine: Option<Duration>,
}

/// Hosts as a source of machines.
pub struct Redfish {
    name: Text,
    cluster_id: Text,
    hosts: BTreeMap<Text, Host>,
    reserved: Reserved,
    settings: Settings,
    books: Books,
    nodes: Nodes,
    bmcs: Bmcs,
    sights: Sights,
    /// When all hosts were last looked at.
    surveyed: Mutex<Option<Instant>>,
    wishes: Wishes,
    /// Whose turn it is with a host.
    turns: Turns,
    /// Whose turn it is to launch for a claim.
    claims: Turns,
    pace: Pace,
    clock: Arc<dyn Clock>,
}

impl Redfish {
    /// The provider of this name. Its ledger and its Secrets are in this namespace.
    pub fn new(
        name: Text,
        spec: &RedfishProvider,
        cluster_id: Text,
        namespace: &str,
        client: kube::Client,
        clock: Arc<dyn Clock>,
        pace: Pace,
    ) -> Result<Self, ProviderError> {
        check_labels(&name, &cluster_id)?;
        let keys = Keys::new(Api::namespaced(client.clone(), namespace));
        let books = Api::namespaced(client.clone(), namespace);
        Ok(Self {
            hosts: hosts::read(spec)?,
            reserved: hosts::read_reserved(spec)?,
            settings: Settings {
                boot: spec.boot,
                leave_on: spec.release.leave_on,
                force_after: spec.release.force_after().limit(),
                power_timeout: spec.power_timeout.limit(),
                join_timeout: spec.join_timeout.limit(),
                quarantine: spec.quarantine.limit(),
            },
            books: Books::new(books, name.clone(), cluster_id.clone()),
            nodes: Api::all(client),
            bmcs: Bmcs::new(spec, keys, pace),
            sights: Sights::default(),
            surveyed: Mutex::default(),
            wishes: Wishes::default(),
            turns: Turns::default(),
            claims: Turns::default(),
            name,
            cluster_id,
            pace,
            clock,
        })
    }
}

#[async_trait]
impl Provider for Redfish {
    fn kind(&self) -> &'static str {
        "redfish"
    }

    async fn instance_types(&self) -> Result<Vec<InstanceType>, ProviderError> {
        self.offers().await
    }

    async fn launch(&self, request: &LaunchRequest) -> Result<Machine, ProviderError> {
        self.launch_host(request).await
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
        self.all_hosts().await
    }

    async fn run(&self) {
        self.patrol().await;
    }
}

impl fmt::Debug for Redfish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redfish")
            .field("name", &self.name)
            .field("cluster_id", &self.cluster_id)
            .finish_non_exhaustive()
    }
}
