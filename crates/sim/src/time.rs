//! Time in the simulation: tokio's paused clock, and the time of day that follows from it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use windlass_providers::Clock;

/// The time of day at which every run begins: an ordinary Thursday.
const BEGINNING: i64 = 1_767_225_600;

/// The true time of day.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time {
    start: Instant,
}

impl Time {
    /// Time begins now.
    pub(crate) fn begin() -> Self {
        Self { start: Instant::now() }
    }

    /// How long the run has lasted.
    pub(crate) fn passed(self) -> SignedDuration {
        SignedDuration::try_from(self.start.elapsed()).unwrap_or(SignedDuration::MAX)
    }

    pub(crate) fn now(self) -> Timestamp {
        let beginning = Timestamp::from_second(BEGINNING).unwrap_or(Timestamp::UNIX_EPOCH);
        beginning.checked_add(self.passed()).unwrap_or(Timestamp::MAX)
    }
}

/// The clock on a replica's wall, which somebody may have set.
#[derive(Clone, Debug)]
pub(crate) struct WallClock {
    time: Time,
    ahead_seconds: Arc<AtomicI64>,
}

impl WallClock {
    pub(crate) fn new(time: Time) -> Self {
        Self { time, ahead_seconds: Arc::default() }
    }

    /// Sets the clock this much forward, or back.
    pub(crate) fn jump(&self, seconds: i64) {
        self.ahead_seconds.fetch_add(seconds, Ordering::Relaxed);
    }

    /// Sets the clock right.
    pub(crate) fn set_right(&self) {
        self.ahead_seconds.store(0, Ordering::Relaxed);
    }
}

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        let ahead = SignedDuration::from_secs(self.ahead_seconds.load(Ordering::Relaxed));
        self.time.now().checked_add(ahead).unwrap_or(Timestamp::MAX)
    }
}
