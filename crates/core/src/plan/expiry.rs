//! When a node's time is over.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::model::{Claim, Pool};
use crate::stable_hash;

/// The end of a node, and when it begins to give way to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expiry {
    pub(super) ends: Timestamp,
    pub(super) begins: Timestamp,
}

/// The part of its life by which a node may go earlier, so that nodes that came together do not go together.
const SPREAD: i64 = 10;

/// When the provider ends a machine, whatever we do. The last call comes even if the pool would begin later.
pub(super) fn told(claim: &Claim, pool: &Pool, last_call: Duration) -> Option<Expiry> {
    let expiry = expiry(claim, pool, claim.ends_at?);
    Some(Expiry { begins: expiry.begins.min(call_at(expiry.ends, last_call)), ..expiry })
}

/// When a node's time is over by its pool's `expireAfter`.
pub(super) fn wanted(claim: &Claim, pool: &Pool) -> Option<Expiry> {
    let life = SignedDuration::try_from(pool.expire_after?).ok()?;
    Some(expiry(claim, pool, claim.created_at.checked_add(life).ok()?))
}

/// When a node has to be drained whose machine ends then.
pub(super) fn call_at(ends: Timestamp, last_call: Duration) -> Timestamp {
    ends.saturating_sub(last_call).unwrap_or(ends)
}

/// A node begins to give way so long before its end as its pool says and a little earlier, by a part of its life that is
/// another for each, but not in the first half of it.
fn expiry(claim: &Claim, pool: &Pool, ends: Timestamp) -> Expiry {
    let life = ends.duration_since(claim.created_at).max(SignedDuration::ZERO);
    let ahead = SignedDuration::try_from(pool.rotate_before).unwrap_or(SignedDuration::MAX);
    let earlier = life.as_secs() / SPREAD * share(&claim.uid) / 1000;
    let ahead = ahead.saturating_add(SignedDuration::from_secs(earlier)).min(life / 2);
    Expiry { ends, begins: ends.saturating_sub(ahead).unwrap_or(ends) }
}

/// A number from 0 to 999 that follows from a name.
fn share(name: &str) -> i64 {
    i64::try_from(stable_hash(&[name.as_bytes()]) % 1000).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn nodes_that_come_together_get_shares_all_over_the_range() {
        let mut shares: Vec<i64> =
            (0..100).map(|number| share(&format!("6c4d1a52-9d3e-4a5f-8f10-00000000{number:04}"))).collect();
        shares.sort_unstable();
        assert!(shares[10] < 250 && shares[50] > 250 && shares[50] < 750 && shares[90] > 750, "{shares:?}");
    }
}
