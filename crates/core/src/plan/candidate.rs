use std::cmp::Reverse;

use jiff::Timestamp;

use super::admission::Admission;
use super::amounts::Amounts;
use super::class::Class;
use super::custom;
use super::flexibility;
use super::keys::Domains;
use super::scene::Setting;
use super::shape::{Shape, shapes_of};
use super::view::View;
use super::volumes::Attached;
use crate::Text;
use crate::model::{ClaimOffering, Driver, InstanceType, Labels, Offering, OfferingKey, Pool, Taint};

/// One machine that a pool may launch.
pub(super) struct Candidate<'a> {
    pub(super) pool: &'a Pool,
    /// The pool's place in the order in which pools are tried.
    pub(super) pool_number: usize,
    pub(super) instance_type: &'a InstanceType,
    pub(super) offering: &'a Offering,
    pub(super) labels: Labels,
    /// Which of the sets of labels that the pool defines itself these are.
    variant: usize,
    /// The price to compare by, in millionths of a dollar per hour.
    cost: i64,
    pub(super) admission: Admission,
    /// What pods and daemonsets can use.
    pub(super) allocatable: Amounts,
    /// What the daemonsets leave of it.
    pub(super) room: Amounts,
    /// What of that is to be used, so that enough other machines would do as well.
    pub(super) free: Amounts,
    /// Where its nodes are.
    pub(super) domains: Domains,
    /// In which tallies its nodes count.
    pub(super) sees: Box<[bool]>,
    /// The number of its kind of place: machines of the same kind are the same place to all pods that demand something
    /// of those around them.
    pub(super) spot: usize,
}

/// The pools in the order in which they are tried.
pub(super) fn in_order<'a>(view: &View<'a>) -> Vec<&'a Pool> {
    let mut pools: Vec<&Pool> = view.snapshot.pools.values().map(AsRef::as_ref).collect();
    pools.sort_by_key(|pool| (Reverse(pool.weight), &pool.name));
    pools
}

/// All that the pools of a driver may launch by their own requirements, in the order of the pools and then of the prices. Whether
/// it can be had just now is another matter.
pub(super) fn candidates<'a>(
    pools: &[&'a Pool],
    driver: Driver,
    setting: &mut Setting<'_, '_>,
) -> Vec<Candidate<'a>> {
    let Setting { constraints, dimensions, daemons, attachable, shared, keys, kin, .. } = setting;
    let mut candidates = Vec::new();
    let usable = |pool: &Pool| pool.unusable.is_none() && pool.driver == driver;
    for (pool_number, pool) in pools.iter().enumerate().filter(|(_, pool)| usable(pool)) {
        let taints: Vec<&Taint> = pool.taints.iter().collect();
        let variants = custom::labels(pool);
        for instance_type in pool.instance_types.iter() {
            let limits = attachable.of(&pool.name, &instance_type.name);
            let mut allocatable = dimensions.promised(&instance_type.allocatable, limits);
            dimensions.attach(&mut allocatable, &Attached::new(), shared);
            for Shape { offering, variant, labels, .. } in shapes_of(pool, instance_type, &variants) {
                let room = daemons.leave(&allocatable, &labels, &taints, &[]);
                candidates.push(Candidate {
                    pool,
                    pool_number,
                    instance_type,
                    offering,
                    variant,
                    cost: cost(pool, &labels, offering),
                    admission: constraints.met_by(&[&labels], &taints),
                    free: room.clone(),
                    room,
                    domains: keys.locate_planned(&labels),
                    sees: kin.sees(&labels, &taints),
                    labels,
                    allocatable: allocatable.clone(),
                    spot: 0,
                });
            }
        }
    }
    candidates.sort_by(|a, b| a.order().cmp(&b.order()));
    flexibility::level(&mut candidates);
    candidates
}

/// The price to compare by: a machine that does more for its price is worth more of it. Machines that cost nothing are
/// compared as if they cost next to nothing, so that fewer of them are better than more.
fn cost(pool: &Pool, labels: &Labels, offering: &Offering) -> i64 {
    let fast = pool.performance.iter().find(|each| each.requirements.check(labels).is_ok());
    let percent = fast.map_or(100, |fast| i128::from(fast.percent.max(1)));
    let weighed = i128::from(offering.price.micros()) * 100 / percent;
    i64::try_from(weighed).unwrap_or(i64::MAX).max(1)
}

impl<'a> Candidate<'a> {
    pub(super) fn order(&self) -> (usize, i64, &'a Text, &'a Text, &'a Text, usize) {
        let Offering { zone, capacity_type, .. } = self.offering;
        (self.pool_number, self.cost, &self.instance_type.name, zone, capacity_type, self.variant)
    }

    /// Whether it takes a pod of the class, were it alone.
    pub(super) fn suits(&self, class: &Class) -> bool {
        self.admission.allows(class.constraint) && self.free.covers(&class.request)
    }

    /// The price to compare by.
    pub(super) fn cost(&self) -> i64 {
        self.cost
    }

    /// Whether both are ways to get the same node: from the same pool and with the same labels of the pool's own.
    pub(super) fn is_way_beside(&self, other: &Self) -> bool {
        self.pool_number == other.pool_number
            && self.variant == other.variant
            && self.order() != other.order()
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
