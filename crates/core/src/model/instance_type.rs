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

    /// The name of one of its offerings.
    pub fn key(&self, offering: &Offering) -> OfferingKey {
        OfferingKey {
            instance_type: self.name.clone(),
            zone: offering.zone.clone(),
            capacity_type: offering.capacity_type.clone(),
        }
    }
}
