use std::cmp::Reverse;

use jiff::Timestamp;

use super::admission::{Admission, Constraints, without_hostname};
use super::amounts::{Amounts, Dimensions};
use super::daemons::Daemons;
use super::view::View;
use crate::Text;
use crate::model::{ClaimOffering, InstanceType, Labels, Offering, OfferingKey, Pool, Taint, well_known};

/// One machine that a pool may launch.
pub(super) struct Candidate<'a> {
    pub(super) pool: &'a Pool,
    /// The pool's place in the order in which pools are tried.
    pub(super) pool_number: usize,
    pub(super) instance_type: &'a InstanceType,
    pub(super) offering: &'a Offering,
    pub(super) labels: Labels,
    pub(super) admission: Admission,
    /// What pods and daemonsets can use.
    pub(super) allocatable: Amounts,
    /// What the daemonsets leave of it.
    pub(super) free: Amounts,
}

/// The pools in the order in which they are tried.
pub(super) fn in_order<'a>(view: &View<'a>) -> Vec<&'a Pool> {
    let mut pools: Vec<&Pool> = view.snapshot.pools.values().map(AsRef::as_ref).collect();
    pools.sort_by_key(|pool| (Reverse(pool.weight), &pool.name));
    pools
}

/// All that the pools may launch by their own requirements, in the order of the pools and then of the prices. Whether
/// it can be had just now is another matter.
pub(super) fn candidates<'a>(
    pools: &[&'a Pool],
    constraints: &Constraints<'_>,
    dimensions: &Dimensions,
    daemons: &Daemons<'_>,
) -> Vec<Candidate<'a>> {
    let mut candidates = Vec::new();
    for (pool_number, pool) in pools.iter().enumerate().filter(|(_, pool)| pool.unusable.is_none()) {
        let taints: Vec<&Taint> = pool.taints.iter().collect();
        for instance_type in pool.instance_types.iter() {
            let allocatable = dimensions.supply(&instance_type.allocatable);
            for offering in &instance_type.offerings {
                let labels = labels(pool, instance_type, offering);
                if pool.requirements.check(&labels).is_err() {
                    continue;
                }
                candidates.push(Candidate {
                    pool,
                    pool_number,
                    instance_type,
                    offering,
                    admission: constraints.met_by(&[&labels], &taints),
                    free: daemons.leave(&allocatable, &labels, &taints, &[]),
                    labels,
                    allocatable: allocatable.clone(),
                });
            }
        }
    }
    candidates.sort_by(|a, b| a.order().cmp(&b.order()));
    candidates
}

fn labels(pool: &Pool, instance_type: &InstanceType, offering: &Offering) -> Labels {
    let mut labels = pool.labels.clone();
    labels.extend(&instance_type.labels_with(offering));
    labels.set(well_known::POOL, pool.name.clone());
    without_hostname(&mut labels);
    labels
}

impl<'a> Candidate<'a> {
    pub(super) fn order(&self) -> (usize, i64, &'a Text, &'a Text, &'a Text) {
        let Offering { zone, capacity_type, .. } = self.offering;
        (self.pool_number, self.cost(), &self.instance_type.name, zone, capacity_type)
    }

    /// The price to compare by. Machines that cost nothing are compared as if they cost next to nothing, so that fewer
    /// of them are better than more.
    pub(super) fn cost(&self) -> i64 {
        self.offering.price.micros().max(1)
    }

    pub(super) fn key(&self) -> OfferingKey {
        self.instance_type.key(self.offering)
    }

    /// Until when it is not to be tried, where it could not be had lately.
    pub(super) fn avoided(&self, now: Timestamp) -> Option<Timestamp> {
        self.offering.avoid_until.filter(|until| *until > now)
    }

    pub(super) fn claim_offering(&self) -> ClaimOffering {
        ClaimOffering {
            key: self.key(),
            price: self.offering.price,
            capacity: self.instance_type.capacity.clone(),
            allocatable: self.instance_type.allocatable.clone(),
        }
    }
}
