//! What the simulated cloud has to do at a moment: a pure function of the records, the nodes and the time.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::record::Stored;

/// Something to do about one machine or its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Duty {
    /// The machine has booted and becomes a node.
    Register,
    /// The machine ceases to exist.
    Vanish,
    /// The node of a machine in trouble turns `NotReady`.
    Sicken,
    /// The node of a machine that is no more falls silent.
    Bury,
}

/// What is due, and when the next thing will be.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Agenda {
    pub due: Vec<(String, Duty)>,
    pub next: Option<Timestamp>,
}

impl Agenda {
    /// Reads off what is due. A machine whose record cannot be read is left alone, and so is its node; of the nodes it
    /// matters whether they are lively.
    pub fn at(
        now: Timestamp,
        machines: &BTreeMap<String, Option<Stored>>,
        nodes: &BTreeMap<String, bool>,
    ) -> Self {
        let mut agenda = Self::default();
        let lively = |name: &String| nodes.get(name).copied().unwrap_or(false);
        for stored in machines.values().flatten().filter(|stored| !stored.deleting) {
            if stored.registered_at.is_none() {
                agenda.plan(now, stored, Duty::Register, stored.boots_at());
                continue;
            }
            agenda.plan(now, stored, Duty::Vanish, stored.vanishes_at());
            if lively(&stored.name) {
                agenda.plan(now, stored, Duty::Sicken, stored.sickens_at());
            }
        }
        let orphans = nodes.iter().filter(|(name, lively)| **lively && !machines.contains_key(*name));
        agenda.due.extend(orphans.map(|(name, _)| (name.clone(), Duty::Bury)));
        agenda
    }

    fn plan(&mut self, now: Timestamp, stored: &Stored, duty: Duty, at: Option<Timestamp>) {
        match at {
            Some(at) if at <= now => self.due.push((stored.name.clone(), duty)),
            Some(at) => self.next = Some(self.next.map_or(at, |next| next.min(at))),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use jiff::Timestamp;

    use super::super::record::tests::record;
    use super::super::record::{Fate, Stored};
    use super::{Agenda, Duty};

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    fn machine(registered: Option<i64>, fate: Fate) -> BTreeMap<String, Option<Stored>> {
        let stored = Stored {
            name: "m".to_owned(),
            uid: "record".to_owned(),
            deleting: false,
            registered_at: registered.map(second),
            record: super::super::record::Record { fate, ..record() },
        };
        BTreeMap::from([("m".to_owned(), Some(stored))])
    }

    fn node(lively: bool) -> BTreeMap<String, bool> {
        BTreeMap::from([("m".to_owned(), lively)])
    }

    fn due(agenda: &Agenda) -> Vec<Duty> {
        agenda.due.iter().map(|(_, duty)| *duty).collect()
    }

    const BOOTS: Fate = Fate { boot: Some(Duration::from_secs(5)), not_ready: None, vanish: None };

    #[test]
    fn a_machine_registers_when_it_has_booted_and_only_once() {
        let none = BTreeMap::new();
        let early = Agenda::at(second(4), &machine(None, BOOTS), &none);
        assert_eq!((due(&early), early.next), (vec![], Some(second(5))));
        assert_eq!(due(&Agenda::at(second(5), &machine(None, BOOTS), &none)), [Duty::Register]);
        assert_eq!(Agenda::at(second(9), &machine(Some(5), BOOTS), &none), Agenda::default());
    }

    #[test]
    fn a_machine_that_never_registers_does_nothing_else_either() {
        let fate = Fate { boot: None, not_ready: Some(Duration::ZERO), vanish: Some(Duration::ZERO) };
        assert_eq!(Agenda::at(second(9), &machine(None, fate), &BTreeMap::new()), Agenda::default());
    }

    #[test]
    fn a_lively_node_sickens_in_its_time() {
        let fate = Fate { not_ready: Some(Duration::from_secs(10)), ..BOOTS };
        let early = Agenda::at(second(14), &machine(Some(5), fate), &node(true));
        assert_eq!((due(&early), early.next), (vec![], Some(second(15))));
        assert_eq!(due(&Agenda::at(second(15), &machine(Some(5), fate), &node(true))), [Duty::Sicken]);
        assert_eq!(due(&Agenda::at(second(15), &machine(Some(5), fate), &node(false))), []);
    }

    #[test]
    fn a_machine_vanishes_in_its_time_and_its_node_is_buried() {
        let fate = Fate { vanish: Some(Duration::from_secs(10)), ..BOOTS };
        assert_eq!(due(&Agenda::at(second(15), &machine(Some(5), fate), &node(true))), [Duty::Vanish]);
        assert_eq!(due(&Agenda::at(second(15), &BTreeMap::new(), &node(true))), [Duty::Bury]);
        assert_eq!(due(&Agenda::at(second(15), &BTreeMap::new(), &node(false))), []);
    }

    #[test]
    fn a_machine_with_an_unreadable_record_is_left_alone() {
        let unreadable = BTreeMap::from([("m".to_owned(), None)]);
        assert_eq!(Agenda::at(second(15), &unreadable, &node(true)), Agenda::default());
    }
}
