//! Whenever a node is opened the scheduler tries all pods that wait. Those that are nominated to nodes which are still
//! closed it tries in vain, clears their nominations, and may then give their room away. So nodes that join at about the
//! same time are opened together.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use windlass_core::Text;

/// How long after it has joined a node that is not ready keeps others closed, and one whose pods are being nominated.
const NOT_READY_HOLDS: SignedDuration = SignedDuration::from_secs(5);
const NOMINATING_HOLDS: SignedDuration = SignedDuration::from_secs(20);

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

impl ClosedNodes {
    /// Notes how a claim's node stands, if it is there and closed. Returns the claims whose nodes may be opened now and
    /// could not before.
    pub(super) fn note(&self, claim: &Text, state: Option<Closed>, now: Timestamp) -> Vec<Text> {
        let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held_up = |nodes: &BTreeMap<Text, Joined>| nodes.values().any(|node| node.holds_others(now));
        let before = held_up(&nodes);
        match state {
            Some(state) => {
                nodes.entry(claim.clone()).or_insert(Joined { first_seen: now, state }).state = state;
            }
            None => _ = nodes.remove(claim),
        }
        if before && !held_up(&nodes) { nodes.keys().cloned().collect() } else { Vec::new() }
    }

    /// Whether some node is about to be ready for being opened.
    pub(super) fn wait_for_one(&self, now: Timestamp) -> bool {
        let nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.values().any(|node| node.holds_others(now))
    }
}

impl Joined {
    fn holds_others(self, now: Timestamp) -> bool {
        let longest = match self.state {
            Closed::NotReady => NOT_READY_HOLDS,
            Closed::Nominating => NOMINATING_HOLDS,
            Closed::Settled => return false,
        };
        now.duration_since(self.first_seen) < longest
    }
}

#[cfg(test)]
mod tests {
    use jiff::{Timestamp, ToSpan};
    use windlass_core::Text;

    use super::{Closed, ClosedNodes};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    #[test]
    fn the_last_node_to_settle_lets_all_be_opened() {
        let (nodes, one, other): (_, Text, Text) = (ClosedNodes::default(), "one".into(), "other".into());
        nodes.note(&one, Some(Closed::Nominating), NOW);
        nodes.note(&other, Some(Closed::Settled), NOW);
        assert!(nodes.wait_for_one(NOW));
        assert_eq!(nodes.note(&one, Some(Closed::Settled), NOW), [one, other]);
        assert!(!nodes.wait_for_one(NOW));
    }

    #[test]
    fn a_node_that_goes_or_takes_too_long_holds_nobody_up() {
        let (nodes, slow): (_, Text) = (ClosedNodes::default(), "slow".into());
        nodes.note(&slow, Some(Closed::NotReady), NOW);
        nodes.note(&slow, Some(Closed::NotReady), NOW + 4.seconds());
        assert!(nodes.wait_for_one(NOW + 4.seconds()));
        assert!(!nodes.wait_for_one(NOW + 5.seconds()));
        nodes.note(&slow, None, NOW + 1.second());
        assert!(!nodes.wait_for_one(NOW + 1.second()));
    }
}
