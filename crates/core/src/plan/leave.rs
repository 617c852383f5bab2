use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::view::View;
use super::words;
use crate::Text;
use crate::model::{DisruptionReason, Pool, Recent};

/// How many nodes of each pool may still go: by the pools' budgets, by how many may go within a minute, and because a pool
/// that has just grown is not to shrink at once.
pub(super) struct Leave<'v, 'a> {
    view: &'v View<'a>,
    pools: BTreeMap<&'a Text, Going>,
    all: Going,
}

/// The nodes of a pool.
#[derive(Clone, Copy, Default)]
struct Going {
    all: usize,
    /// Those that are on their way out or not ready: to whoever relies on the pool they are missing already.
    missing: usize,
    /// Those that went within the last minute or were decided to.
    gone: usize,
    /// When the last one was launched.
    launched: Option<Timestamp>,
}

impl<'v, 'a> Leave<'v, 'a> {
    pub(super) fn new(view: &'v View<'a>) -> Self {
        let (mut pools, mut all): (BTreeMap<&Text, Going>, Going) = (BTreeMap::new(), Going::default());
        for claim in view.snapshot.claims.values() {
            let going = pools.entry(&claim.pool).or_default();
            going.launched = going.launched.max(Some(claim.created_at));
            let decided = usize::from(claim.decision.is_some() && !claim.deleting);
            going.gone += decided;
            all.gone += decided;
            // What is on its way was never there, and what was given up before it came is not missed.
            if claim.initialized_at.is_some() {
                going.all += 1;
                going.missing += usize::from(!view.stands(claim));
            }
        }
        for (pool, times) in &view.snapshot.recent.removals {
            let recent = times.iter().filter(|at| view.now.duration_since(**at) < Recent::SPAN).count();
            all.gone += recent;
            pools.entry(pool).or_default().gone += recent;
        }
        Self { view, pools, all }
    }

    /// Says what stands against a further node of a pool going, if something does.
    pub(super) fn allows(&self, pool: &Pool, reason: DisruptionReason) -> Result<(), String> {
        let now = self.view.now;
        self.allows_so_soon(pool)?;
        let going = self.going(pool);
        if let Some(until) = self.grows_until(pool, reason) {
            let seconds = until.duration_since(now).as_secs().max(1);
            return Err(format!("the pool has just grown and gives no nodes back for {seconds} s"));
        }
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

    /// Says whether as many nodes have gone within a minute as may.
    pub(super) fn allows_so_soon(&self, pool: &Pool) -> Result<(), String> {
        let full = |most: &u32, gone: usize| gone >= *most as usize;
        if let Some(most) = pool.removals_per_minute.filter(|most| full(most, self.going(pool).gone)) {
            return Err(format!(
                "no more than {} of the pool go a minute",
                words::count(most as usize, "node")
            ));
        }
        let everywhere = self.view.snapshot.settings.removals_per_minute;
        if let Some(most) = everywhere.filter(|most| full(most, self.all.gone)) {
            return Err(format!("no more than {} go a minute", words::count(most as usize, "node")));
        }
        Ok(())
    }

    /// Counts a further node of a pool as on its way out.
    pub(super) fn take(&mut self, pool: &'a Text) {
        self.all.gone += 1;
        let going = self.pools.entry(pool).or_default();
        going.missing += 1;
        going.gone += 1;
    }

    fn going(&self, pool: &Pool) -> Going {
        self.pools.get(&pool.name).copied().unwrap_or_default()
    }

    /// Until when a pool that has grown does not shrink for the sake of money.
    fn grows_until(&self, pool: &Pool, reason: DisruptionReason) -> Option<Timestamp> {
        let for_money = matches!(reason, DisruptionReason::Empty | DisruptionReason::Underutilized);
        let window = SignedDuration::try_from(pool.scale_down_window).ok().filter(|_| for_money)?;
        let until = self.going(pool).launched?.saturating_add(window).ok()?;
        (until > self.view.now).then_some(until)
    }

    /// When what is allowed next changes by the clock.
    pub(super) fn changes_at(&self, pool: &Pool, reason: DisruptionReason) -> Option<Timestamp> {
        let now = self.view.now;
        let budgets = pool.budgets.iter().filter_map(|budget| budget.window.as_ref()?.changes_at(now)).min();
        let limited = pool.removals_per_minute.or(self.view.snapshot.settings.removals_per_minute).is_some();
        let recent = self.view.snapshot.recent.removals.values().flatten();
        let renews = recent.filter_map(|at| at.checked_add(Recent::SPAN).ok()).filter(|at| *at > now).min();
        let renews = renews.or_else(|| now.checked_add(Recent::SPAN).ok()).filter(|_| limited);
        budgets.into_iter().chain(renews).chain(self.grows_until(pool, reason)).min()
    }
}
