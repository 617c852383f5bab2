use std::collections::BTreeMap;

use jiff::Timestamp;

use super::candidate::Candidate;
use super::view::View;
use crate::Text;
use crate::model::{OfferingKey, Pool, Resources};

/// What may still be launched: what the pools' limits leave, and what the providers have. Every claim counts as the
/// largest machine that it may become, so that limits hold at every moment whatever is got.
#[derive(Clone)]
pub(super) struct Budget<'a> {
    now: Timestamp,
    pools: Vec<Allowance<'a>>,
    /// By provider and offering; pools share what their provider has.
    stock: BTreeMap<(&'a str, OfferingKey), u32>,
}

/// What one pool may still launch.
#[derive(Clone)]
struct Allowance<'a> {
    pool: &'a Pool,
    nodes: Option<u32>,
    left: Resources,
}

impl<'a> Budget<'a> {
    pub(super) fn new(view: &View<'a>, pools: &[&'a Pool]) -> Self {
        let allowances = pools.iter().map(|pool| {
            let mut allowance = Allowance { pool, nodes: pool.max_nodes, left: pool.limits.clone() };
            for claim in view.claims_in(&pool.name) {
                allowance.spend(&claim.counted(), 1);
            }
            allowance
        });
        let mut budget = Self { now: view.now, pools: allowances.collect(), stock: BTreeMap::new() };
        budget.count_stock(view, pools);
        budget
    }

    fn count_stock(&mut self, view: &View<'a>, pools: &[&'a Pool]) {
        for pool in pools {
            for instance_type in pool.instance_types.iter() {
                for offering in &instance_type.offerings {
                    let Some(available) = offering.available else {
                        continue;
                    };
                    let entry = self.stock.entry((&*pool.provider, instance_type.key(offering)));
                    entry.and_modify(|least| *least = available.min(*least)).or_insert(available);
                }
            }
        }
        // The provider does not know yet of machines that it has not been asked for.
        for claim in view.snapshot.claims.values().filter(|claim| claim.launched.is_none() && !claim.deleting)
        {
            let Some(pool) = view.snapshot.pools.get(&claim.pool) else {
                continue;
            };
            let Some(first) = claim.offerings.first() else {
                continue;
            };
            if let Some(available) = self.stock.get_mut(&(&*pool.provider, first.key.clone())) {
                *available = available.saturating_sub(1);
            }
        }
    }

    /// How many of these can be launched, up to a number.
    pub(super) fn room(&self, candidate: &Candidate<'_>, at_most: usize) -> usize {
        if candidate.avoided(self.now).is_some() {
            return 0;
        }
        let in_stock = self.stocked(candidate).map_or(at_most, |stock| at_most.min(stock as usize));
        self.within_limits(candidate, in_stock)
    }

    /// How many of these there are, where that is known.
    pub(super) fn in_stock(&self, candidate: &Candidate<'_>) -> Option<u32> {
        self.stocked(candidate)
    }

    /// How many more nodes a pool may have.
    pub(super) fn nodes_left(&self, pool: usize) -> Option<u32> {
        self.pools.get(pool)?.nodes
    }

    /// What is left of each resource that a pool limits.
    pub(super) fn limits_left(&self, pool: usize) -> Vec<(Text, i64)> {
        let left = self.pools.get(pool).map(|allowance| &allowance.left);
        left.into_iter().flat_map(Resources::iter).map(|(name, left)| (name.clone(), left)).collect()
    }

    /// Whether the provider has one of these as far as is known.
    pub(super) fn had(&self, candidate: &Candidate<'_>) -> bool {
        candidate.avoided(self.now).is_none() && self.stocked(candidate) != Some(0)
    }

    /// How many of these the provider has, where that is known.
    fn stocked(&self, candidate: &Candidate<'_>) -> Option<u32> {
        candidate.offering.available?;
        self.stock.get(&(&*candidate.pool.provider, candidate.key())).copied()
    }

    /// How many of these the pool's limits allow, up to a number.
    fn within_limits(&self, candidate: &Candidate<'_>, at_most: usize) -> usize {
        let Some(allowance) = self.pools.get(candidate.pool_number) else {
            return 0;
        };
        let at_most = allowance.nodes.map_or(at_most, |nodes| at_most.min(nodes as usize));
        allowance.left.iter().fold(at_most, |most, (name, left)| {
            let capacity = candidate.instance_type.capacity.get(name);
            if capacity <= 0 {
                return most;
            }
            most.min(usize::try_from(left.max(0) / capacity).unwrap_or(usize::MAX))
        })
    }

    /// Sets aside so many of these.
    pub(super) fn take(&mut self, candidate: &Candidate<'a>, times: usize) {
        if let Some(stock) = self.stock.get_mut(&(&*candidate.pool.provider, candidate.key())) {
            *stock = stock.saturating_sub(u32::try_from(times).unwrap_or(u32::MAX));
        }
        let Some(allowance) = self.pools.get_mut(candidate.pool_number) else {
            return;
        };
        allowance.spend(&candidate.instance_type.capacity, times);
    }

    /// Lets a launch that counts for so much become this machine instead, if limits and stock allow that; then it
    /// counts for the larger of both.
    pub(super) fn widen(&mut self, counted: &mut Resources, candidate: &Candidate<'_>) -> bool {
        let Some(allowance) = self.pools.get_mut(candidate.pool_number) else {
            return false;
        };
        let mut wider = counted.clone();
        wider.raise_to(&candidate.instance_type.capacity);
        let growth = |name: &str| wider.get(name).saturating_sub(counted.get(name));
        if allowance.left.iter().any(|(name, left)| growth(name) > left.max(0)) {
            return false;
        }
        allowance.change(|name, left| left.saturating_sub(growth(name)));
        *counted = wider;
        true
    }

    /// The limit of its pool that stands against launching one of these: its name and what it is.
    pub(super) fn limit_reached(&self, candidate: &Candidate<'_>) -> Option<(Text, String)> {
        let Allowance { pool, nodes, left } = self.pools.get(candidate.pool_number)?;
        if *nodes == Some(0) {
            return Some(("nodes".into(), pool.max_nodes.unwrap_or_default().to_string()));
        }
        let capacity = &candidate.instance_type.capacity;
        let (name, _) = left.iter().find(|(name, left)| capacity.get(name) > (*left).max(0))?;
        Some((name.clone(), Resources::show(name, pool.limits.get(name))))
    }
}

impl Allowance<'_> {
    /// Sets aside so many nodes. A negative capacity would raise a limit, so it counts as none.
    fn spend(&mut self, capacity: &Resources, times: usize) {
        let count = u32::try_from(times).unwrap_or(u32::MAX);
        self.nodes = self.nodes.map(|nodes| nodes.saturating_sub(count));
        self.change(|name, left| {
            left.saturating_sub(capacity.get(name).max(0).saturating_mul(i64::from(count)))
        });
    }

    /// Changes what is left of each resource that is limited.
    fn change(&mut self, to: impl Fn(&str, i64) -> i64) {
        self.left = self.left.iter().map(|(name, left)| (&**name, to(name, left))).collect();
    }
}
