use std::fmt::Debug;

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
