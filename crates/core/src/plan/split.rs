use std::collections::{BTreeMap, BTreeSet};

use super::amounts::Demand;
use super::assignment::{Assignment, Room};
use super::class::Class;
use super::keys::Domains;
use super::kin::{count, each_seen};
use super::rules::{self, ANY, At, Rule};
use super::scene::Scene;
use super::tally::Tally;
use super::worth::float;
use crate::pack::OfferSet;

/// Pods of one class, and the machines that they may be packed on.
pub(super) struct Parcel {
    pub(super) class: usize,
    pub(super) count: usize,
    pub(super) offers: OfferSet,
}

/// Nodes that are or could be in the same domains as far as a class cares.
#[derive(Clone)]
struct Region<'r> {
    domains: &'r Domains,
    sees: &'r [bool],
    /// The machines that could be got there.
    offers: OfferSet,
    /// About what a pod costs on one of them.
    cost: f64,
    /// How many pods have room on nodes that are there already.
    spare: usize,
    /// How many classes that would have to follow there could not.
    lost: usize,
}

/// Decides in which domains the pods of each class get machines, so that what is left to decide, which pods share a
/// machine, is the same for all. Rules about sharing a machine are left to whoever packs.
///
/// Classes that depend on where others go are looked at again once those are decided on.
pub(super) fn split(
    scene: &Scene<'_, '_>,
    choices: &[OfferSet],
    left: &[usize],
    assignment: &Assignment,
) -> Vec<Parcel> {
    let mut left = left.to_vec();
    let mut map = Map {
        scene,
        choices,
        rooms: &assignment.rooms,
        tallies: assignment.tallies.clone(),
        followers: followers(scene),
        leaned_on: leaned_on(scene, &left),
        grounds: BTreeMap::new(),
        reach: BTreeMap::new(),
    };
    let mut parcels = Vec::new();
    loop {
        let before = left.clone();
        for class in &scene.classes {
            let pods = left.get(class.number).copied().unwrap_or(0);
            let Some(offers) = choices.get(class.number).filter(|offers| pods > 0 && !offers.is_empty())
            else {
                continue;
            };
            let keys = map.wide_keys(class, &left);
            let (shared, rest) = if keys.is_empty() {
                (vec![Parcel { class: class.number, count: pods, offers: offers.clone() }], 0)
            } else {
                map.share(class, pods, &keys, &left)
            };
            if let Some(left) = left.get_mut(class.number) {
                *left = rest;
            }
            parcels.extend(shared);
        }
        if left == before {
            return parcels;
        }
    }
}

/// Where pods are and where they could go.
struct Map<'m, 's, 'a> {
    scene: &'m Scene<'s, 'a>,
    choices: &'m [OfferSet],
    rooms: &'m [Room],
    tallies: Vec<Tally>,
    /// For each tally the classes that have to be with those that are counted.
    followers: BTreeMap<usize, Vec<&'m Class>>,
    /// The tallies that some class wants spread evenly over more than single nodes.
    leaned_on: BTreeSet<usize>,
    /// What has been found out about where machines are.
    grounds: BTreeMap<Ground<'m>, Vec<Region<'m>>>,
    /// In which domains, by a label, machines are that are to be chosen from.
    reach: BTreeMap<(&'m OfferSet, usize), BTreeSet<Option<u32>>>,
}

/// Classes that ask for the same, may use the same machines and care for the same labels see the same regions.
type Ground<'m> = (&'m Demand, &'m OfferSet, Vec<usize>, usize);

fn followers<'m>(scene: &'m Scene<'_, '_>) -> BTreeMap<usize, Vec<&'m Class>> {
    let mut followers: BTreeMap<usize, Vec<&'m Class>> = BTreeMap::new();
    for class in &scene.classes {
        for rule in &class.relations.rules {
            if let Rule::With { tally, .. } = rule {
                followers.entry(*tally).or_default().push(class);
            }
        }
    }
    followers
}

/// The tallies by which pods that have no place must be spread over zones and the like.
fn leaned_on(scene: &Scene<'_, '_>, left: &[usize]) -> BTreeSet<usize> {
    let waits = |class: &&Class| left.get(class.number).is_some_and(|left| *left > 0);
    let rules = scene.classes.iter().filter(waits).flat_map(|class| &class.relations.rules);
    rules.filter(|rule| !scene.is_of_one_node(rule)).filter_map(Rule::spread_over).collect()
}

