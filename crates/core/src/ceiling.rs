use std::sync::Arc;

use jiff::Timestamp;

use crate::Text;
use crate::model::{Claim, Pool, Recent, Resources, Settings};

/// What may still be launched under the limits of a pool or of all pools. Every claim counts as the largest machine that
/// it may become, so that limits hold at every moment whatever is got.
#[derive(Clone, Debug)]
pub struct Ceiling {
    /// How many more nodes.
    pub nodes: Option<u32>,
    /// How much more of each resource that is limited.
    pub left: Resources,
    /// How many more nodes within this minute.
    pub soon: Option<u32>,
    /// What there may be in all.
    whole: Whole,
}

#[derive(Clone, Debug)]
struct Whole {
    nodes: Option<u32>,
    resources: Resources,
    a_minute: Option<u32>,
}

impl Ceiling {
    /// What a pool's own limits leave. All claims may be given; those of other pools are no matter.
    pub fn of_pool<'c>(
        pool: &Pool,
        claims: impl IntoIterator<Item = &'c Arc<Claim>>,
        recent: &Recent,
        now: Timestamp,
    ) -> Self {
        let whole = Whole {
            nodes: pool.max_nodes,
            resources: pool.limits.clone(),
            a_minute: pool.launches_per_minute,
        };
        let launches = recent.launches.get(&pool.name).into_iter().flatten();
        Self::under(whole, claims.into_iter().filter(|claim| claim.pool == pool.name), launches, now)
    }

    /// What the limits over all pools leave.
    pub fn of_all<'c>(
        settings: &Settings,
        claims: impl IntoIterator<Item = &'c Arc<Claim>>,
        recent: &Recent,
        now: Timestamp,
    ) -> Self {
        let whole = Whole {
            nodes: settings.max_nodes,
            resources: settings.limits.clone(),
            a_minute: settings.launches_per_minute,
        };
        Self::under(whole, claims, recent.launches.values().flatten(), now)
    }

    fn under<'c, 'l>(
        whole: Whole,
        claims: impl IntoIterator<Item = &'c Arc<Claim>>,
        launches: impl Iterator<Item = &'l Timestamp>,
        now: Timestamp,
    ) -> Self {
        let mut ceiling = Self { nodes: whole.nodes, left: whole.resources.clone(), soon: None, whole };
        for claim in claims {
            ceiling.spend(&claim.counted(), 1);
        }
        let lately = launches.filter(|at| now.duration_since(**at) < Recent::SPAN).count();
        let lately = u32::try_from(lately).unwrap_or(u32::MAX);
        ceiling.soon = ceiling.whole.a_minute.map(|most| most.saturating_sub(lately));
        ceiling
    }

    /// Sets aside so many nodes. A negative capacity would raise a limit, so it counts as none.
    pub fn spend(&mut self, capacity: &Resources, times: usize) {
        let count = u32::try_from(times).unwrap_or(u32::MAX);
        self.nodes = self.nodes.map(|nodes| nodes.saturating_sub(count));
        self.soon = self.soon.map(|soon| soon.saturating_sub(count));
        self.change(|name, left| {
            left.saturating_sub(capacity.get(name).max(0).saturating_mul(i64::from(count)))
        });
    }

    /// Changes what is left of each resource that is limited.
    pub(crate) fn change(&mut self, to: impl Fn(&str, i64) -> i64) {
        self.left = self.left.iter().map(|(name, left)| (&**name, to(name, left))).collect();
    }

    /// How many machines with this capacity may still be launched, up to a number.
    pub fn room(&self, capacity: &Resources, at_most: usize) -> usize {
        let nodes =
            self.nodes.into_iter().chain(self.soon).fold(at_most, |most, nodes| most.min(nodes as usize));
        self.left.iter().fold(nodes, |most, (name, left)| {
            let each = capacity.get(name);
            if each <= 0 {
                return most;
            }
            most.min(usize::try_from(left.max(0) / each).unwrap_or(usize::MAX))
        })
    }

    /// The limit that stands against a further machine with this capacity: what is limited, and to how much.
    pub fn reached(&self, capacity: &Resources) -> Option<(Text, String)> {
        let Whole { nodes, resources, a_minute } = &self.whole;
        if self.nodes == Some(0) {
            return Some(("nodes".into(), nodes.unwrap_or_default().to_string()));
        }
        if self.soon == Some(0) {
            return Some((LAUNCHES_A_MINUTE.into(), a_minute.unwrap_or_default().to_string()));
        }
        let (name, _) = self.left.iter().find(|(name, left)| capacity.get(name) > (*left).max(0))?;
        Some((name.clone(), Resources::show(name, resources.get(name))))
    }
}

/// What is limited where launches are.
pub(crate) const LAUNCHES_A_MINUTE: &str = "launches a minute";

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::Ceiling;
    use crate::model::{Pool, Recent, Resources};

    #[test]
    fn the_scarcest_of_all_limits_counts_and_is_named() {
        let pool = Pool {
            name: "p".into(),
            max_nodes: Some(5),
            limits: Resources::from_iter([("cpu", 8000), ("memory", 100)]),
            launches_per_minute: Some(4),
            ..Pool::default()
        };
        let mut recent = Recent::default();
        recent.launches.insert("p".into(), vec![Timestamp::UNIX_EPOCH]);
        let none: [_; 0] = [];
        let mut ceiling = Ceiling::of_pool(&pool, &none, &recent, Timestamp::UNIX_EPOCH);
        let machine = Resources::from_iter([("cpu", 3000)]);
        assert_eq!((ceiling.room(&machine, 9), ceiling.room(&Resources::new(), 9)), (2, 3));
        ceiling.spend(&machine, 2);
        assert_eq!(ceiling.reached(&machine), Some(("cpu".into(), "8".to_owned())));
        ceiling.spend(&Resources::new(), 1);
        assert_eq!(ceiling.reached(&machine), Some(("launches a minute".into(), "4".to_owned())));
    }
}
