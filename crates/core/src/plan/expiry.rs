//! When a node's time is over.

use jiff::{SignedDuration, Timestamp};

use crate::model::{Claim, Pool};
use crate::stable_hash;

/// The end of a node, and when it begins to give way to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expiry {
    pub(super) ends: Timestamp,
    pub(super) begins: Timestamp,
    /// Whether the machine is gone then, whatever we do.
    pub(super) is_final: bool,
}

/// The part of its life by which a node may go earlier, so that nodes that came together do not go together.
const SPREAD: i64 = 10;

/// When a node ends: by what its provider says or by its pool's `expireAfter`, whichever begins first.
pub(super) fn of(claim: &Claim, pool: &Pool) -> Option<Expiry> {
    let told = claim.ends_at.map(|ends| expiry(claim, pool, ends, true));
    let life = pool.expire_after.and_then(|life| SignedDuration::try_from(life).ok());
    let end = life.and_then(|life| claim.created_at.checked_add(life).ok());
    let wanted = end.map(|ends| expiry(claim, pool, ends, false));
    told.into_iter().chain(wanted).min_by_key(|expiry| (expiry.begins, !expiry.is_final))
}

/// A node begins to give way so long before its end as its pool says and a little earlier, by a part of its life that is
/// another for each, but not in the first half of it.
fn expiry(claim: &Claim, pool: &Pool, ends: Timestamp, is_final: bool) -> Expiry {
    let life = ends.duration_since(claim.created_at).max(SignedDuration::ZERO);
    let ahead = SignedDuration::try_from(pool.rotate_before).unwrap_or(SignedDuration::MAX);
    let earlier = life.as_secs() / SPREAD * share(&claim.uid) / 1000;
    let ahead = ahead.saturating_add(SignedDuration::from_secs(earlier)).min(life / 2);
    Expiry { ends, begins: ends.saturating_sub(ahead).unwrap_or(ends), is_final }
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
