//! The groups of a server as instance types.

use std::collections::BTreeMap;

use windlass_core::model::{InstanceType, Offering, OfferingKey};
use windlass_core::{Price, Text, stable_hash};

use super::ledger::Shape;
use super::template::Template;
use crate::names::LABEL_LIMIT;

/// A group that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub id: Text,
    pub template: Template,
    pub price: Price,
    /// The most instances that it may have.
    pub max: i32,
    /// How many it is to have.
    pub target: i32,
}

/// What a server offers, and which groups it has that cannot be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Catalogue {
    pub types: Vec<InstanceType>,
    pub offers: BTreeMap<OfferingKey, Group>,
    /// Why, by group.
    pub left_out: BTreeMap<Text, String>,
}

impl Catalogue {
    /// The groups as instance types. Those that are alike but for their place are one type; those that say they are the same
    /// and are not, or are the same in the same place, are told apart by a suffix that follows from their id.
    pub fn new(mut groups: Vec<Group>, left_out: BTreeMap<Text, String>) -> Self {
        groups.sort_by(|a, b| a.id.cmp(&b.id));
        let mut catalogue = Self { left_out, ..Self::default() };
        for group in groups {
            catalogue.add(group);
        }
        catalogue
    }

    fn add(&mut self, group: Group) {
        let Template { instance_type, zone, capacity_type, .. } = &group.template;
        let offering = Offering {
            zone: zone.clone(),
            capacity_type: capacity_type.clone(),
            price: group.price,
            available: Some(u32::try_from(group.max.saturating_sub(group.target)).unwrap_or(0)),
            avoid_until: None,
            draws: None,
        };
        let same_name = self.types.iter_mut().find(|found| found.name == *instance_type);
        let (name, place) = match same_name {
            Some(found) if is_alike(found, &group.template) && !has_place(found, &offering) => {
                (found.name.clone(), Some(found))
            }
            Some(_) => (told_apart(instance_type, &group.id), None),
            None => (instance_type.clone(), None),
        };
        let key = OfferingKey {
            instance_type: name.clone(),
            zone: zone.clone(),
            capacity_type: capacity_type.clone(),
        };
        match place {
            Some(found) => found.offerings.push(offering),
            None => self.types.push(InstanceType {
                name,
                capacity: group.template.capacity.clone(),
                allocatable: group.template.allocatable.clone(),
                labels: group.template.labels.clone(),
                offerings: vec![offering],
            }),
        }
        self.offers.insert(key, group);
    }

    /// What a machine of this offering is.
    pub fn shape(&self, key: &OfferingKey) -> Option<Shape> {
        let group = self.offers.get(key)?;
        let found = self.types.iter().find(|found| found.name == key.instance_type)?;
        let offering = found.offerings.iter().find(|offering| found.key(offering) == *key)?;
        Some(Shape {
            offering: key.clone(),
            price: group.price,
            capacity: found.capacity.clone(),
            allocatable: found.allocatable.clone(),
            labels: found.labels_with(offering),
        })
    }
}

fn is_alike(found: &InstanceType, template: &Template) -> bool {
    found.capacity == template.capacity
        && found.allocatable == template.allocatable
        && found.labels == template.labels
}

fn has_place(found: &InstanceType, offering: &Offering) -> bool {
    let same = |each: &Offering| each.zone == offering.zone && each.capacity_type == offering.capacity_type;
    found.offerings.iter().any(same)
}

fn told_apart(name: &str, group: &str) -> Text {
    let suffix = format!("-{:016x}", stable_hash(&[group.as_bytes()]));
    let suffix = &suffix[..9];
    let readable: String = name.chars().take(LABEL_LIMIT - suffix.len()).collect();
    format!("{readable}{suffix}").into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use windlass_core::Price;
    use windlass_core::model::{Labels, Resources};

    use super::{Catalogue, Group};
    use crate::external_grpc::template::Template;

    fn group(id: &str, zone: &str, cpu: i64) -> Group {
        let capacity = Resources::new().with("cpu", cpu).with("memory", 1 << 30);
        let template = Template {
            instance_type: "small".into(),
            zone: zone.into(),
            capacity_type: "on-demand".into(),
            allocatable: capacity.clone(),
            capacity,
            labels: Labels::new(),
            taints: Vec::new(),
        };
        Group { id: id.into(), template, price: Price::from_micros(100_000), max: 5, target: 2 }
    }

    fn names(groups: Vec<Group>) -> Vec<String> {
        let catalogue = Catalogue::new(groups, BTreeMap::new());
        let each = catalogue.types.iter().map(|found| {
            let zones: Vec<&str> = found.offerings.iter().map(|offering| &*offering.zone).collect();
            format!("{} in {}", found.name, zones.join(" and "))
        });
        each.collect()
    }

    #[test]
    fn groups_that_differ_in_their_zone_are_one_type() {
        let groups = vec![group("b", "zone-b", 2000), group("a", "zone-a", 2000)];
        let catalogue = Catalogue::new(groups.clone(), BTreeMap::new());
        for (key, group) in &catalogue.offers {
            assert_eq!(catalogue.shape(key).unwrap().offering, *key);
            assert_eq!(key.zone, group.template.zone);
        }
        assert_eq!(names(groups), ["small in zone-a and zone-b"]);
    }

    #[test]
    fn groups_that_would_be_the_same_are_told_apart_in_the_same_way_each_time() {
        let groups = vec![group("a", "zone-a", 2000), group("b", "zone-a", 2000), group("c", "zone-b", 4000)];
        let expected = names(groups.clone());
        assert_eq!(expected.len(), 3, "{expected:?}");
        assert_eq!(expected[0], "small in zone-a");
        assert!(expected[1].starts_with("small-") && expected[2].starts_with("small-"), "{expected:?}");
        assert_eq!(names(groups.into_iter().rev().collect()), expected);
    }

    #[test]
    fn what_is_left_is_never_less_than_nothing() {
        let full = Group { target: 9, ..group("a", "zone-a", 1000) };
        let strange = Group { target: i32::MIN, max: i32::MAX, ..group("b", "zone-b", 1000) };
        let types = Catalogue::new(vec![full, strange], BTreeMap::new()).types;
        let available: Vec<_> = types[0].offerings.iter().map(|offering| offering.available).collect();
        assert_eq!(available, [Some(0), Some(u32::try_from(i32::MAX).unwrap())]);
    }
}
