//! Machines of a server that speaks Cluster Autoscaler's protocol `externalgrpc`.
//!
//! The server has groups, which it makes larger by a number and smaller by naming instances. Its groups become offerings
//! (`offers`, `catalogue`, `template`), a launch becomes an increase by one (`launch`), and an instance that appears becomes
//! the machine of the claim that has waited longest. The server does not know for whom it has what: that is written in one
//! ledger for each group (`ledger`, kept in the cluster by `books`) before anything is asked, so that it survives a crash at
//! any moment.

mod books;
mod catalogue;
mod client;
mod connection;
mod end;
mod failure;
mod launch;
mod ledger;
mod listing;
mod naming;
mod offers;
mod template;
mod view;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use kube::Api;
use windlass_api::{DollarsPerHour, ExternalGrpcProvider};
use windlass_core::model::InstanceType;
use windlass_core::{Price, Text};

use self::books::Books;
use self::catalogue::Catalogue;
use self::client::Client;
use self::connection::Connection;
use crate::names::check_labels;
use crate::turns::Turns;
use crate::{Clock, LaunchRequest, Machine, MachineTag, Provider, ProviderError, Termination};

/// How long things take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How long a launch waits for its instance to be shown before it is asked again. Short, since calls to a provider that
    /// wait keep others waiting.
    pub wait: Duration,
    /// How often it looks meanwhile.
    pub poll: Duration,
    /// How long a request that went unanswered may take to have its effect.
    pub doubt: Duration,
    /// How often the server is told to look at its infrastructure anew.
    pub refresh: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            wait: Duration::from_secs(5),
            poll: Duration::from_millis(500),
            doubt: Duration::from_secs(30),
            refresh: Duration::from_secs(10),
        }
    }
}

/// A server's node groups as a source of machines.
pub struct ExternalGrpc {
    name: Text,
    cluster_id: Text,
    /// Of groups that do not say.
    capacity_type: &'static str,
    prices: BTreeMap<String, Price>,
    default_price: Option<Price>,
    client: Client,
    books: Books,
    catalogue: Mutex<Option<Arc<Catalogue>>>,
    /// Whose turn it is to change a group.
    groups: Turns,
    /// Whose turn it is to launch for a claim.
    claims: Turns,
    pace: Pace,
    clock: Arc<dyn Clock>,
}

impl ExternalGrpc {
    /// The provider of this name. Its ledgers and its certificates are in this namespace.
    pub fn new(
        name: Text,
        spec: &ExternalGrpcProvider,
        cluster_id: Text,
        namespace: &str,
        client: kube::Client,
        clock: Arc<dyn Clock>,
        pace: Pace,
    ) -> Result<Self, ProviderError> {
        check_labels(&name, &cluster_id)?;
        let prices = spec.prices.iter().map(|(group, price)| Ok((group.clone(), read(group, price)?)));
        let default_price = spec.default_price.as_ref().map(|price| read("defaultPrice", price));
        let connection = Connection::new(spec, Api::namespaced(client.clone(), namespace))?;
        let api = Api::namespaced(client, namespace);
        Ok(Self {
            prices: prices.collect::<Result<_, ProviderError>>()?,
            default_price: default_price.transpose()?,
            capacity_type: spec.capacity_type.as_str(),
            client: Client::new(connection, pace.refresh),
            books: Books { api, provider: name.clone(), cluster_id: cluster_id.clone() },
            catalogue: Mutex::default(),
            groups: Turns::default(),
            claims: Turns::default(),
            name,
            cluster_id,
            pace,
            clock,
        })
    }
}

fn read(of: &str, price: &DollarsPerHour) -> Result<Price, ProviderError> {
    price
        .0
        .parse()
        .map_err(|error| ProviderError::InvalidConfiguration { message: format!("the price {of}: {error}") })
}

#[async_trait]
impl Provider for ExternalGrpc {
    fn kind(&self) -> &'static str {
        "externalGrpc"
    }

    async fn instance_types(&self) -> Result<Vec<InstanceType>, ProviderError> {
        Ok(self.ask_catalogue().await?.types.clone())
    }

    async fn launch(&self, request: &LaunchRequest) -> Result<Machine, ProviderError> {
        self.launch_instance(request).await
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
}

impl fmt::Debug for ExternalGrpc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalGrpc")
            .field("name", &self.name)
            .field("cluster_id", &self.cluster_id)
            .finish_non_exhaustive()
    }
}
