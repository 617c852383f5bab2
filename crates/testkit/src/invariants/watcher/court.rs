use std::collections::BTreeMap;

use jiff::Timestamp;

use super::super::event::{Event, JournalEntry, Kind};
use super::super::judge::Judge;
use super::super::options::Options;
use super::super::violation::Violation;
use super::known::Known;
use super::order::Order;

/// What the watches share: what they have seen, what waits to be judged, and what was found.
#[derive(Debug)]
pub(super) struct Court {
    known: BTreeMap<Kind, Known>,
    order: Order,
    pub(super) judge: Judge,
    pub(super) violations: Vec<Violation>,
}

impl Court {
    pub(super) fn new(options: Options) -> Self {
        let order = Order::new(options.reorder);
        let known = Kind::ALL.into_iter().map(|kind| (kind, Known::new(kind))).collect();
        Self { known, order, judge: Judge::new(options), violations: Vec::new() }
    }

    pub(super) fn known(&mut self, kind: Kind) -> &mut Known {
        self.known.entry(kind).or_insert_with(|| Known::new(kind))
    }

    /// Takes in what a watch says.
    pub(super) fn watched(
        &mut self,
        kind: Kind,
        event: kube::runtime::watcher::Event<kube::core::DynamicObject>,
        now: Timestamp,
    ) {
        let news = self.known(kind).take_in(event);
        for news in news {
            self.order.hold(news, now);
        }
    }

    pub(super) fn journal(&mut self, entry: JournalEntry, now: Timestamp) {
        self.order.hold_journal(entry, now);
    }

    /// Has the events judged that have waited long enough.
    pub(super) fn release_due(&mut self, now: Timestamp) {
        while let Some((event, at)) = self.order.next_due(now) {
            self.violations.extend(self.judge.observe(&event, at));
        }
        self.violations.extend(self.judge.observe(&Event::Tick, self.order.settled_until(now)));
    }

    /// Has all events judged, once it is known that none is missing.
    pub(super) fn release_all(&mut self, now: Timestamp) {
        while let Some((event, at)) = self.order.next() {
            self.violations.extend(self.judge.observe(&event, at));
        }
        self.violations.extend(self.judge.observe(&Event::Tick, now));
    }
}