/// The region in which a node is, which is made if need be.
fn region_of<'r, 'm>(
    regions: &'r mut Vec<Region<'m>>,
    keys: &[usize],
    domains: &'m Domains,
    sees: &'m [bool],
) -> Option<&'r mut Region<'m>> {
    let here = |region: &Region<'_>| keys.iter().all(|key| region.domains.get(*key) == domains.get(*key));
    let number = regions.iter().position(here).unwrap_or_else(|| {
        regions.push(Region {
            domains,
            sees,
            offers: OfferSet::default(),
            cost: f64::MAX,
            spare: 0,
            lost: 0,
        });
        regions.len() - 1
    });
    regions.get_mut(number)
}

impl<'m> Map<'m, '_, '_> {
    fn is_wide(&self, key: usize) -> bool {
        !self.scene.keys.is_host(key)
    }

    /// The labels that several nodes can have in common and that matter to the class, or to another that has to follow
    /// it or is spread among its pods.
    fn wide_keys(&self, class: &Class, left: &[usize]) -> Vec<usize> {
        let own = class.relations.rules.iter().chain(class.relations.wishes.iter().map(|wish| &wish.rule));
        let own = own.filter_map(|rule| Some(self.tallies.get(rule.tally())?.key));
        let followed = self.followers(class, left).into_iter().map(|(_, key)| key);
        let leaned_on = self.leaned_on(class).filter_map(|tally| Some(self.tallies.get(tally)?.key));
        let all = own.chain(followed).chain(leaned_on);
        let mut wide: Vec<usize> = all.filter(|key| self.is_wide(*key)).collect();
        wide.sort_unstable();
        wide.dedup();
        wide
    }

    /// The tallies in which a class is counted and which others want even, its own wishes aside. Whoever looks at them is
    /// kept out of where they are many, so that even pods to which it is all the same are best not all in one zone.
    fn leaned_on(&self, class: &Class) -> impl Iterator<Item = usize> {
        let own = |tally: usize| class.relations.rules.iter().any(|rule| rule.tally() == tally);
        let counted = class.relations.counted_in.iter().copied();
        counted.filter(move |tally| self.leaned_on.contains(tally) && !own(*tally))
    }

