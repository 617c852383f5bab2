//! All groups at one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use windlass_api::labels as marks;
use windlass_core::Text;
use windlass_core::model::{Claim, Driver, Labels, OfferingKey, Pool};
use windlass_core::plan::shapes;

use super::bounds::{Standing, bounds};
use super::entry::Entry;
use super::stock::stock;
use crate::Settings;
use crate::index::Index;
use crate::planning::Room;

/// The most that a group without limits is said to grow by.
const UNLIMITED: usize = 10_000;

/// The groups of all pools about which Cluster Autoscaler decides: one for each kind of node that a pool may have, whether
/// or not it can be had just now, and for each that it has.
#[derive(Debug, Default)]
pub(super) struct Table {
    entries: Vec<Entry>,
    by_id: BTreeMap<String, usize>,
    by_claim: BTreeMap<Text, usize>,
}

impl Table {
    pub(super) fn new(index: &Index, settings: &Settings, now: Timestamp) -> Self {
        let mut table = Self::default();
        let everything_stands = index.paused(&settings.namespace).is_some();
        let mut room = Room::new(index, &settings.plan, now);
        let stock = stock(index);
        let claims = by_pool(index);
        for definition in index.definitions().filter(|each| each.pool.driver == Driver::ClusterAutoscaler) {
            let name = &definition.pool.name;
            let pool = offering_pool(index, name);
            let mut entries = entries(&pool, claims.get(name).map_or(&[], Vec::as_slice));
            let closed = everything_stands || pool.unusable.is_some();
            for entry in &mut entries {
                if entry.offered && !closed {
                    let in_stock = stock.left(&pool.provider, &entry.id.key);
                    let in_stock = in_stock.map_or(UNLIMITED, |left| left as usize);
                    let left = room.left(&pool, &entry.wanted.capacity, in_stock.min(UNLIMITED));
                    entry.room = u32::try_from(left).unwrap_or(u32::MAX);
                }
            }
            bound(&mut entries, &pool, everything_stands || pool.paused, now);
            table.entries.append(&mut entries);
        }
        table.entries.sort_by(|one, other| one.name.cmp(&other.name));
        for (number, entry) in table.entries.iter().enumerate() {
            table.by_id.insert(entry.name.clone(), number);
            table.by_claim.extend(entry.claims.iter().map(|claim| (claim.clone(), number)));
        }
        table
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    pub(super) fn get(&self, id: &str) -> Option<&Entry> {
        self.entries.get(*self.by_id.get(id)?)
    }

    /// The group of a claim.
    pub(super) fn of_claim(&self, claim: &str) -> Option<&Entry> {
        self.entries.get(*self.by_claim.get(claim)?)
    }

    /// The group of a node with these labels. Of a node that Cluster Autoscaler has made up nothing else is known.
    pub(super) fn of_labels(&self, labels: &BTreeMap<String, String>) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.is_told_by(labels))
    }
}

/// A pool with what its provider offers or last said that it does, so that groups do not vanish when a provider is silent.
fn offering_pool(index: &Index, name: &str) -> Arc<Pool> {
    let Some(pool) = index.pool(name) else { return Arc::default() };
    if pool.unusable.is_none() {
        return pool.clone();
    }
    Arc::new(Pool { instance_types: index.last_offer(&pool.provider), ..(**pool).clone() })
}

fn by_pool(index: &Index) -> BTreeMap<Text, Vec<Arc<Claim>>> {
    let mut claims: BTreeMap<Text, Vec<Arc<Claim>>> = BTreeMap::new();
    for claim in index.claims.model().values() {
        claims.entry(claim.pool.clone()).or_default().push(claim.clone());
    }
    claims
}

/// The groups of a pool, with its claims.
fn entries(pool: &Pool, claims: &[Arc<Claim>]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = shapes(pool).iter().map(|shape| Entry::offered(pool, shape)).collect();
    let defined: BTreeSet<Text> =
        entries.iter().flat_map(|entry| entry.id.own.iter()).map(|(key, _)| key.clone()).collect();
    let mut known: BTreeMap<(OfferingKey, Labels), usize> = BTreeMap::new();
    for (number, entry) in entries.iter().enumerate() {
        known.insert((entry.id.key.clone(), entry.id.own.clone()), number);
    }
    for claim in claims {
        let own: Labels = claim
            .labels
            .iter()
            .filter(|(key, _)| defined.contains(*key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let Some(wanted) = super::entry::machine_of(claim) else { continue };
        let number = *known.entry((wanted.key.clone(), own.clone())).or_insert_with(|| {
            entries.push(Entry::left_over(pool, claim, wanted, own));
            entries.len() - 1
        });
        if let Some(entry) = entries.get_mut(number) {
            entry.add(claim);
        }
    }
    entries
}

/// Says how small and how large each group may be. What is paused is to stay as it is.
fn bound(entries: &mut [Entry], pool: &Pool, paused: bool, now: Timestamp) {
    let standings: Vec<Standing> = entries
        .iter()
        .map(|entry| Standing {
            target: entry.target,
            failed: entry.failed,
            room: entry.room,
            price: entry.wanted.price.micros(),
            avoided: entry.avoid_until.is_some_and(|until| until > now),
        })
        .collect();
    for (entry, (min, max)) in entries.iter_mut().zip(bounds(pool.min_nodes, &standings)) {
        (entry.min, entry.max) = if paused { (entry.target, entry.target) } else { (min, max) };
    }
}

impl Entry {
    /// Whether labels are those of one of the group's nodes: they name it and its zone, or are the labels that make it.
    fn is_told_by(&self, labels: &BTreeMap<String, String>) -> bool {
        let says = |key: &str, value: &str| labels.get(key).is_some_and(|there| there == value);
        let OfferingKey { instance_type, zone, capacity_type } = &self.id.key;
        let made_of = || {
            says(marks::POOL, &self.id.pool)
                && says(marks::INSTANCE_TYPE, instance_type)
                && says(marks::CAPACITY_TYPE, capacity_type)
                && self.id.own.iter().all(|(key, value)| says(key, value))
        };
        says(marks::ZONE, zone) && (says(marks::NODE_GROUP, &self.label) || made_of())
    }
}
