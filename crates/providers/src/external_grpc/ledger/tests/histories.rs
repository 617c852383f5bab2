//! Many histories of a group, whatever happens in them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;

use super::{NOW, present, shape, tag};
use crate::external_grpc::ledger::{Ledger, Seen};

/// What happens to a group and its ledger.
#[derive(Clone, Debug)]
enum Deed {
    /// A claim asks, and the process may die before or after the server has done it.
    Ask {
        server_does: bool,
        is_noted: bool,
    },
    /// The server makes an instance that it is to have.
    Appear,
    /// A stranger appears, while nobody waits.
    Intrude,
    /// An instance ceases to exist.
    Vanish(usize),
    Look,
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        3 => (any::<bool>(), any::<bool>()).prop_map(|(does, noted)| Deed::Ask { server_does: does, is_noted: does && noted }),
        4 => Just(Deed::Appear),
        1 => Just(Deed::Intrude),
        1 => (0..8_usize).prop_map(Deed::Vanish),
        4 => Just(Deed::Look),
    ]
}

/// A server and the ledger of its group.
#[derive(Debug, Default)]
struct World {
    ledger: Ledger,
    target: i32,
    instances: Vec<String>,
    strangers: BTreeSet<String>,
    made: usize,
    granted: usize,
    /// Who was given an instance first.
    given: BTreeMap<String, String>,
}

impl World {
    fn seen(&self) -> Vec<Seen> {
        present(&self.instances.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn look(&mut self) {
        let seen = self.seen();
        _ = self.ledger.settle(self.target, &seen, Duration::ZERO, NOW);
        self.ledger.look(&seen, NOW);
        for entry in self.ledger.entries() {
            let Some(instance) = entry.instance() else { continue };
            let owner =
                self.given.entry(instance.to_owned()).or_insert_with(|| entry.tag.claim_uid.to_string());
            assert_eq!(**owner, *entry.tag.claim_uid, "{instance} was given to two");
            assert!(!self.strangers.contains(instance), "{instance} is a stranger");
        }
    }

    fn appear(&mut self) -> String {
        self.made += 1;
        let name = format!("i-{}", self.made);
        self.instances.push(name.clone());
        name
    }

    fn is_owed(&self) -> bool {
        usize::try_from(self.target).unwrap() > self.instances.len()
    }

    fn act(&mut self, deed: &Deed) {
        match deed {
            Deed::Ask { server_does, is_noted } => {
                self.look();
                let claim = format!("claim-{}", self.ledger.entries().count() + self.made * 100);
                self.ledger.intend(tag(&claim), shape(), self.target, NOW);
                if *server_does {
                    self.target += 1;
                    self.granted += 1;
                }
                if *is_noted {
                    self.ledger.granted(&claim);
                }
            }
            Deed::Appear if self.is_owed() => _ = self.appear(),
            Deed::Intrude if !self.is_owed() => {
                self.look();
                self.target += 1;
                let stranger = self.appear();
                self.strangers.insert(stranger);
                self.look();
            }
            Deed::Vanish(number) if *number < self.instances.len() => {
                self.look();
                self.instances.remove(*number);
                self.target -= 1;
            }
            Deed::Look => self.look(),
            Deed::Appear | Deed::Intrude | Deed::Vanish(_) => {}
        }
    }
}

proptest! {
    #[test]
    fn every_increase_that_happened_gives_one_claim_one_instance_and_strangers_stay_strangers(
        deeds in proptest::collection::vec(deed(), 0..60)
    ) {
        let mut world = World::default();
        for deed in &deeds {
            world.act(deed);
        }
        while world.is_owed() {
            world.appear();
        }
        world.look();
        world.look();
        let with_instance = world.ledger.entries().filter(|entry| entry.instance().is_some()).count();
        prop_assert_eq!(with_instance, world.granted, "{:?}", world);
        prop_assert_eq!(world.given.len(), world.granted);
    }
}
