//! Hosts as instance types. Those of the same capacity, labels and price are one type, and each zone is an offering.

use std::collections::BTreeMap;

use windlass_api::{CapacityType, RedfishProvider};
use windlass_core::Text;
use windlass_core::model::{InstanceType, Offering, OfferingKey, Resources};

use super::hosts::{self, Host, Reserved};
use super::ledger::Shape;
use super::naming::type_name;
use crate::ProviderError;

/// A host of which it is known what it has.
#[derive(Clone, Debug)]
pub(super) struct Offer<'a> {
    pub host: &'a Host,
    pub capacity: Resources,
    /// Whether it can be had now.
    pub is_free: bool,
}

/// The instance types that a specification itself says are on offer. Those of hosts whose capacity only their BMCs know
/// are not among them.
pub(crate) fn stated_types(spec: &RedfishProvider) -> Result<Vec<InstanceType>, ProviderError> {
    let (hosts, reserved) = (hosts::read(spec)?, hosts::read_reserved(spec)?);
    let stated =
        hosts.values().filter_map(|host| Some(Offer { capacity: host.capacity(None)?, host, is_free: true }));
    let types = instance_types(stated, &reserved);
    if types.is_empty() {
        let message = "what the hosts have is known to their BMCs alone: give their capacity, or plan with the live cluster";
        return Err(ProviderError::InvalidConfiguration { message: message.to_owned() });
    }
    Ok(types)
}

/// The instance types of hosts.
pub(super) fn instance_types<'a>(
    offers: impl Iterator<Item = Offer<'a>>,
    reserved: &Reserved,
) -> Vec<InstanceType> {
    let mut types: BTreeMap<Text, InstanceType> = BTreeMap::new();
    for offer in offers {
        let name = offer.type_name();
        let found = types.entry(name.clone()).or_insert_with(|| InstanceType {
            name,
            allocatable: reserved.allocatable(&offer.capacity),
            capacity: offer.capacity.clone(),
            labels: offer.host.labels.clone(),
            offerings: Vec::new(),
        });
        let zone = &offer.host.zone;
        let free = u32::from(offer.is_free);
        match found.offerings.iter_mut().find(|offering| offering.zone == *zone) {
            Some(offering) => {
                offering.available = offering.available.map(|before| before.saturating_add(free))
            }
            None => found.offerings.push(offering(offer.host, free)),
        }
    }
    types.into_values().collect()
}

fn offering(host: &Host, free: u32) -> Offering {
    Offering {
        zone: host.zone.clone(),
        capacity_type: CapacityType::OnDemand.as_str().into(),
        price: host.price,
        available: Some(free),
        avoid_until: None,
        draws: None,
    }
}

impl Offer<'_> {
    fn type_name(&self) -> Text {
        type_name(&self.capacity, &self.host.labels, self.host.price)
    }

    /// Which offering the host is part of.
    pub fn key(&self) -> OfferingKey {
        OfferingKey {
            instance_type: self.type_name(),
            zone: self.host.zone.clone(),
            capacity_type: CapacityType::OnDemand.as_str().into(),
        }
    }

    /// What a machine on this host is.
    pub fn shape(&self, reserved: &Reserved) -> Option<Shape> {
        let [found] =
            <[InstanceType; 1]>::try_from(instance_types([self.clone()].into_iter(), reserved)).ok()?;
        Some(Shape {
            offering: self.key(),
            price: self.host.price,
            labels: found.labels_with(found.offerings.first()?),
            capacity: found.capacity,
            allocatable: found.allocatable,
            node_name: self.host.node_name.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::stated_types;

    fn types(hosts: Value) -> Vec<String> {
        let spec = json!({"credentialsSecretRef": {"name": "bmc"}, "zone": "rack-a", "defaultPrice": "0.5", "hosts": hosts});
        let types = stated_types(&serde_json::from_value(spec).unwrap()).unwrap();
        let mut each: Vec<String> = types
            .iter()
            .flat_map(|found| {
                found.offerings.iter().map(|offering| {
                    let available = offering.available.unwrap();
                    format!("{available} x {} in {} at {}", found.allocatable, offering.zone, offering.price)
                })
            })
            .collect();
        each.sort();
        each
    }

    fn host(name: &str, more: &Value) -> Value {
        let mut host = json!({"name": name, "address": format!("https://{name}"), "capacity": {"cpu": 16, "memory": "64Gi"}});
        for (key, value) in more.as_object().unwrap() {
            host[key] = value.clone();
        }
        host
    }

    #[test]
    fn hosts_that_are_alike_are_one_type_with_an_offering_for_each_zone() {
        let hosts = json!([
            host("a", &json!({})),
            host("b", &json!({})),
            host("c", &json!({"zone": "rack-b"})),
            host("d", &json!({"price": "0.7"})),
        ]);
        assert_eq!(
            types(hosts),
            [
                "1 x cpu 15900m, memory 60Gi, pods 110 in rack-a at 0.70",
                "1 x cpu 15900m, memory 60Gi, pods 110 in rack-b at 0.50",
                "2 x cpu 15900m, memory 60Gi, pods 110 in rack-a at 0.50",
            ]
        );
    }

    #[test]
    fn what_only_a_bmc_knows_is_not_stated() {
        let hosts = json!([host("a", &json!({})), host("b", &json!({"capacity": {"cpu": 16}}))]);
        assert_eq!(types(hosts), ["1 x cpu 15900m, memory 60Gi, pods 110 in rack-a at 0.50"]);
        let spec =
            json!({"credentialsSecretRef": {"name": "bmc"}, "hosts": [host("a", &json!({"capacity": {}}))]});
        let error = stated_types(&serde_json::from_value(spec).unwrap()).unwrap_err();
        assert!(error.to_string().contains("give their capacity"), "{error}");
    }

    #[test]
    fn a_mistake_is_named_with_its_host_and_field() {
        for (more, part) in [
            (json!({"zone": "a b"}), "host a: zone"),
            (json!({"price": "cheap"}), "host a: price"),
            (json!({"capacity": {"cpu": "x"}}), "host a: capacity: cpu"),
            (json!({"labels": {"disk": "very fast"}}), "host a: labels: disk"),
            (json!({"address": "http://a"}), "host a: its address"),
        ] {
            let spec = json!({"credentialsSecretRef": {"name": "bmc"}, "hosts": [host("a", &more)]});
            let error = stated_types(&serde_json::from_value(spec).unwrap()).unwrap_err();
            assert!(error.to_string().contains(part), "{error} should contain {part}");
        }
    }
}
