//! What a simulated provider offers, read from its specification and checked.

use std::collections::{BTreeMap, BTreeSet};

use windlass_api::{Catalogue, SimulatedHost, SimulatedInstanceType, SimulatedOffering, SimulatedProvider};
use windlass_core::model::{Draw, InstanceType, Offering, Resources};

use super::builtin;
use crate::ProviderError;
use crate::names::is_label_value;
use crate::stated::{DEFAULT_PODS, amounts, labels, less};

/// The instance types of a specification.
pub(crate) fn instance_types(spec: &SimulatedProvider) -> Result<Vec<InstanceType>, ProviderError> {
    let types = match (spec.catalogue, spec.instance_types.as_slice()) {
        (Some(Catalogue::General), []) => return Ok(builtin::general()),
        (Some(Catalogue::Gpu), []) => return Ok(builtin::gpu()),
        (None, types @ [_, ..]) => types,
        _ => {
            return Err(invalid("give either the name of a built-in catalogue or a list of instanceTypes"));
        }
    };
    let mut names = BTreeSet::new();
    for given in types {
        if !names.insert(given.name.as_str()) {
            return Err(invalid(format!("there are two instance types {:?}", given.name)));
        }
    }
    let hosts = hosts(&spec.hosts)?;
    types
        .iter()
        .map(|given| {
            read(given, &hosts).map_err(|wrong| invalid(format!("instance type {:?}: {wrong}", given.name)))
        })
        .collect()
}

/// What each host has.
fn hosts(given: &[SimulatedHost]) -> Result<BTreeMap<&str, Resources>, ProviderError> {
    let mut hosts = BTreeMap::new();
    for SimulatedHost { name, capacity } in given {
        let capacity =
            amounts("capacity", capacity).map_err(|wrong| invalid(format!("host {name:?}: {wrong}")))?;
        if hosts.insert(name.as_str(), capacity).is_some() {
            return Err(invalid(format!("there are two hosts {name:?}")));
        }
    }
    Ok(hosts)
}

fn read(given: &SimulatedInstanceType, hosts: &BTreeMap<&str, Resources>) -> Result<InstanceType, String> {
    if given.name.is_empty() || !is_label_value(&given.name) {
        return Err("name: it becomes a label, so write at most 63 letters, digits, dots, dashes".to_owned());
    }
    let mut capacity = amounts("capacity", &given.capacity)?;
    if !given.capacity.contains_key(Resources::PODS) {
        capacity.set(Resources::PODS, DEFAULT_PODS);
    }
    let overhead = amounts("overhead", &given.overhead)?;
    let mut seen = BTreeSet::new();
    for offering in &given.offerings {
        if !seen.insert((offering.zone.as_str(), offering.capacity_type.as_str())) {
            return Err(format!("offerings: {} is there twice", place(offering)));
        }
    }
    if given.offerings.is_empty() {
        return Err("offerings: there are none; name at least one zone and its price".to_owned());
    }
    Ok(InstanceType {
        name: given.name.as_str().into(),
        allocatable: less(&capacity, &overhead),
        labels: labels(&given.labels)?,
        offerings: given
            .offerings
            .iter()
            .map(|offering| read_offering(offering, &capacity, hosts))
            .collect::<Result<_, _>>()?,
        capacity,
    })
}

fn read_offering(
    given: &SimulatedOffering,
    capacity: &Resources,
    hosts: &BTreeMap<&str, Resources>,
) -> Result<Offering, String> {
    let wrong = |field: &str, what: &dyn ToString| {
        format!("offering {}: {field}: {}", place(given), what.to_string())
    };
    if given.zone.is_empty() || !is_label_value(&given.zone) {
        return Err(wrong("zone", &"it becomes a label, so write at most 63 letters, digits, dots, dashes"));
    }
    let available = given.available.map(u32::try_from).transpose();
    let draws = given.host.as_deref().map(|host| cut_from(host, capacity, hosts)).transpose();
    Ok(Offering {
        zone: given.zone.as_str().into(),
        capacity_type: given.capacity_type.as_str().into(),
        price: given.price.parse().map_err(|error| wrong("price", &error))?,
        available: available.map_err(|_| wrong("available", &"it cannot be negative"))?,
        avoid_until: None,
        draws: draws.map_err(|what| wrong("host", &what))?,
    })
}

/// What a machine takes of its host: what it has of each resource of which the host has only so much.
fn cut_from(host: &str, capacity: &Resources, hosts: &BTreeMap<&str, Resources>) -> Result<Draw, String> {
    let left = hosts.get(host).ok_or_else(|| format!("there is no {host:?} among hosts"))?.clone();
    let takes = left.iter().map(|(name, _)| (&**name, capacity.get(name))).collect();
    Ok(Draw { from: host.into(), left, takes })
}

