//! I4: a pool's limits hold at every moment, counting the claims whose machines are on their way or leaving.
//!
//! Judged is what Windlass answers for: a claim that is added, or that comes to count more than before. A user who
//! lowers a limit below what exists breaks nothing, and for a short time after that a claim is still judged by the
//! old limit, which the controller may not yet know to have changed.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;

use super::super::event::{Kind, ObjectName};
use super::super::facts::{Amounts, Claim};
use super::super::violation::{Finding, Invariant};
use super::super::world::Step;
use super::Case;

/// What each pool may have, and what it has.
#[derive(Debug, Default)]
pub(in super::super) struct Limits {
    pools: HashMap<String, PoolAccount>,
}

#[derive(Debug, Default)]
struct PoolAccount {
    used: Amounts,
    /// The limits and since when they are in force, oldest first.
    limits: VecDeque<(Timestamp, Amounts)>,
}

impl Limits {
    /// Takes note of a pool's limits, which are none once it is gone.
    pub(in super::super) fn set(&mut self, case: &Case<'_>, pool: &str, limits: Amounts) {
        let account = self.pools.entry(pool.to_owned()).or_default();
        if account.limits.back().is_none_or(|(_, latest)| *latest != limits) {
            account.limits.push_back((case.now, limits));
        }
    }

    /// Books a claim, and judges it if it is new or has grown.
    pub(in super::super) fn book(&mut self, case: &mut Case<'_>, step: &Step<Claim>, judged: bool) {
        let Some(claim) = step.after.as_ref().or(step.before.as_ref()) else {
            return;
        };
        let account = self.pools.entry(claim.pool.clone()).or_default();
        let before = step.before.as_ref().map(|claim| &claim.amounts);
        let after = step.after.as_ref().map(|claim| &claim.amounts);
        if before == after {
            return;
        }
        for (resource, amount) in before.into_iter().flatten() {
            *account.used.entry(resource.clone()).or_default() -= amount;
        }
        for (resource, amount) in after.into_iter().flatten() {
            *account.used.entry(resource.clone()).or_default() += amount;
        }
        if judged && case.options.scope.includes_pool(&claim.pool) {
            let grown = |resource: &str| amount(after, resource) > amount(before, resource);
            account.judge(case, claim, grown);
        }
    }
}

impl PoolAccount {
    fn judge(&mut self, case: &mut Case<'_>, claim: &Arc<Claim>, grown: impl Fn(&str) -> bool) {
        let horizon = case.now.checked_sub(case.options.limit_tolerance).unwrap_or(Timestamp::MIN);
        while self.limits.get(1).is_some_and(|(since, _)| *since < horizon) {
            self.limits.pop_front();
        }
        for (resource, used) in &self.used {
            let Some(limit) = self.limit(resource) else {
                continue;
            };
            if *used > limit && grown(resource) {
                let message = format!(
                    "NodePool {} has {} of {resource}, more than its limit of {}, since NodeClaim {} came to count {}",
                    claim.pool,
                    units(*used),
                    units(limit),
                    claim.name,
                    units(amount(Some(&claim.amounts), resource)),
                );
                let pool = ObjectName::new(Kind::NodePool, &claim.pool);
                let objects = vec![pool, ObjectName::new(Kind::NodeClaim, &claim.name)];
                case.findings.push(Finding::new(Invariant::LimitsHold, message, objects));
            }
        }
    }

    /// The highest limit that was in force within the tolerance.
    fn limit(&self, resource: &str) -> Option<i128> {
        let limits: Option<Vec<i128>> =
            self.limits.iter().map(|(_, limits)| limits.get(resource).copied()).collect();
        limits?.into_iter().max()
    }
}

fn amount(amounts: Option<&Amounts>, resource: &str) -> i128 {
    amounts.and_then(|amounts| amounts.get(resource)).copied().unwrap_or_default()
}

fn units(milli: i128) -> String {
    if milli % 1000 == 0 { (milli / 1000).to_string() } else { format!("{milli}m") }
}
