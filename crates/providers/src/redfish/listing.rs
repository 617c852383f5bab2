//! Which machines there are, and how hosts are.

use std::collections::BTreeSet;

use windlass_core::Text;
use windlass_core::model::{InstanceType, Resources};

use super::Redfish;
use super::catalogue::instance_types;
use super::ledger::Hold;
use super::naming::{host_and_claim, provider_id};
use super::state::State;
use crate::{Host, Inventory, Machine, MachineState, ProviderError};

impl Redfish {
    /// All hosts as instance types, with how many of them are free.
    pub(super) async fn offers(&self) -> Result<Vec<InstanceType>, ProviderError> {
        self.survey(self.pace.fresh).await?;
        let view = self.view().await?;
        let offers = self.hosts.keys().filter_map(|name| {
            let (state, _) = self.state(&view, name);
            self.offer(name, state == State::Free)
        });
        Ok(instance_types(offers, &self.reserved))
    }

    /// All machines of this cluster. What could not be had comes last, so that whoever looks for a claim's machine finds the
    /// one that it has.
    pub(super) async fn all(&self) -> Result<Vec<Machine>, ProviderError> {
        let ledger = self.books.read().await?;
        let (failed, kept): (Vec<_>, Vec<_>) = ledger.holds().partition(|(_, hold)| hold.is_failed());
        let each = kept.into_iter().chain(failed);
        Ok(each.map(|(host, hold)| self.machine(host, hold)).collect())
    }

    /// One machine.
    pub(super) async fn one(&self, id: &str) -> Result<Machine, ProviderError> {
        let ledger = self.books.read().await?;
        let found = host_and_claim(&self.name, id)
            .and_then(|(host, uid)| Some(self.machine(&host.into(), ledger.hold(host, uid)?)));
        found.ok_or_else(|| ProviderError::NotFound { provider_id: id.to_owned() })
    }

    /// What a claim has of a host. It is the claim's until its host is known to be off and that is written down: a BMC that
    /// does not answer, and a host that somebody has powered off, take nothing away.
    pub(super) fn machine(&self, host: &Text, hold: &Hold) -> Machine {
        let shape = hold.shape.clone();
        Machine {
            provider_id: provider_id(&self.name, host, &hold.tag.claim_uid),
            tag: hold.tag.clone(),
            offering: shape.offering,
            price: shape.price,
            capacity: shape.capacity,
            allocatable: shape.allocatable,
            labels: shape.labels,
            node_name: Some(shape.node_name),
            created_at: hold.taken_at,
            ends_at: None,
            drift: self.drift(host, hold),
            state: if hold.is_ending() { MachineState::Terminating } else { MachineState::Running },
        }
    }

    /// In which way a machine is not as it should be, for its claim to be replaced.
    fn drift(&self, host: &str, hold: &Hold) -> Option<Text> {
        if hold.is_ending() {
            return None;
        }
        match self.hosts.get(host) {
            None => return Some(format!("provider {} no longer names host {host}", self.name).into()),
            Some(named) => {
                let (place, held) = (&named.place, &hold.place);
                if place.address != held.address || place.system_id != held.system_id {
                    return Some(
                        format!("provider {} names another system as host {host}", self.name).into(),
                    );
                }
            }
        }
        let off_since = self.sights.of(host)?.off_since?;
        let time = self.settings.power_timeout.unwrap_or(super::DEFAULT_POWER_TIMEOUT);
        let is_off = hold.is_running() && off_since.elapsed() >= time;
        is_off.then(|| format!("somebody has powered off host {host}").into())
    }

    /// How the hosts are, for people.
    pub(super) async fn all_hosts(&self) -> Result<Inventory, ProviderError> {
        self.survey(self.pace.fresh).await?;
        let view = self.view().await?;
        let held = view.ledger.holds().map(|(host, _)| host);
        let names: BTreeSet<&Text> = self.hosts.keys().chain(held).collect();
        let hosts = names.iter().map(|name| {
            let (state, words) = self.state(&view, name);
            let offer = self.offer(name, state == State::Free).filter(|offer| offer.is_free);
            let drift = view.ledger.record(name).and_then(|record| self.drift(name, record.hold.as_ref()?));
            let unreachable = self.sights.of(name).and_then(|sight| Some(sight.power.err()?.words));
            let words =
                match (drift, unreachable.filter(|_| state == State::InUse || state == State::Leaving)) {
                    (Some(drift), _) => format!("{words}; {drift}"),
                    (None, Some(unreachable)) => format!("{words}; {unreachable}"),
                    (None, None) => words,
                };
            Host {
                name: (*name).clone(),
                state: state.as_str().into(),
                free: offer.map_or_else(Resources::new, |offer| offer.capacity),
                message: Some(words.into()),
            }
        });
        let versions: BTreeSet<Text> =
            names.iter().filter_map(|name| self.sights.of(name)?.version).collect();
        let versions: Vec<&str> = versions.iter().map(|version| &**version).collect();
        let version = (!versions.is_empty()).then(|| format!("Redfish {}", versions.join(", ")).into());
        Ok(Inventory { version, hosts: hosts.collect() })
    }
}
