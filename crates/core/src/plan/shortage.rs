use super::candidate::Candidate;
use super::class::Class;
use super::report::Exclusion;
use super::scene::Scene;
use crate::model::{Pool, ResourceName, Resources};

/// One resource as a class and the machines see it.
struct Dimension<'n> {
    number: usize,
    name: &'n ResourceName,
    wanted: i64,
}

/// Which resource stands in the way on all the machines that would match otherwise: best one that no machine has enough
/// of, else one that some machines lack that have enough of all others, else one that some lack among others.
pub(super) fn too_small(
    scene: &Scene<'_, '_>,
    class: &Class,
    matching: &[&Candidate<'_>],
    pool: &Pool,
) -> Exclusion {
    let dimensions: Vec<Dimension<'_>> = scene
        .dimensions
        .resources()
        .map(|(number, name)| Dimension { number, name, wanted: class.request.get(number) })
        .collect();
    let lacks = |machine: &Candidate<'_>, dimension: &Dimension<'_>| {
        dimension.free(machine) < dimension.wanted.max(0)
    };
    let shortages = |machine: &Candidate<'_>| dimensions.iter().filter(|each| lacks(machine, each)).count();
    let by_all = dimensions.iter().find(|each| matching.iter().all(|machine| lacks(machine, each)));
    let only = |dimension: &Dimension<'_>, most: usize| {
        let lacking = matching.iter().copied().filter(|machine| lacks(machine, dimension));
        lacking.filter(|machine| shortages(machine) <= most).collect::<Vec<_>>()
    };
    let by_some =
        |most| dimensions.iter().map(move |each| (each, only(each, most))).find(|(_, some)| !some.is_empty());
    let found = by_all.map(|dimension| (dimension, matching.to_vec()));
    match found.or_else(|| by_some(1)).or_else(|| by_some(usize::MAX)) {
        Some((dimension, machines)) => dimension.exclusion(&machines, pool),
        None => Exclusion::Unavailable { offerings: matching.len() },
    }
}

impl Dimension<'_> {
    fn free(&self, machine: &Candidate<'_>) -> i64 {
        machine.room.get(self.number)
    }

    fn exclusion(&self, machines: &[&Candidate<'_>], pool: &Pool) -> Exclusion {
        let largest = machines.iter().max_by_key(|machine| self.free(machine));
        let there = largest.map_or(0, |machine| machine.allocatable.get(self.number));
        let daemons = largest.map_or(0, |machine| there.saturating_sub(self.free(machine)));
        let mut types: Vec<_> = machines.iter().map(|machine| &machine.instance_type.name).collect();
        types.sort_unstable();
        types.dedup();
        Exclusion::Resource {
            resource: self.name.clone(),
            wanted: Resources::show(self.name, self.wanted.saturating_add(daemons)),
            largest: Resources::show(self.name, there),
            matching: types.len(),
            total: pool.instance_types.len(),
        }
    }
}
