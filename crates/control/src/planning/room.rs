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

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;
    use windlass_core::model::{Pool, Resources, Settings};

    use super::Room;
    use crate::index::Index;

    #[test]
    fn what_others_have_counted_under_the_same_limits_leaves_less() {
        let claim = json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "NodeClaim", "metadata": {"name": "c"},
            "spec": {
                "poolRef": {"name": "other"}, "providerRef": {"name": "s"}, "reason": {"purpose": "ClusterAutoscaler"},
                "offerings": [{"instanceType": "t", "zone": "a", "capacityType": "spot", "price": "0.10",
                               "capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}}],
            },
        });
        let (mut index, now) = (Index::default(), Timestamp::UNIX_EPOCH);
        index.claims.intend(&serde_json::from_value(claim).unwrap(), now);
        let limits = Resources::from_iter([("cpu", 10_000)]);
        let settings = Settings { limits, ..Settings::default() };
        let pool = Pool { name: "own".into(), max_nodes: Some(5), ..Pool::default() };
        let machine = Resources::from_iter([("cpu", 3000)]);
        let mut room = Room::new(&index, &settings, now);
        assert_eq!(room.left(&pool, &machine, 9), 2);
        assert!(room.take(&pool, &machine) && room.take(&pool, &machine) && !room.take(&pool, &machine));
        assert_eq!(room.reached(&pool, &machine), Some(("cpu".into(), "10".to_owned(), true)));
        let small = Pool { name: "small".into(), max_nodes: Some(0), ..Pool::default() };
        assert_eq!(room.reached(&small, &machine), Some(("nodes".into(), "0".to_owned(), false)));
    }
}
