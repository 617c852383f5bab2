use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use windlass_core::model::{Claim, Pool, Recent, Resources, Settings};
use windlass_core::{Ceiling, Text};

use crate::index::Index;

/// What limits leave at this moment, of each pool and of all.
pub(crate) struct Room {
    claims: BTreeMap<Text, Vec<Arc<Claim>>>,
    recent: Arc<Recent>,
    now: Timestamp,
    pools: BTreeMap<Text, Ceiling>,
    all: Ceiling,
}

impl Room {
    pub(crate) fn new(index: &Index, settings: &Settings, now: Timestamp) -> Self {
        let (model, recent) = (index.claims.model(), index.claims.recent());
        let all = Ceiling::of_all(settings, model.values(), &recent, now);
        let mut claims: BTreeMap<Text, Vec<Arc<Claim>>> = BTreeMap::new();
        for claim in model.values() {
            claims.entry(claim.pool.clone()).or_default().push(claim.clone());
        }
        Self { claims, recent, now, pools: BTreeMap::new(), all }
    }

    fn ceilings(&mut self, pool: &Pool) -> [&mut Ceiling; 2] {
        let Self { claims, recent, now, pools, all } = self;
        let own = pools.entry(pool.name.clone()).or_insert_with(|| {
            Ceiling::of_pool(pool, claims.get(&pool.name).into_iter().flatten(), recent, *now)
        });
        [own, all]
    }

    /// How many machines with this capacity a pool may still get, up to a number.
    pub(crate) fn left(&mut self, pool: &Pool, capacity: &Resources, at_most: usize) -> usize {
        self.ceilings(pool).iter().fold(at_most, |most, ceiling| ceiling.room(capacity, most))
    }

    /// The limit that stands against one more: what is limited and to how much, and whether over all pools.
    pub(crate) fn reached(&mut self, pool: &Pool, capacity: &Resources) -> Option<(Text, String, bool)> {
        let [own, all] = self.ceilings(pool);
        let of_pool = own.reached(capacity).map(|(what, limit)| (what, limit, false));
        of_pool.or_else(|| all.reached(capacity).map(|(what, limit)| (what, limit, true)))
    }

    /// Sets aside one machine if there is room for it; whether there is.
    pub(crate) fn take(&mut self, pool: &Pool, capacity: &Resources) -> bool {
        let fits = self.left(pool, capacity, 1) > 0;
        if fits {
            for ceiling in self.ceilings(pool) {
                ceiling.spend(capacity, 1);
            }
        }
        fits
    }
}
