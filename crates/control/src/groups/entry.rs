use jiff::Timestamp;
use windlass_api::labels as marks;
use windlass_core::Text;
use windlass_core::model::{Claim, ClaimOffering, Labels, Pool, Resources, well_known};
use windlass_core::plan::Shape;

use super::id::GroupId;

/// The resource by which Cluster Autoscaler knows GPUs.
const NVIDIA: &str = "nvidia.com/gpu";
/// The label in which machines say what kind of GPUs they have.
const NVIDIA_PRODUCT: &str = "nvidia.com/gpu.product";

/// One group at one moment.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) id: GroupId,
    pub(super) name: String,
    /// The value of the label that its nodes bear.
    pub(super) label: String,
    /// What its machines are.
    pub(super) wanted: ClaimOffering,
    /// The labels that its nodes have, their host names aside.
    pub(super) labels: Labels,
    /// Whether the pool takes such machines, and its provider has them or had them lately.
    pub(super) offered: bool,
    /// Until when the provider said that there are none.
    pub(super) avoid_until: Option<Timestamp>,
    /// How many more there may be.
    pub(super) room: u32,
    /// Its claims, also those that are on their way out.
    pub(super) claims: Vec<Text>,
    /// How many of these stay.
    pub(super) target: u32,
    /// How many of these will not become nodes.
    pub(super) failed: u32,
    pub(super) min: u32,
    pub(super) max: u32,
}

impl Entry {
    /// The group of a kind of nodes that a pool may have.
    pub(super) fn offered(pool: &Pool, shape: &Shape<'_>) -> Self {
        let wanted = ClaimOffering {
            key: shape.key(),
            price: shape.offering.price,
            capacity: shape.instance_type.capacity.clone(),
            allocatable: shape.instance_type.allocatable.clone(),
        };
        let entry = Self::new(pool, wanted, &shape.labels, shape.own.clone());
        Self { offered: true, avoid_until: shape.offering.avoid_until, ..entry }
    }

    /// The group of a claim whose like the pool would not get any more.
    pub(super) fn left_over(pool: &Pool, claim: &Claim, wanted: ClaimOffering, own: Labels) -> Self {
        let mut labels = claim.labels.clone();
        labels.set(well_known::INSTANCE_TYPE, wanted.key.instance_type.clone());
        labels.set(well_known::ZONE, wanted.key.zone.clone());
        labels.set(well_known::CAPACITY_TYPE, wanted.key.capacity_type.clone());
        Self::new(pool, wanted, &labels, own)
    }

    fn new(pool: &Pool, wanted: ClaimOffering, labels: &Labels, own: Labels) -> Self {
        let id = GroupId { pool: pool.name.clone(), key: wanted.key.clone(), own };
        let (name, label) = (id.to_string(), id.label());
        let mut labels: Labels = labels
            .iter()
            .filter(|(key, _)| &***key != well_known::HOSTNAME)
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        labels.set(marks::NODE_GROUP, label.as_str());
        // Only on machines that have some: one with the label and without GPUs would be taken for not ready.
        if wanted.capacity.get(NVIDIA) > 0 {
            let kind = labels.get(NVIDIA_PRODUCT).cloned();
            labels.set(marks::GPU, kind.unwrap_or_else(|| wanted.key.instance_type.clone()));
        }
        Self {
            id,
            name,
            label,
            wanted,
            labels,
            offered: false,
            avoid_until: None,
            room: 0,
            claims: Vec::new(),
            target: 0,
            failed: 0,
            min: 0,
            max: 0,
        }
    }

    /// Counts a claim.
    pub(super) fn add(&mut self, claim: &Claim) {
        self.claims.push(claim.name.clone());
        self.target += u32::from(!claim.deleting);
        self.failed += u32::from(!claim.deleting && claim.given_up);
    }

    /// What kind of GPUs its nodes have, if they have some.
    pub(super) fn gpu(&self) -> Option<&Text> {
        self.labels.get(marks::GPU)
    }
}

/// What a claim's machine is, or is to be.
pub(super) fn machine_of(claim: &Claim) -> Option<ClaimOffering> {
    let launched = claim.launched.as_ref().map(|launched| ClaimOffering {
        key: launched.key.clone(),
        price: launched.price,
        capacity: launched.capacity.clone(),
        allocatable: launched.allocatable.clone(),
    });
    launched.or_else(|| claim.offerings.first().cloned())
}

/// What a part of a machine costs per hour, in millionths of a dollar: its share is that of the resource of which it is the
/// largest. None where the machine has not all of it, if it is to, or nothing of something.
pub(super) fn share_of(asked: &Resources, machine: &ClaimOffering, must_fit: bool) -> Option<i64> {
    if must_fit && !machine.allocatable.covers(asked) {
        return None;
    }
    let mut most = 0;
    for (name, amount) in asked.iter().filter(|(_, amount)| *amount > 0) {
        let whole = i128::from(machine.allocatable.get(name));
        if whole <= 0 {
            return None;
        }
        let part = i128::from(amount) * i128::from(machine.price.micros());
        most = most.max((part + whole - 1) / whole);
    }
    i64::try_from(most).ok()
}
