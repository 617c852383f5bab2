//! One at a time, for each thing by itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;
use windlass_core::Text;

/// Whose turn it is with each of some things, such as claims.
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<BTreeMap<Text, Arc<tokio::sync::Mutex<()>>>>);

impl Turns {
    /// Waits for the turn with this one.
    pub async fn with(&self, name: &str) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            Arc::clone(turns.entry(name.into()).or_default())
        };
        turn.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::Turns;

    #[tokio::test]
    async fn there_is_one_turn_for_each_name() {
        let turns = Turns::default();
        let first = turns.with("a").await;
        assert!(turns.with("b").now_or_never().is_some());
        assert!(turns.with("a").now_or_never().is_none());
        drop(first);
        assert!(turns.with("a").now_or_never().is_some());
    }
}
