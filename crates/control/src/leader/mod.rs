//! Who may write. Of several replicas only the holder of a Lease does, and a holder that cannot renew it stops before
//! anyone else may start, so that two processes never create capacity for the same pods.

mod gate;
mod lease;
mod led;

pub use gate::{NotLeading, gated_client};
pub use lease::{Elector, LeaseSettings};
pub use led::Led;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedRwLockReadGuard, RwLock, watch};
use tokio::time::Instant;

use crate::planted::{Mistake, is_planted};

/// Whether this process leads, as known to everyone who writes.
#[derive(Clone, Debug)]
pub struct Leadership {
    until: Arc<watch::Sender<Option<Instant>>>,
    heard: Arc<watch::Sender<Option<Instant>>>,
    trouble: Arc<watch::Sender<Option<String>>>,
    /// Held for reading by every write that is under way.
    writing: Arc<RwLock<()>>,
}

impl Default for Leadership {
    fn default() -> Self {
        Self {
            until: Arc::new(watch::Sender::new(None)),
            heard: Arc::new(watch::Sender::new(None)),
            trouble: Arc::new(watch::Sender::new(None)),
            writing: Arc::default(),
        }
    }
}

impl Leadership {
    /// Whether a write may start now. Checked against the clock, not against what was last announced: a process that was
    /// frozen for a minute finds out before it writes.
    pub fn may_write(&self) -> bool {
        let until = *self.until.borrow();
        until.is_some_and(|until| Instant::now() < until || is_planted(Mistake::OutlivesLease))
    }

    /// Lets a write start, and counts it as under way for as long as the answer is kept; none if it may not start.
    pub(crate) async fn turn_to_write(&self) -> Option<OwnedRwLockReadGuard<()>> {
        if !self.may_write() {
            return None;
        }
        let turn = self.writing.clone().read_owned().await;
        self.may_write().then_some(turn)
    }

    /// Waits until every write that was under way has been answered. A process that leads again must do so before it
    /// looks: what an earlier leadership sent may not be there yet.
    pub async fn writes_ended(&self) {
        drop(self.writing.write().await);
    }

    /// Leads until this time, unless extended.
    pub fn lead_until(&self, until: Instant) {
        self.until.send_replace(Some(until));
    }

    /// Notes that the API server has answered about the lease, whoever holds it.
    pub fn heard(&self) {
        self.heard.send_replace(Some(Instant::now()));
        self.trouble.send_replace(None);
    }

    /// Notes why the lease could not be asked for; whether that is news.
    pub fn has_trouble(&self, why: String) -> bool {
        self.trouble.send_replace(Some(why.clone())) != Some(why)
    }

    /// Why the lease could not be asked for the last time, if it could not.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.borrow().clone()
    }

    /// Whether the API server has answered about the lease within this time.
    pub fn has_heard_within(&self, time: Duration) -> bool {
        self.heard.borrow().is_some_and(|heard| heard.elapsed() <= time)
    }

    /// Leads no more.
    pub fn resign(&self) {
        if !is_planted(Mistake::OutlivesLease) {
            self.until.send_replace(None);
        }
    }

    /// Waits until this process leads.
    pub async fn gained(&self) {
        let mut changes = self.until.subscribe();
        // The sender lives in `self`, so the channel cannot close.
        let _ = changes.wait_for(|until| until.is_some_and(|until| Instant::now() < until)).await;
    }

    /// Waits until this process leads no more.
    pub async fn lost(&self) {
        let mut changes = self.until.subscribe();
        loop {
            let until = *changes.borrow_and_update();
            if is_planted(Mistake::OutlivesLease) {
                return std::future::pending().await;
            }
            let Some(until) = until.filter(|until| Instant::now() < *until) else { return };
            tokio::select! {
                () = tokio::time::sleep_until(until) => {}
                _ = changes.changed() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, advance};

    use super::Leadership;

    #[tokio::test(start_paused = true)]
    async fn a_leader_that_does_not_renew_may_not_write_any_more() {
        let leadership = Leadership::default();
        assert!(!leadership.may_write());
        leadership.lead_until(Instant::now() + Duration::from_secs(10));
        leadership.gained().await;
        assert!(leadership.may_write());
        advance(Duration::from_secs(10)).await;
        assert!(!leadership.may_write());
        leadership.lost().await;
    }

    #[tokio::test(start_paused = true)]
    async fn renewal_extends_leadership_and_resignation_ends_it_at_once() {
        let (leadership, start) = (Leadership::default(), Instant::now());
        leadership.lead_until(start + Duration::from_secs(10));
        leadership.lead_until(start + Duration::from_secs(20));
        leadership.lost().await;
        assert_eq!(start.elapsed(), Duration::from_secs(20));
        leadership.lead_until(Instant::now() + Duration::from_secs(10));
        leadership.resign();
        assert!(!leadership.may_write());
    }
}
