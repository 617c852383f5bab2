use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;

use super::super::event::{ApiEvent, Event, JournalEntry};

/// Brings the events of several watches into the order in which they happened. Resource versions of all kinds count the
/// changes of one store, so they can be compared.
#[derive(Debug)]
pub(super) struct Order {
    held: BTreeMap<(u64, u64), (Timestamp, Event)>,
    patience: SignedDuration,
    arrivals: u64,
    latest_version: u64,
}

impl Order {
    /// Each event waits for `patience` for those that happened before it.
    pub(super) fn new(patience: SignedDuration) -> Self {
        Self { held: BTreeMap::new(), patience, arrivals: 0, latest_version: 0 }
    }

    pub(super) fn hold(&mut self, event: ApiEvent, now: Timestamp) {
        let version =
            event.object.resource_version().and_then(|version| version.parse().ok()).unwrap_or_default();
        self.latest_version = self.latest_version.max(version);
        self.insert(version, Event::Api(Box::new(event)), now);
    }

    /// A journal has no versions: its entries come after what has arrived.
    pub(super) fn hold_journal(&mut self, entry: JournalEntry, now: Timestamp) {
        self.insert(self.latest_version, Event::Provider(entry), now);
    }

    fn insert(&mut self, version: u64, event: Event, now: Timestamp) {
        self.arrivals += 1;
        self.held.insert((version, self.arrivals), (now, event));
    }

    /// Until when all events have been let go.
    pub(super) fn settled_until(&self, now: Timestamp) -> Timestamp {
        now.checked_sub(self.patience).unwrap_or(Timestamp::MIN)
    }

    /// The next event, and when it arrived, if it has waited long enough.
    pub(super) fn next_due(&mut self, now: Timestamp) -> Option<(Event, Timestamp)> {
        let until = self.settled_until(now);
        let (_, (arrived, _)) = self.held.first_key_value()?;
        if *arrived > until { None } else { self.next() }
    }

    /// The next event, and when it arrived.
    pub(super) fn next(&mut self) -> Option<(Event, Timestamp)> {
        self.held.pop_first().map(|(_, (arrived, event))| (event, arrived))
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp, ToSpan as _};
    use kube::core::DynamicObject;
    use serde_json::json;

    use super::super::super::event::{Change, Kind};
    use super::*;

    fn event(version: &str) -> ApiEvent {
        let object = json!({"metadata": {"name": "a", "resourceVersion": version}});
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        ApiEvent::new(Kind::Node, Change::Modified, object)
    }

    fn version(event: &Event) -> String {
        let Event::Api(event) = event else { panic!("{event:?} has no version") };
        event.object.resource_version().unwrap()
    }

    #[test]
    fn an_event_waits_for_those_that_happened_before_it() {
        let mut order = Order::new(SignedDuration::from_secs(1));
        let start = Timestamp::UNIX_EPOCH;
        order.hold(event("10"), start);
        order.hold(event("9"), start + 500.milliseconds());
        assert!(order.next_due(start + 1.second()).is_none());
        let (first, _) = order.next_due(start + 1500.milliseconds()).unwrap();
        let (second, arrived) = order.next_due(start + 1500.milliseconds()).unwrap();
        assert_eq!((version(&first), version(&second)), ("9".to_owned(), "10".to_owned()));
        assert_eq!(arrived, start);
    }
}
