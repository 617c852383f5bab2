use std::collections::BTreeMap;

use jiff::Timestamp;

use super::candidate::Candidate;
use super::view::View;
use crate::Text;
use crate::model::{OfferingKey, Pool, Recent, Resources, Settings};

/// What may still be launched: what the pools' limits leave, and what the providers have. Every claim counts as the
/// largest machine that it may become, so that limits hold at every moment whatever is got.
#[derive(Clone)]
pub(super) struct Budget<'a> {
    now: Timestamp,
    settings: &'a Settings,
    pools: Vec<Allowance<'a>>,
    /// What all pools together may still launch.
    all: Ceiling,
    /// When more may be launched by the clock.
    renews_at: Option<Timestamp>,
    /// By provider and offering; pools share what their provider has.
    stock: BTreeMap<(&'a str, OfferingKey), u32>,
}

/// What one pool may still launch.
#[derive(Clone)]
struct Allowance<'a> {
    pool: &'a Pool,
    own: Ceiling,
}

/// What may still be launched under a limit.
#[derive(Clone)]
struct Ceiling {
    nodes: Option<u32>,
    left: Resources,
    /// How many more within this minute.
    soon: Option<u32>,
}

impl<'a> Budget<'a> {
    pub(super) fn new(view: &View<'a>, pools: &[&'a Pool]) -> Self {
        let recent = Pace::of(view);
        let allowances = pools.iter().map(|pool| {
            let soon = recent.left(pool.launches_per_minute, Some(&pool.name));
            let own = Ceiling { nodes: pool.max_nodes, left: pool.limits.clone(), soon };
            let mut allowance = Allowance { pool, own };
            for claim in view.claims_in(&pool.name) {
                allowance.own.spend(&claim.counted(), 1);
            }
            allowance.own.soon = soon;
            allowance
        });
        let pools_left = allowances.collect();
        let settings = &view.snapshot.settings;
        let soon = recent.left(settings.launches_per_minute, None);
        let mut all = Ceiling { nodes: settings.max_nodes, left: settings.limits.clone(), soon };
        for claim in view.snapshot.claims.values() {
            all.spend(&claim.counted(), 1);
        }
        all.soon = soon;
        let renews_at = recent.renews_at(view);
        let (now, stock) = (view.now, BTreeMap::new());
        let mut budget = Self { now, settings, pools: pools_left, all, renews_at, stock };
        budget.count_stock(view, pools);
        budget
    }

    /// When more may be launched by the clock, if nothing more may now.
    pub(super) fn renews_at(&self) -> Option<Timestamp> {
        let mut ceilings = self.pools.iter().map(|allowance| &allowance.own).chain([&self.all]);
        self.renews_at.filter(|_| ceilings.any(|ceiling| ceiling.soon == Some(0)))
    }

    /// The limits that a pool is under.
    fn ceilings(&self, pool: usize) -> impl Iterator<Item = &Ceiling> {
        self.pools.get(pool).map(|allowance| &allowance.own).into_iter().chain([&self.all])
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
        candidate.offering.available?;
        self.stock.get(&(&*candidate.pool.provider, candidate.key())).copied()
    }

    /// How many of these the pool's limits allow, up to a number.
    fn within_limits(&self, candidate: &Candidate<'_>, at_most: usize) -> usize {
        let pool = candidate.pool_number;
        let at_most = self.nodes_left(pool).map_or(at_most, |nodes| at_most.min(nodes as usize));
        let left = self.ceilings(pool).flat_map(|ceiling| ceiling.left.iter());
        left.fold(at_most, |most, (name, left)| {
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
        allowance.own.spend(&candidate.instance_type.capacity, times);
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
        let own = self.pools.get_mut(candidate.pool_number).map(|allowance| &mut allowance.own);
        for ceiling in own.into_iter().chain([&mut self.all]) {
            ceiling.change(|name, left| left.saturating_sub(growth(name)));
        }
        *counted = wider;
        true
    }

    /// The limit of its pool or of all that stands against launching one of these: its name and what it is.
    pub(super) fn limit_reached(&self, candidate: &Candidate<'_>) -> Option<(Text, String)> {
        let settings = self.settings;
        let Allowance { pool, own } = self.pools.get(candidate.pool_number)?;
        let capacity = &candidate.instance_type.capacity;
        let of_pool = (pool.max_nodes, pool.launches_per_minute, &pool.limits, "");
        let of_all = (settings.max_nodes, settings.launches_per_minute, &settings.limits, " of all pools");
        for (ceiling, (nodes, soon, limits, whose)) in [(own, of_pool), (&self.all, of_all)] {
            if ceiling.nodes == Some(0) {
                return Some((format!("nodes{whose}").into(), nodes.unwrap_or_default().to_string()));
            }
            if ceiling.soon == Some(0) {
                let most = soon.unwrap_or_default().to_string();
                return Some((format!("launches{whose} a minute").into(), most));
            }
            let short = ceiling.left.iter().find(|(name, left)| capacity.get(name) > (*left).max(0));
            if let Some((name, _)) = short {
                return Some((format!("{name}{whose}").into(), Resources::show(name, limits.get(name))));
            }
        }
        None
    }
}

/// How much was launched within the last minute.
struct Pace<'a> {
    launches: BTreeMap<&'a Text, Vec<Timestamp>>,
}

impl<'a> Pace<'a> {
    fn of(view: &View<'a>) -> Self {
        let recent = |at: &Timestamp| view.now.duration_since(*at) < Recent::SPAN;
        let launches = view.snapshot.recent.launches.iter();
        let launches = launches.map(|(pool, times)| (pool, times.iter().copied().filter(recent).collect()));
        Self { launches: launches.collect() }
    }

    /// How many more of so many a minute may be launched, in one pool or in all.
    fn left(&self, most: Option<u32>, pool: Option<&Text>) -> Option<u32> {
        let counted = self.launches.iter().filter(|(of, _)| pool.is_none_or(|pool| pool == **of));
        let count: usize = counted.map(|(_, times)| times.len()).sum();
        most.map(|most| most.saturating_sub(u32::try_from(count).unwrap_or(u32::MAX)))
    }

    fn renews_at(&self, view: &View<'_>) -> Option<Timestamp> {
        let first = self.launches.values().flatten().min().copied();
        first.unwrap_or(view.now).checked_add(Recent::SPAN).ok()
    }
}

impl Ceiling {
    /// Sets aside so many nodes. A negative capacity would raise a limit, so it counts as none.
    fn spend(&mut self, capacity: &Resources, times: usize) {
        let count = u32::try_from(times).unwrap_or(u32::MAX);
        self.nodes = self.nodes.map(|nodes| nodes.saturating_sub(count));
        self.soon = self.soon.map(|soon| soon.saturating_sub(count));
        self.change(|name, left| {
            left.saturating_sub(capacity.get(name).max(0).saturating_mul(i64::from(count)))
        });
    }

    /// Changes what is left of each resource that is limited.
    fn change(&mut self, to: impl Fn(&str, i64) -> i64) {
        self.left = self.left.iter().map(|(name, left)| (&**name, to(name, left))).collect();
    }
}
