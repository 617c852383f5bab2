use std::time::Duration;

use kube::runtime::utils::Backoff;
use tokio::time::Instant;

const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(10);
/// A watch that has not failed for so long works again.
const CALM: Duration = Duration::from_secs(30);

/// How long to wait before a watch that failed is taken up again: ever longer, but never so long that the cluster is out
/// of sight for half a minute after the API server is back. Without chance, so that simulations can be repeated.
#[derive(Debug, Default)]
pub struct WatchRetries {
    failures: u32,
    last: Option<Instant>,
}

impl Iterator for WatchRetries {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let wait = FIRST.saturating_mul(2_u32.saturating_pow(self.failures)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        self.last = Some(Instant::now());
        Some(wait)
    }
}

impl Backoff for WatchRetries {
    /// Called for everything that a watch brings, which may be no more than that it is about to list.
    fn reset(&mut self) {
        if self.last.is_some_and(|last| last.elapsed() > CALM) {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kube::runtime::utils::Backoff;

    use super::WatchRetries;

    #[tokio::test(start_paused = true)]
    async fn waits_grow_up_to_a_bound_and_start_over_when_the_watch_has_been_calm() {
        let mut retries = WatchRetries::default();
        let waits: Vec<u128> = retries.by_ref().take(8).map(|wait| wait.as_millis()).collect();
        assert_eq!(waits, [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
        retries.reset();
        assert_eq!(retries.next(), Some(Duration::from_secs(10)), "it has only just failed");
        tokio::time::advance(Duration::from_secs(31)).await;
        retries.reset();
        assert_eq!(retries.next(), Some(Duration::from_millis(250)));
    }
}
