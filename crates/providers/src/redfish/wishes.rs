//! What hosts were asked lately, so that they are not asked again and again.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::Text;

use super::bmc::Wish;

/// What each host was last asked, on behalf of which claim. A process that has just begun knows of nothing, and asks once
/// more.
#[derive(Debug, Default)]
pub(super) struct Wishes(Mutex<BTreeMap<Text, (Text, Wish, Instant)>>);

impl Wishes {
    /// Whether this is to be asked: it was not, or so long ago that it may be taken for forgotten.
    pub fn is_new(&self, host: &str, claim_uid: &str, wish: Wish, repeat: Duration) -> bool {
        let wishes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        wishes.get(host).is_none_or(|(claim, asked, at)| {
            **claim != *claim_uid || *asked != wish || at.elapsed() >= repeat
        })
    }

    pub fn made(&self, host: &Text, claim_uid: &Text, wish: Wish) {
        let mut wishes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        wishes.insert(host.clone(), (claim_uid.clone(), wish, Instant::now()));
    }
}
