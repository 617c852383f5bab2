use std::fmt::Debug;
use std::time::Duration;

use jiff::Timestamp;

/// Where the time of day comes from. It is passed in, so that a simulation can be run at any hour and speed; monotonic
/// time is tokio's, which can be paused.
pub trait Clock: Debug + Send + Sync {
    /// The time of day.
    fn now(&self) -> Timestamp;
}

/// The machine's own clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place where the time of day enters")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// Whether this time has passed since then. A clock that was set back shows time as passed that is yet to come: so nothing
/// waits for ever.
pub(crate) fn has_passed(since: Timestamp, time: Duration, now: Timestamp) -> bool {
    now.duration_since(since).unsigned_abs() >= time
}
