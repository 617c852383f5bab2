use std::collections::BTreeMap;

use jiff::Timestamp;

use super::view::View;
use super::words;
use crate::Text;
use crate::model::{DisruptionReason, Pool};

/// How many nodes of each pool may still go, by the pools' budgets.
pub(super) struct Leave<'v, 'a> {
    view: &'v View<'a>,
    pools: BTreeMap<&'a Text, Going>,
}

/// The nodes of a pool.
#[derive(Clone, Copy, Default)]
struct Going {
    all: usize,
    /// Those that are on their way out or not ready: to whoever relies on the pool they are missing already.
    missing: usize,
}

impl<'v, 'a> Leave<'v, 'a> {
    pub(super) fn new(view: &'v View<'a>) -> Self {
        let mut pools: BTreeMap<&Text, Going> = BTreeMap::new();
        for claim in view.snapshot.claims.values() {
            let going = pools.entry(&claim.pool).or_default();
            // What is on its way was never there, and what was given up before it came is not missed.
            if claim.initialized_at.is_some() {
                going.all += 1;
                going.missing += usize::from(!view.stands(claim));
            }
        }
        Self { view, pools }
    }

    /// Says what stands against a further node of a pool going, if something does.
    pub(super) fn allows(&self, pool: &Pool, reason: DisruptionReason) -> Result<(), String> {
        let now = self.view.now;
        let going = self.pools.get(&pool.name).copied().unwrap_or_default();
        let applying = pool.budgets.iter().filter(|budget| budget.applies(reason, now));
        if let Some(most) = applying.map(|budget| budget.nodes.of(going.all)).min()
            && going.missing >= most
        {
            let missing = match going.missing {
                0 => String::new(),
                1 => ", and 1 is missing already".to_owned(),
                more => format!(", and {more} are missing already"),
            };
            let allowed = if most == 0 { "none".to_owned() } else { words::count(most, "node") };
            return Err(format!("the pool's budgets let {allowed} of {} go at a time{missing}", going.all));
        }
        Ok(())
    }

    /// Counts a further node of a pool as on its way out.
    pub(super) fn take(&mut self, pool: &'a Text) {
        self.pools.entry(pool).or_default().missing += 1;
    }
}

/// When a pool's budgets next change by the clock.
pub(super) fn changes_at(pool: &Pool, now: Timestamp) -> Option<Timestamp> {
    pool.budgets.iter().filter_map(|budget| budget.window.as_ref()?.changes_at(now)).min()
}
