use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::Text;
use crate::model::{Claim, Draw, InstanceType, OfferingKey, Pool, Resources};

/// How much more can be had from providers: machines of which there are only so many, and what stores have left that
/// several offerings draw on. All pools of a provider share what it has.
#[derive(Clone, Debug, Default)]
pub struct Stock<'a> {
    machines: BTreeMap<(&'a str, OfferingKey), u32>,
    draws: BTreeMap<(&'a str, OfferingKey), &'a Draw>,
    stores: BTreeMap<StoreName<'a>, Store>,
}

/// A provider and the name of a store of it.
pub(crate) type StoreName<'a> = (&'a str, &'a str);

/// What several offerings draw on.
#[derive(Clone, Debug)]
struct Store {
    /// What it had before anything was set aside.
    had: Resources,
    left: Resources,
}

/// What a store has too little of for one more machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// The name of the store.
    pub store: Text,
    /// The resource.
    pub resource: Text,
    /// What is left of it.
    pub left: i64,
    /// What of it is set aside for machines that the provider does not know of yet.
    pub promised: i64,
    /// What the machine takes of it.
    pub takes: i64,
}

impl<'a> Stock<'a> {
    /// Adds what a provider says that it has. Where it is said twice the least counts.
    pub fn add(&mut self, provider: &'a str, types: &'a [InstanceType]) {
        for instance_type in types {
            for offering in &instance_type.offerings {
                if let Some(available) = offering.available {
                    let entry = self.machines.entry((provider, instance_type.key(offering)));
                    entry.and_modify(|least| *least = available.min(*least)).or_insert(available);
                }
                if let Some(draw) = &offering.draws {
                    self.draws.insert((provider, instance_type.key(offering)), draw);
                    let new = || Store { had: draw.left.clone(), left: draw.left.clone() };
                    let store = self.stores.entry((provider, &draw.from)).or_insert_with(new);
                    store.had.lower_to(&draw.left);
                    store.left.lower_to(&draw.left);
                }
            }
        }
    }

    /// Sets aside what a claim of a pool will get, for the provider does not know yet of machines that it has not been asked
    /// for; and of stores what it got after the provider said what they have left.
    pub fn promise(&mut self, pool: &'a Pool, claim: &Claim) {
        let Some(launched) = &claim.launched else {
            let awaits = !claim.deleting && !claim.given_up;
            if let Some(first) = claim.offerings.first().filter(|_| awaits) {
                self.take(&pool.provider, &first.key, 1);
            }
            return;
        };
        let news = |(at, offered): (Timestamp, Timestamp)| at.as_second() >= offered.as_second();
        if launched.at.zip(pool.offered_at).is_some_and(news) {
            self.draw(&pool.provider, &launched.key, 1);
        }
    }

    /// Sets aside so many machines.
    pub fn take(&mut self, provider: &'a str, key: &OfferingKey, times: usize) {
        if let Some(machines) = self.machines.get_mut(&(provider, key.clone())) {
            *machines = machines.saturating_sub(u32::try_from(times).unwrap_or(u32::MAX));
        }
        self.draw(provider, key, times);
    }

    fn draw(&mut self, provider: &'a str, key: &OfferingKey, times: usize) {
        if let Some(draw) = self.draws.get(&(provider, key.clone()))
            && let Some(store) = self.stores.get_mut(&(provider, &*draw.from))
        {
            store.take(&draw.takes, times);
        }
    }

    /// How many more machines there are of an offering, where that is known.
    pub fn left(&self, provider: &str, key: &OfferingKey) -> Option<u32> {
        let name = (provider, key.clone());
        let machines = self.machines.get(&name).copied();
        let drawn =
            self.draws.get(&name).and_then(|draw| self.store(provider, draw)?.left.times(&draw.takes));
        let drawn = drawn.map(|times| u32::try_from(times).unwrap_or(u32::MAX));
        machines.into_iter().chain(drawn).min()
    }

    /// What the store that an offering draws on has too little of for one more machine of it, where nothing else is in
    /// the way.
    pub fn lack(&self, provider: &str, key: &OfferingKey) -> Option<Lack> {
        let name = (provider, key.clone());
        let draw = self.draws.get(&name).filter(|_| self.machines.get(&name) != Some(&0))?;
        let store = self.store(provider, draw)?;
        let (resource, left, takes) = store.left.lacking(&draw.takes)?;
        let left = left.max(0);
        let promised = store.had.get(&resource).saturating_sub(left);
        Some(Lack { store: draw.from.clone(), resource, left, promised, takes })
    }

    /// The stores and what they have left, in the order of their names.
    pub(crate) fn stores(&self) -> impl Iterator<Item = (StoreName<'a>, &Resources)> {
        self.stores.iter().map(|(name, store)| (*name, &store.left))
    }

    fn store<'s>(&'s self, provider: &'s str, draw: &'s Draw) -> Option<&'s Store> {
        self.stores.get(&(provider, &*draw.from))
    }
}

impl Store {
    fn take(&mut self, takes: &Resources, times: usize) {
        self.left.subtract(&takes.times_over(i64::try_from(times).unwrap_or(i64::MAX)));
    }
}