fn place(offering: &SimulatedOffering) -> String {
    format!("{}/{}", offering.zone, offering.capacity_type.as_str())
}

fn invalid(message: impl Into<String>) -> ProviderError {
    ProviderError::InvalidConfiguration { message: message.into() }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windlass_core::model::InstanceType;

    use super::instance_types;

    fn read(types: &Value) -> Result<Vec<InstanceType>, String> {
        let spec = serde_json::from_value(json!({"instanceTypes": types})).unwrap();
        instance_types(&spec).map_err(|error| error.to_string())
    }

    fn small() -> Value {
        json!({"name": "small", "capacity": {"cpu": 2, "memory": "4Gi"}, "offerings": [{"zone": "a", "price": "0.10"}]})
    }

    fn with(field: &str, value: Value) -> Value {
        let mut given = small();
        given[field] = value;
        json!([given])
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let types = read(&json!([small()])).unwrap();
        assert_eq!(types[0].capacity.to_string(), "cpu 2, memory 4Gi, pods 110");
        assert_eq!(types[0].labels.get("kubernetes.io/arch").unwrap().as_ref(), "amd64");
        assert_eq!(types[0].offerings[0].capacity_type.as_ref(), "on-demand");
        assert_eq!(types[0].offerings[0].available, None);
    }

    #[test]
    fn what_the_system_keeps_is_not_for_pods_and_never_leaves_less_than_nothing() {
        let types =
            read(&with("overhead", json!({"cpu": "100m", "memory": "8Gi", "hugepages-2Mi": "1Gi"}))).unwrap();
        assert_eq!(types[0].allocatable.to_string(), "cpu 1900m, memory 0, pods 110");
    }

    #[test]
    fn machines_take_of_their_host_what_they_have_of_what_it_has() {
        let on_host = json!([{"zone": "a", "price": "1", "host": "h"}, {"zone": "b", "price": "1"}]);
        let spec =
            |hosts: Value| json!({"hosts": hosts, "instanceTypes": with("offerings", on_host.clone())});
        let read = |hosts| instance_types(&serde_json::from_value(spec(hosts)).unwrap());
        let types = read(json!([{"name": "h", "capacity": {"cpu": 7}}])).unwrap();
        let draw = types[0].offerings[0].draws.as_ref().unwrap();
        assert_eq!(
            (&*draw.from, draw.left.to_string(), draw.takes.to_string()),
            ("h", "cpu 7".into(), "cpu 2".into())
        );
        assert_eq!(types[0].offerings[1].draws, None);
        let host = |cpu| json!({"name": "h", "capacity": {"cpu": cpu}});
        for (hosts, part) in
            [(json!([host(1), host(2)]), "two hosts \"h\""), (json!([host(-1)]), "host \"h\": capacity")]
        {
            let error = read(hosts).unwrap_err().to_string();
            assert!(error.contains(part), "{error} should contain {part}");
        }
    }

    #[test]
    fn a_mistake_is_named_with_its_type_and_field() {
        for (types, part) in [
            (json!([]), "catalogue"),
            (json!([small(), small()]), "two instance types \"small\""),
            (with("name", json!("a b")), "\"a b\": name"),
            (
                with("capacity", json!({"memory": "lots"})),
                "\"small\": capacity: memory: \"lots\" is not a quantity",
            ),
            (with("capacity", json!({"cpu": -1})), "\"small\": capacity: cpu: it cannot be negative"),
            (with("capacity", json!({"c p u": 1})), "\"small\": capacity: \"c p u\""),
            (with("overhead", json!({"cpu": "x"})), "\"small\": overhead: cpu"),
            (with("labels", json!({"disk": "very fast"})), "\"small\": labels: disk"),
            (with("offerings", json!([])), "\"small\": offerings"),
            (
                with("offerings", json!([{"zone": "a", "price": "cheap"}])),
                "\"small\": offering a/on-demand: price",
            ),
            (with("offerings", json!([{"zone": "a b", "price": "1"}])), "zone"),
            (with("offerings", json!([{"zone": "a", "price": "1", "available": -1}])), "available"),
            (
                with("offerings", json!([{"zone": "a", "price": "1", "host": "h"}])),
                "a/on-demand: host: there is no \"h\"",
            ),
            (
                with("offerings", json!([{"zone": "a", "price": "1"}, {"zone": "a", "price": "2"}])),
                "a/on-demand is there twice",
            ),
        ] {
            let error = read(&types).unwrap_err();
            assert!(error.contains(part), "{error} should contain {part}");
        }
    }

    #[test]
    fn two_thousand_types_are_read() {
        let type_of = |number: usize| {
            let mut given = small();
            given["name"] = json!(format!("type-{number}"));
            given
        };
        let types = (0..2000).map(type_of).collect();
        assert_eq!(read(&types).unwrap().len(), 2000);
    }
}
