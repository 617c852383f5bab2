use std::collections::{BTreeMap, BTreeSet};

use super::candidate::Candidate;
use super::class::Class;
use super::scene::Scene;
use crate::Text;
use crate::model::Pool;

/// A label of which a pool wants more different values among the ways to get a machine than there are.
pub(super) struct Shortfall<'a> {
    pub(super) key: &'a Text,
    pub(super) least: u32,
    pub(super) found: usize,
}

/// The first label of which some machines of a pool have too few different values.
pub(super) fn shortfall<'a>(pool: &'a Pool, machines: &[&Candidate<'_>]) -> Option<Shortfall<'a>> {
    pool.min_values.iter().find_map(|(key, least)| {
        let values: BTreeSet<&Text> = machines.iter().filter_map(|each| each.labels.get(key)).collect();
        (values.len() < *least as usize).then_some(Shortfall { key, least: *least, found: values.len() })
    })
}

/// The machines out of some whose pools find enough different ones among them: for pods to whom it matters who else is
/// where, in the same place.
pub(super) fn of_flexible_pools(scene: &Scene<'_, '_>, class: &Class, mut among: Vec<usize>) -> Vec<usize> {
    let tied = scene.is_tied(class);
    for (number, pool) in scene.pools.iter().enumerate().filter(|(_, pool)| !pool.min_values.is_empty()) {
        let place = |each: &Candidate<'_>| tied.then_some(each.spot);
        let mut groups: BTreeMap<Option<usize>, Vec<&Candidate<'_>>> = BTreeMap::new();
        for candidate in among.iter().filter_map(|each| scene.candidates.get(*each)) {
            if candidate.pool_number == number {
                groups.entry(place(candidate)).or_default().push(candidate);
            }
        }
        groups.retain(|_, group| shortfall(pool, group).is_some());
        among.retain(|each| {
            let candidate = scene.candidates.get(*each).filter(|each| each.pool_number == number);
            candidate.is_none_or(|each| !groups.contains_key(&place(each)))
        });
    }
    among
}

/// Adds to a way to get a machine as many of the others, in their order, as its pool wants different values; none if
/// there are not enough.
pub(super) fn needed<'p, 'a>(
    first: &'p Candidate<'a>,
    others: impl Iterator<Item = &'p Candidate<'a>> + Clone,
) -> Option<Vec<&'p Candidate<'a>>> {
    let mut ways = vec![first];
    while let Some(short) = shortfall(first.pool, &ways) {
        let value = |each: &Candidate<'_>| each.labels.get(short.key).cloned();
        let known: BTreeSet<Option<Text>> = ways.iter().map(|each| value(each)).collect();
        let new =
            |each: &&Candidate<'_>| each.labels.get(short.key).is_some() && !known.contains(&value(each));
        ways.push(others.clone().find(new)?);
    }
    Some(ways)
}

/// Cuts a load to what can be had in enough ways, beginning with its first pods.
pub(super) fn cut<T>(
    load: &[(usize, usize)],
    ways: impl Fn(&[(usize, usize)]) -> Option<T>,
) -> (Vec<(usize, usize)>, Option<T>) {
    if let Some(enough) = ways(load) {
        return (load.to_vec(), Some(enough));
    }
    let (mut rest, mut found) = (Vec::new(), None);
    for (class, count) in load {
        for pods in 1..=*count {
            let mut more: Vec<(usize, usize)> = rest.clone();
            more.retain(|(other, _)| other != class);
            more.push((*class, pods));
            let Some(enough) = ways(&more) else { break };
            (rest, found) = (more, Some(enough));
        }
    }
    (rest, found)
}

/// Lowers what counts as free on machines of pools that want several different ones for each launch, to what so many
/// others have too: what is packed on one of them has to fit the others.
pub(super) fn level(candidates: &mut [Candidate<'_>]) {
    let mut levelled = Vec::new();
    for (number, first) in candidates.iter().enumerate().filter(|(_, each)| !each.pool.min_values.is_empty())
    {
        let beside = || candidates.iter().filter(|each| each.is_way_beside(first));
        let alike = || beside().filter(|each| each.admission == first.admission);
        // Those that take the same pods in the same place and have no less come first.
        let near = alike().filter(|each| each.domains == first.domains && each.room.exceeds(&first.room));
        // Among smaller ones the larger are mostly the dearer.
        let ways = needed(first, near.chain(alike().rev()).chain(beside().rev())).unwrap_or_default();
        let mut least = first.room.clone();
        for way in ways {
            least.lower_to(&way.room);
        }
        levelled.push((number, least));
    }
    for (number, least) in levelled {
        if let Some(candidate) = candidates.get_mut(number) {
            candidate.free = least;
        }
    }
}
