//! Waiting for what the cluster will do in its own time.

use std::fmt::Display;
use std::panic::Location;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

const INTERVAL: Duration = Duration::from_millis(75);

/// What a look at the cluster can find: the awaited, or what is there instead.
pub trait Observation {
    /// What is awaited.
    type Value;

    /// The awaited value, or what there is to say about its absence.
    fn observed(self) -> Result<Self::Value, String>;
}

impl<T> Observation for Option<T> {
    type Value = T;

    fn observed(self) -> Result<T, String> {
        self.ok_or_else(|| "nothing".to_owned())
    }
}

impl<T, E: Display> Observation for Result<T, E> {
    type Value = T;

    fn observed(self) -> Result<T, String> {
        self.map_err(|error| error.to_string())
    }
}

/// Looks again and again until `look` finds what is awaited, and returns it.
///
/// `what` completes the sentence "waited for ...". Panics after `timeout` with what the last look found, so a probe
/// that returns an `Err` describing the state makes for the better message.
#[track_caller]
pub fn eventually<O: Observation>(
    what: &str,
    timeout: Duration,
    look: impl AsyncFnMut() -> O,
) -> impl Future<Output = O::Value> {
    poll(what, timeout, look, Location::caller())
}

#[expect(clippy::panic, reason = "this is an assertion")]
async fn poll<O: Observation>(
    what: &str,
    timeout: Duration,
    mut look: impl AsyncFnMut() -> O,
    caller: &Location<'_>,
) -> O::Value {
    let deadline = Instant::now() + timeout;
    let mut last = "nothing, as the first look did not end".to_owned();
    while Instant::now() < deadline {
        match timeout_at(deadline, look()).await.map(Observation::observed) {
            Ok(Ok(value)) => return value,
            Ok(Err(instead)) => last = instead,
            Err(_elapsed) => break,
        }
        sleep(INTERVAL).await;
    }
    panic!("{caller}: waited {timeout:?} for {what}; last seen: {last}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().build().unwrap().block_on(future)
    }

    #[test]
    fn what_is_found_in_the_end_is_returned() {
        let mut looks = 0;
        let found = block_on(eventually("the third look", Duration::from_secs(10), async || {
            looks += 1;
            (looks == 3).then_some(looks)
        }));
        assert_eq!(found, 3);
    }

    #[test]
    #[should_panic(expected = "for a node; last seen: only pods")]
    fn what_is_not_found_is_described_by_the_last_look() {
        block_on(eventually("a node", Duration::from_millis(10), async || Err::<(), _>("only pods")));
    }

    #[test]
    #[should_panic(expected = "for an answer; last seen: nothing")]
    fn a_look_that_never_ends_is_given_up() {
        block_on(eventually("an answer", Duration::from_millis(10), std::future::pending::<Option<()>>));
    }
}
