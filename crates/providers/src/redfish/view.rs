//! Looking at hosts, their nodes and the ledger.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt as _;
use kube::api::ListParams;
use tokio::time::Instant;
use windlass_api::labels::POOL;
use windlass_core::Text;

use super::Redfish;
use super::bmc::{Failure, System};
use super::catalogue::Offer;
use super::ledger::{Ledger, Place};
use super::state::{Known, State};
use crate::ProviderError;
use crate::api_error::provider_error;

/// What is known of all hosts, as of one moment.
#[derive(Debug)]
pub(super) struct View {
    pub ledger: Ledger,
    /// The nodes there are, and whether each bears a mark of ours.
    nodes: BTreeMap<String, bool>,
}

impl Redfish {
    /// The ledger and the nodes as they are now. What BMCs say is what they said when they were last asked.
    pub(super) async fn view(&self) -> Result<View, ProviderError> {
        let ledger = self.books.read().await?;
        let nodes = self.nodes.list_metadata(&ListParams::default()).await;
        let nodes = nodes.map_err(|error| provider_error("listing nodes", &error))?;
        let each = nodes.items.into_iter().map(|node| (node.name_any(), node.labels().contains_key(POOL)));
        Ok(View { ledger, nodes: each.collect() })
    }

    /// Asks all BMCs how their hosts are, unless that was done lately. Those that do not answer in time are not waited for.
    pub(super) async fn survey(&self, lately: Duration) -> Result<(), ProviderError> {
        let mut surveyed = self.surveyed.lock().await;
        if surveyed.is_some_and(|at| at.elapsed() < lately) {
            return Ok(());
        }
        let places = self.places(&self.books.read().await?);
        join_all(places.iter().map(|(host, place)| self.look(host, place))).await;
        *surveyed = Some(Instant::now());
        Ok(())
    }

    /// Asks a BMC how its host is.
    pub(super) async fn look(&self, host: &Text, place: &Place) -> Result<System, Failure> {
        let looked = match self.bmcs.of(host, place) {
            Ok(bmc) => bmc.look().await,
            Err(failure) => Err(failure),
        };
        self.sights.saw(host, &looked);
        looked
    }

    /// Whether there is a node of this name.
    pub(super) async fn node_exists(&self, name: &str) -> Result<bool, ProviderError> {
        let found = self.nodes.get_metadata_opt(name).await;
        Ok(found.map_err(|error| provider_error(&format!("looking for node {name}"), &error))?.is_some())
    }

    /// Where all hosts are that the specification names or somebody has.
    fn places(&self, ledger: &Ledger) -> BTreeMap<Text, Place> {
        let mut places: BTreeMap<Text, Place> =
            self.hosts.iter().map(|(name, host)| (name.clone(), host.place.clone())).collect();
        for (host, hold) in ledger.holds() {
            places.insert(host.clone(), self.place(host, &hold.place));
        }
        places
    }

    /// Where a host is that somebody has. A specification that has changed may say how it is reached, and not that it is
    /// another one.
    pub(super) fn place(&self, host: &str, held: &Place) -> Place {
        let named = self.hosts.get(host).map(|host| &host.place);
        let same = named.filter(|named| named.address == held.address && named.system_id == held.system_id);
        same.unwrap_or(held).clone()
    }

    /// How a host is, and why.
    pub(super) fn state(&self, view: &View, host: &str) -> (State, String) {
        let node = self.hosts.get(host).map(|host| &*host.node_name);
        let sight = self.sights.of(host);
        let known = Known {
            record: view.ledger.record(host),
            sight: sight.as_ref(),
            node: node.and_then(|name| Some((name, *view.nodes.get(name)?))),
            quarantine: self.settings.quarantine,
            now: self.clock.now(),
        };
        let (state, words) = known.state();
        if state == State::Free && self.offer(host, true).is_none() {
            let words =
                "neither the specification nor its BMC says how much cpu and memory it has: give capacity";
            return (State::Misconfigured, words.to_owned());
        }
        (state, words)
    }

    /// A host as something to be had, if it is known what it has.
    pub(super) fn offer(&self, host: &str, is_free: bool) -> Option<Offer<'_>> {
        let sight = self.sights.of(host);
        let host = self.hosts.get(host)?;
        let capacity = host.capacity(sight.as_ref().map(|sight| &sight.size))?;
        Some(Offer { host, capacity, is_free })
    }
}

impl View {
    /// Whether there is a node of this name.
    pub fn has_node(&self, name: &str) -> bool {
        self.nodes.contains_key(name)
    }
}

/// What is listed of nodes.
pub(super) type Nodes = kube::Api<Node>;
