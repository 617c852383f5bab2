use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Labels, Resources, well_known};
use crate::{Price, Text};

/// A kind of machine that a provider offers to a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceType {
    /// Its name.
    pub name: Text,
    /// What the machine has; counted against limits.
    pub capacity: Resources,
    /// What of it pods can use.
    pub allocatable: Resources,
    /// The labels its nodes have, beside those of the offering.
    pub labels: Labels,
    /// Where and how it can be had.
    pub offerings: Vec<Offering>,
}

/// Where and how an instance type can be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offering {
    /// The zone.
    pub zone: Text,
    /// `on-demand`, `spot` or `reserved`.
    pub capacity_type: Text,
    /// What it costs per hour.
    pub price: Price,
    /// How many more can be had; none means no known limit.
    pub available: Option<u32>,
    /// Not to be tried before this time, because it could not be had lately.
    pub avoid_until: Option<Timestamp>,
    /// What its machines are cut from, where others are cut from the same.
    #[serde(default)]
    pub draws: Option<Draw>,
}

/// What the machines of an offering take of a store, such as the host on which they would run. How many can be had then
/// depends on what else is taken of it, so that a number for each offering alone would promise the same room twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draw {
    /// The name of the store. All offerings of one provider that name it draw on the same one.
    pub from: Text,
    /// What the store has left, which is the same for all that draw on it. Where they disagree the least counts. Of a
    /// resource that is not named there is nothing.
    pub left: Resources,
    /// What one machine takes of it.
    pub takes: Resources,
}

/// The name of an offering within one provider.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct OfferingKey {
    pub instance_type: Text,
    pub zone: Text,
    pub capacity_type: Text,
}

impl InstanceType {
    /// The labels of a node of this type and offering.
    pub fn labels_with(&self, offering: &Offering) -> Labels {
        let mut labels = self.labels.clone();
        labels.set(well_known::INSTANCE_TYPE, self.name.clone());
        labels.set(well_known::ZONE, offering.zone.clone());
        labels.set(well_known::CAPACITY_TYPE, offering.capacity_type.clone());
        labels
    }

    /// Lowers what is on offer by machines that were taken of it.
    pub fn take(types: &mut [Self], taken: &BTreeMap<OfferingKey, u32>) {
        let mut drawn: BTreeMap<Text, Resources> = BTreeMap::new();
        for instance_type in &mut *types {
            let keys: Vec<_> = instance_type.offerings.iter().map(|each| instance_type.key(each)).collect();
            for (offering, key) in instance_type.offerings.iter_mut().zip(keys) {
                let taken = taken.get(&key).copied().unwrap_or(0);
                offering.available = offering.available.map(|available| available.saturating_sub(taken));
                if let Some(draw) = &offering.draws {
                    drawn.entry(draw.from.clone()).or_default().add(&draw.takes.times_over(taken.into()));
                }
            }
        }
        let draws =
            types.iter_mut().flat_map(|each| &mut each.offerings).filter_map(|each| each.draws.as_mut());
        for draw in draws {
            if let Some(drawn) = drawn.get(&draw.from) {
                draw.left.subtract(drawn);
            }
        }
    }

    /// The name of one of its offerings.
    pub fn key(&self, offering: &Offering) -> OfferingKey {
        OfferingKey {
            instance_type: self.name.clone(),
            zone: offering.zone.clone(),
            capacity_type: offering.capacity_type.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Draw, InstanceType, Offering};
    use crate::Price;
    use crate::model::{Labels, Resources};

    fn cut(name: &str, cores: i64, available: Option<u32>, from: &str) -> InstanceType {
        let amount = |cores: i64| Resources::from_iter([("cpu", cores * 1000)]);
        let (takes, left) = (amount(cores), amount(16));
        InstanceType {
            name: name.into(),
            capacity: takes.clone(),
            allocatable: takes.clone(),
            labels: Labels::new(),
            offerings: vec![Offering {
                zone: "a".into(),
                capacity_type: "on-demand".into(),
                price: Price::ZERO,
                available,
                avoid_until: None,
                draws: Some(Draw { from: from.into(), left, takes }),
            }],
        }
    }

    #[test]
    fn what_was_taken_of_an_offering_is_missing_in_its_store_for_all_others() {
        let mut types =
            [cut("small", 2, Some(3), "one"), cut("large", 8, None, "one"), cut("far", 4, None, "two")];
        let taken: BTreeMap<_, _> = [(0, 2), (1, 1)]
            .map(|(number, count): (usize, u32)| (types[number].key(&types[number].offerings[0]), count))
            .into();
        InstanceType::take(&mut types, &taken);
        let left = types.each_ref().map(|each| {
            let Offering { available, draws, .. } = &each.offerings[0];
            (*available, draws.as_ref().unwrap().left.get("cpu"))
        });
        assert_eq!(left, [(Some(1), 4000), (None, 4000), (None, 16_000)]);
    }
}