    /// The classes with pods left that have to go where pods of a class are, and by which label.
    fn followers(&self, class: &Class, left: &[usize]) -> Vec<(&'m Class, usize)> {
        let mut found: BTreeMap<usize, (&'m Class, usize)> = BTreeMap::new();
        for number in &class.relations.counted_in {
            let Some(key) = self.tallies.get(*number).map(|tally| tally.key) else { continue };
            for other in self.followers.get(number).into_iter().flatten().filter(|_| self.is_wide(key)) {
                if other.number != class.number && left.get(other.number).is_some_and(|left| *left > 0) {
                    found.entry(other.number).or_insert((other, key));
                }
            }
        }
        found.into_values().collect()
    }

    /// Gives the pods of a class their regions; those that may go nowhere are left.
    fn share(
        &mut self,
        class: &'m Class,
        pods: usize,
        keys: &[usize],
        left: &[usize],
    ) -> (Vec<Parcel>, usize) {
        let mut regions = self.regions(class, pods, keys, left);
        // Wherever a machine may be got there may be a node: the fewest pods that any place has may be there.
        let stops: Vec<usize> = class.relations.rules.iter().map(Rule::tally).collect();
        for region in &regions {
            each_seen(&mut self.tallies, &stops, region.sees, |tally| tally.add_node(region.domains));
        }
        let (shares, rest) = self.shares(class, pods, &mut regions);
        for (region, _) in regions.iter().zip(&shares).filter(|(_, share)| **share == 0) {
            each_seen(&mut self.tallies, &stops, region.sees, |tally| tally.take_node(region.domains));
        }
        let shared = regions.into_iter().zip(shares).filter(|(_, share)| *share > 0);
        let parcels =
            shared.map(|(region, count)| Parcel { class: class.number, count, offers: region.offers });
        (parcels.collect(), rest)
    }

    /// The regions of the machines that a class may use, in the order of their first ones.
    fn grounds(&mut self, class: &'m Class, pods: usize, keys: &[usize]) -> Vec<Region<'m>> {
        let Some(offers) = self.choices.get(class.number) else { return Vec::new() };
        let scene = self.scene;
        // About how many pods is enough to tell about what each costs.
        let pods = pods.next_power_of_two();
        let ground = (&class.request, offers, keys.to_vec(), pods);
        let regions = self.grounds.entry(ground).or_insert_with(|| {
            let mut regions: Vec<Region<'m>> = Vec::new();
            for number in offers.iter() {
                let Some(offer) = scene.candidates.get(number) else { continue };
                let holds = offer.free.times(&class.request, pods).max(1);
                let cost = float(offer.cost()) / float(i64::try_from(holds).unwrap_or(i64::MAX));
                if let Some(region) = region_of(&mut regions, keys, &offer.domains, &offer.sees) {
                    region.offers.insert(number);
                    region.cost = region.cost.min(cost);
                }
            }
            regions
        });
        regions.clone()
    }

    /// All regions that a class may use.
    fn regions(&mut self, class: &'m Class, pods: usize, keys: &[usize], left: &[usize]) -> Vec<Region<'m>> {
        let mut regions = self.grounds(class, pods, keys);
        let survey = class.relations.survey(&self.tallies);
        for room in self.rooms.iter().filter(|room| room.admission.allows(class.constraint)) {
            let of_host = |key: usize| !self.is_wide(key);
            let most = class.relations.room_by(
                &self.tallies,
                &survey,
                At { domains: &room.domains, ready: room.ready },
                of_host,
            );
            let spare = room.free.times(&class.request, pods.min(most));
            if spare == 0 {
                continue;
            }
            if let Some(region) = region_of(&mut regions, keys, &room.domains, &room.sees) {
                region.spare = region.spare.saturating_add(spare);
            }
        }
        for (other, key) in self.followers(class, left) {
            let Some(offers) = self.choices.get(other.number) else { continue };
            let scene = self.scene;
            let open = self.reach.entry((offers, key)).or_insert_with(|| {
                let choices = offers.iter().filter_map(|number| scene.candidates.get(number));
                choices.map(|offer| offer.domains.get(key)).collect()
            });
            for region in regions.iter_mut().filter(|region| !open.contains(&region.domains.get(key))) {
                region.lost += 1;
            }
        }
        regions
    }

    /// How many pods of a class get machines in each region: where they are fewest, then where others can follow, where
    /// there is room already, and where it is cheapest. Pods that have room already need no machine.
    fn shares(&mut self, class: &Class, mut left: usize, regions: &mut [Region<'_>]) -> (Vec<usize>, usize) {
        let relations = &class.relations;
        let mut shares = vec![0; regions.len()];
        let leaned_on: Vec<usize> = self.leaned_on(class).collect();
        while left > 0 {
            let survey = relations.survey(&self.tallies);
            let allowed = regions.iter().enumerate().filter_map(|(number, region)| {
                let wide = |key: usize| !self.scene.keys.is_host(key);
                let room = relations.room_by(
                    &self.tallies,
                    &survey,
                    At { domains: region.domains, ready: false },
                    wide,
                );
                let there = region.spare > 0 || !region.offers.is_empty();
                let crowding = relations.crowding(&self.tallies, region.domains);
                let soft = relations.soft_crowding(&self.tallies, region.domains);
                let uneven = rules::crowding(leaned_on.iter().copied(), &self.tallies, region.domains);
                let rank = (crowding, soft, region.lost, uneven, region.spare == 0);
                (room > 0 && there).then_some((rank, region.cost, number, room))
            });
            let best = allowed.min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
            let Some((_, _, number, room)) = best else { break };
            let (Some(region), Some(share)) = (regions.get_mut(number), shares.get_mut(number)) else {
                break;
            };
            let at_once = room == ANY && !relations.would_spread() && leaned_on.is_empty();
            let mut pods = if at_once { left } else { 1 };
            if region.spare > 0 {
                pods = pods.min(region.spare);
                region.spare -= pods;
            } else {
                *share += pods;
            }
            let counted = u32::try_from(pods).unwrap_or(u32::MAX);
            count(&mut self.tallies, &relations.counted_in, region.domains, region.sees, counted);
            left -= pods;
        }
        (shares, left)
    }
}
