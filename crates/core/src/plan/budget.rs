use std::collections::BTreeMap;

use jiff::Timestamp;

use super::candidate::Candidate;
use super::view::View;
use crate::Text;
use crate::ceiling::{Ceiling, LAUNCHES_A_MINUTE};
use crate::model::{Offering, Pool, Recent, Resources};
use crate::stock::{Lack, Stock, StoreName};

/// What may still be launched: what the pools' limits leave, and what the providers have. Every claim counts as the
/// largest machine that it may become, so that limits hold at every moment whatever is got.
#[derive(Clone)]
pub(super) struct Budget<'a> {
    now: Timestamp,
    /// What each pool may still launch.
    pools: Vec<Ceiling>,
    /// What all pools together may still launch.
    all: Ceiling,
    /// When more may be launched by the clock.
    renews_at: Option<Timestamp>,
    stock: Stock<'a>,
}

impl<'a> Budget<'a> {
    pub(super) fn new(view: &View<'a>, pools: &[&'a Pool]) -> Self {
        let (claims, recent, now) = (&view.snapshot.claims, &view.snapshot.recent, view.now);
        let of_each = pools.iter().map(|pool| Ceiling::of_pool(pool, claims.values(), recent, now));
        let settings = &view.snapshot.settings;
        let all = Ceiling::of_all(settings, claims.values(), recent, now);
        let renews_at = renews_at(view);
        let stock = Stock::default();
        let mut budget = Self { now, pools: of_each.collect(), all, renews_at, stock };
        budget.count_stock(view, pools);
        budget
    }

    /// When more may be launched by the clock, if nothing more may now.
    pub(super) fn renews_at(&self) -> Option<Timestamp> {
        let mut ceilings = self.pools.iter().chain([&self.all]);
        self.renews_at.filter(|_| ceilings.any(|ceiling| ceiling.soon == Some(0)))
    }

    /// The limits that a pool is under.
    fn ceilings(&self, pool: usize) -> impl Iterator<Item = &Ceiling> {
        self.pools.get(pool).into_iter().chain([&self.all])
    }

    fn count_stock(&mut self, view: &View<'a>, pools: &[&'a Pool]) {
        for pool in pools {
            self.stock.add(&pool.provider, &pool.instance_types);
        }
        for claim in view.snapshot.claims.values() {
            if let Some(pool) = view.snapshot.pools.get(&claim.pool) {
                self.stock.promise(pool, claim);
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
        self.ceilings(pool).flat_map(|ceiling| [ceiling.nodes, ceiling.soon]).flatten().min()
    }

    /// What is left of each resource that a pool limits.
    pub(super) fn limits_left(&self, pool: usize) -> Vec<(Text, i64)> {
        let mut least: BTreeMap<Text, i64> = BTreeMap::new();
        for (name, left) in self.ceilings(pool).flat_map(|ceiling| ceiling.left.iter()) {
            least.entry(name.clone()).and_modify(|least| *least = left.min(*least)).or_insert(left);
        }
        least.into_iter().collect()
    }

    /// Whether the provider has one of these as far as is known.
    pub(super) fn had(&self, candidate: &Candidate<'_>) -> bool {
        candidate.avoided(self.now).is_none() && self.stocked(candidate) != Some(0)
    }

    /// How many of these the provider has, where that is known.
    fn stocked(&self, candidate: &Candidate<'_>) -> Option<u32> {
        let Offering { available, draws, .. } = candidate.offering;
        if available.is_none() && draws.is_none() {
            return None;
        }
        self.stock.left(&candidate.pool.provider, &candidate.key())
    }

    /// What the stores of the providers have left, which pools and offerings share.
    pub(super) fn stores(&self) -> Vec<(StoreName<'a>, &Resources)> {
        self.stock.stores().collect()
    }

    /// What the store that a machine is cut from has too little of, where nothing else is in the way.
    pub(super) fn lack(&self, candidate: &Candidate<'_>) -> Option<Lack> {
        candidate.offering.draws.as_ref().filter(|_| candidate.avoided(self.now).is_none())?;
        self.stock.lack(&candidate.pool.provider, &candidate.key())
    }

    /// How many of these the pool's limits allow, up to a number.
    fn within_limits(&self, candidate: &Candidate<'_>, at_most: usize) -> usize {
        let capacity = &candidate.instance_type.capacity;
        self.ceilings(candidate.pool_number).fold(at_most, |most, ceiling| ceiling.room(capacity, most))
    }

    /// Sets aside so many of these.
    pub(super) fn take(&mut self, candidate: &Candidate<'a>, times: usize) {
        self.stock.take(&candidate.pool.provider, &candidate.key(), times);
        let Some(own) = self.pools.get_mut(candidate.pool_number) else {
            return;
        };
        own.spend(&candidate.instance_type.capacity, times);
        self.all.spend(&candidate.instance_type.capacity, times);
    }

    /// Lets a launch that counts for so much become this machine instead, if limits and stock allow that; then it
    /// counts for the larger of both.
    pub(super) fn widen(&mut self, counted: &mut Resources, candidate: &Candidate<'_>) -> bool {
        let mut wider = counted.clone();
        wider.raise_to(&candidate.instance_type.capacity);
        let growth = |name: &str| wider.get(name).saturating_sub(counted.get(name));
        if self.limits_left(candidate.pool_number).iter().any(|(name, left)| growth(name) > (*left).max(0)) {
            return false;
        }
        let own = self.pools.get_mut(candidate.pool_number);
        for ceiling in own.into_iter().chain([&mut self.all]) {
            ceiling.change(|name, left| left.saturating_sub(growth(name)));
        }
        *counted = wider;
        true
    }

    /// The limit of its pool or of all that stands against launching one of these: its name and what it is.
    pub(super) fn limit_reached(&self, candidate: &Candidate<'_>) -> Option<(Text, String)> {
        let capacity = &candidate.instance_type.capacity;
        let own = self.pools.get(candidate.pool_number)?;
        own.reached(capacity).or_else(|| {
            let (what, limit) = self.all.reached(capacity)?;
            let what = match &*what {
                LAUNCHES_A_MINUTE => "launches of all pools a minute".into(),
                what => format!("{what} of all pools").into(),
            };
            Some((what, limit))
        })
    }
}

/// When the first of the launches of the last minute is no longer one of them.
fn renews_at(view: &View<'_>) -> Option<Timestamp> {
    let recent = |at: &&Timestamp| view.now.duration_since(**at) < Recent::SPAN;
    let first = view.snapshot.recent.launches.values().flatten().filter(recent).min();
    first.unwrap_or(&view.now).checked_add(Recent::SPAN).ok()
}
