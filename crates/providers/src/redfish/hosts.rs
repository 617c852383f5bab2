//! The hosts of a specification, read and checked.

use std::collections::BTreeMap;

use windlass_api::{DollarsPerHour, RedfishHost, RedfishProvider};
use windlass_core::model::{Labels, Resources};
use windlass_core::{Price, Text};

use super::ledger::Place;
use crate::ProviderError;
use crate::names::is_label_value;
use crate::stated::{DEFAULT_PODS, amounts, labels, less};

/// One host of the specification.
#[derive(Clone, Debug)]
pub(super) struct Host {
    pub place: Place,
    pub zone: Text,
    pub price: Price,
    /// What it is said to have.
    given: Resources,
    pub labels: Labels,
    pub node_name: Text,
}

/// What of hosts is not for pods.
#[derive(Clone, Debug)]
pub(super) struct Reserved(Option<Resources>);

/// What is kept of the cpu where nothing is said, in thousandths of a core.
const DEFAULT_RESERVED_CPU: i64 = 100;
/// Which part of the memory.
const DEFAULT_RESERVED_MEMORY: i64 = 16;

/// Reads the hosts of a specification.
pub(super) fn read(spec: &RedfishProvider) -> Result<BTreeMap<Text, Host>, ProviderError> {
    if let Some(flaw) = spec.flaw() {
        return Err(invalid(flaw));
    }
    let each = spec.hosts.iter().map(|host| {
        let read = read_host(host, spec).map_err(|wrong| invalid(format!("host {}: {wrong}", host.name)));
        Ok((host.name.as_str().into(), read?))
    });
    each.collect()
}

/// Reads what of hosts is not for pods.
pub(super) fn read_reserved(spec: &RedfishProvider) -> Result<Reserved, ProviderError> {
    let reserved = spec.reserved.as_ref().map(|given| amounts("reserved", given));
    Ok(Reserved(reserved.transpose().map_err(invalid)?))
}

fn read_host(given: &RedfishHost, spec: &RedfishProvider) -> Result<Host, String> {
    let zone = given.zone.as_ref().unwrap_or(&spec.zone);
    if zone.is_empty() || !is_label_value(zone) {
        return Err("zone: it becomes a label, so write at most 63 letters, digits, dots, dashes".to_owned());
    }
    if !given.address.starts_with("https://") {
        return Err(format!("its address {} is not that of an https server", given.address));
    }
    let price = match given.price.as_ref().or(spec.default_price.as_ref()) {
        Some(DollarsPerHour(price)) => price.parse().map_err(|error| format!("price: {error}"))?,
        None => Price::ZERO,
    };
    let mut capacity = amounts("capacity", &given.capacity)?;
    if !given.capacity.contains_key(Resources::PODS) {
        capacity.set(Resources::PODS, DEFAULT_PODS);
    }
    Ok(Host {
        place: Place {
            address: given.address.clone(),
            system_id: given.system_id.clone(),
            secret: given.credentials_secret_ref.as_ref().map(|secret| secret.name.clone()),
            tls: given.tls.clone(),
        },
        zone: zone.as_str().into(),
        price,
        given: capacity,
        labels: labels(&given.labels)?,
        node_name: given.node_name().into(),
    })
}

impl Host {
    /// What it has: what it is said to have, and else what its BMC says, unless cpu or memory are not known at all.
    pub fn capacity(&self, seen: Option<&Resources>) -> Option<Resources> {
        let mut capacity = self.given.clone();
        for name in [Resources::CPU, Resources::MEMORY] {
            if capacity.get(name) == 0 {
                capacity.set(name, seen?.get(name));
            }
            if capacity.get(name) == 0 {
                return None;
            }
        }
        Some(capacity)
    }
}

impl Reserved {
    /// What pods can use of a host.
    pub fn allocatable(&self, capacity: &Resources) -> Resources {
        match &self.0 {
            Some(reserved) => less(capacity, reserved),
            None => {
                let memory = capacity.get(Resources::MEMORY) / DEFAULT_RESERVED_MEMORY;
                let reserved = Resources::from_iter([
                    (Resources::CPU, DEFAULT_RESERVED_CPU),
                    (Resources::MEMORY, memory),
                ]);
                less(capacity, &reserved)
            }
        }
    }
}

fn invalid(message: String) -> ProviderError {
    ProviderError::InvalidConfiguration { message }
}
