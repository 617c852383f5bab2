//! Whenever a node is opened the scheduler tries all pods that wait. Those that are nominated to nodes which are still
//! closed it tries in vain, clears their nominations, and may then give their room away. So nodes that join at about the
//! same time are opened together.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use windlass_core::Text;

use super::nomination::{KEPT_CLOSED, passed};

/// How long after it has joined a node that is not ready keeps others closed.
const NOT_READY_HOLDS: Duration = Duration::from_secs(5);

/// How long a node that is being opened keeps those waiting that are open.
const OPENING_TAKES: Duration = Duration::from_secs(1);
/// How long after that the scheduler is at the pods that it has tried in vain before.
const TRIED_AGAIN: Duration = Duration::from_millis(500);

/// The nodes that are being opened at this moment.
#[derive(Debug, Default)]
pub(super) struct Openings(watch::Sender<usize>);

impl Openings {
    /// Opens a node, and ends when the others that are being opened are open and the scheduler has had a moment for their
    /// pods. Whatever else is to be written about a new node costs the API server more than the openings, and would
    /// lengthen the time in which pods are tried in vain.
    pub(super) async fn join<T>(&self, opening: impl Future<Output = T>) -> T {
        self.0.send_modify(|under_way| *under_way += 1);
        let outcome = opening.await;
        self.0.send_modify(|under_way| *under_way -= 1);
        let mut others = self.0.subscribe();
        // Either they are open or they take too long: both will do.
        _ = timeout(OPENING_TAKES, others.wait_for(|under_way| *under_way == 0)).await;
        sleep(TRIED_AGAIN).await;
        outcome
    }
}

/// The nodes that have joined and are closed, by claim.
#[derive(Debug, Default)]
pub(super) struct ClosedNodes(Mutex<BTreeMap<Text, Joined>>);

#[derive(Clone, Copy, Debug)]
struct Joined {
    first_seen: Timestamp,
    state: Closed,
}

/// How far a node that has joined is from being opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    NotReady,
    /// It is ready, and not all of its pods are nominated.
    Nominating,
    Settled,
}

/// What a node that is closed means to the others.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Others {
    /// Whether some node is about to be ready for being opened, for which all wait.
    pub(super) held_up: bool,
    /// The claims whose nodes may be opened now and could not before.
    pub(super) freed: Vec<Text>,
}

impl ClosedNodes {
    /// Notes how a claim's node stands, if it is there and closed.
    pub(super) fn note(&self, claim: &Text, state: Option<Closed>, now: Timestamp) -> Others {
        let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held_up = |nodes: &BTreeMap<Text, Joined>| nodes.values().any(|node| node.holds_others(now));
        let before = held_up(&nodes);
        match state {
            Some(state) => {
                nodes.entry(claim.clone()).or_insert(Joined { first_seen: now, state }).state = state;
            }
            None => _ = nodes.remove(claim),
        }
        let after = held_up(&nodes);
        let freed = if before && !after { nodes.keys().cloned().collect() } else { Vec::new() };
        Others { held_up: after, freed }
    }
}

impl Joined {
    fn holds_others(self, now: Timestamp) -> bool {
        let longest = match self.state {
            Closed::NotReady => NOT_READY_HOLDS,
            Closed::Nominating => KEPT_CLOSED,
            Closed::Settled => return false,
        };
        passed(self.first_seen, now) < longest
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::time::Duration;

    use jiff::{Timestamp, ToSpan};
    use tokio::time::{Instant, sleep};
    use windlass_core::Text;

    use super::{Closed, ClosedNodes, OPENING_TAKES, Openings, Others, TRIED_AGAIN};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    #[tokio::test(start_paused = true)]
    async fn nobody_goes_on_before_all_that_are_being_opened_are_open() {
        let (openings, start) = (Openings::default(), Instant::now());
        let opened_after = async |time| {
            openings.join(sleep(time)).await;
            start.elapsed()
        };
        let (slow, quick) = (Duration::from_millis(300), Duration::from_millis(10));
        let ended = tokio::join!(opened_after(slow), opened_after(quick));
        assert_eq!(ended, (slow + TRIED_AGAIN, slow + TRIED_AGAIN));
    }

    #[tokio::test(start_paused = true)]
    async fn an_opening_that_gets_no_answer_keeps_others_waiting_for_a_moment_only() {
        let (openings, start) = (Openings::default(), Instant::now());
        tokio::select! {
            biased;
            () = openings.join(pending()) => {}
            () = openings.join(ready(())) => {}
        }
        assert_eq!(start.elapsed(), OPENING_TAKES + TRIED_AGAIN);
    }

    #[test]
    fn the_last_node_to_settle_lets_all_be_opened() {
        let (nodes, one, other): (_, Text, Text) = (ClosedNodes::default(), "one".into(), "other".into());
        nodes.note(&one, Some(Closed::Nominating), NOW);
        assert!(nodes.note(&other, Some(Closed::Settled), NOW).held_up);
        let all = Others { held_up: false, freed: vec![one.clone(), other] };
        assert_eq!(nodes.note(&one, Some(Closed::Settled), NOW), all);
    }

    #[test]
    fn a_node_that_goes_or_takes_too_long_holds_nobody_up() {
        let (nodes, slow): (_, Text) = (ClosedNodes::default(), "slow".into());
        let stands = |now| nodes.note(&slow, Some(Closed::NotReady), now).held_up;
        assert!(stands(NOW) && stands(NOW + 4.seconds()));
        assert!(!stands(NOW + 5.seconds()));
        assert!(!stands(NOW - 1.hour()), "the clock was set back");
        assert!(!nodes.note(&slow, None, NOW + 1.second()).held_up);
    }
}
