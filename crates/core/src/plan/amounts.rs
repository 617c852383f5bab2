use std::collections::BTreeSet;

use crate::model::{ResourceName, Resources};

/// The resources that some pod of this plan asks for. Only these can decide where a pod fits, so the planner counts in
/// short rows of numbers, one for each of them, rather than in maps of names.
pub(super) struct Dimensions(Vec<ResourceName>);

/// One amount for each dimension.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Amounts(Box<[i64]>);

impl Dimensions {
    pub(super) fn of<'a>(requests: impl IntoIterator<Item = &'a Resources>) -> Self {
        let asked = requests.into_iter().flat_map(Resources::iter).filter(|(_, amount)| *amount > 0);
        let names: BTreeSet<&ResourceName> = asked.map(|(name, _)| name).collect();
        Self(names.into_iter().cloned().collect())
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &ResourceName> {
        self.0.iter()
    }

    /// What is there to be used, which may be overdrawn.
    pub(super) fn supply(&self, resources: &Resources) -> Amounts {
        Amounts(self.0.iter().map(|name| resources.get(name)).collect())
    }

    /// What is asked for. A negative request would make room out of nothing, so it counts as none.
    pub(super) fn demand(&self, resources: &Resources) -> Amounts {
        Amounts(self.0.iter().map(|name| resources.get(name).max(0)).collect())
    }
}

impl Amounts {
    pub(super) fn iter(&self) -> impl Iterator<Item = i64> {
        self.0.iter().copied()
    }

    pub(super) fn covers(&self, demand: &Self) -> bool {
        self.iter().zip(demand.iter()).all(|(there, wanted)| wanted == 0 || wanted <= there)
    }

    /// How many times the demand fits, up to a number.
    pub(super) fn times(&self, demand: &Self, at_most: usize) -> usize {
        let asked = self.iter().zip(demand.iter()).filter(|(_, wanted)| *wanted > 0);
        asked.fold(at_most, |times, (there, wanted)| {
            times.min(usize::try_from(there.max(0) / wanted).unwrap_or(usize::MAX))
        })
    }

    /// Takes the demand away so many times.
    pub(super) fn take(&mut self, demand: &Self, times: usize) {
        let times = i64::try_from(times).unwrap_or(i64::MAX);
        for (there, wanted) in self.0.iter_mut().zip(demand.iter()) {
            *there = there.saturating_sub(wanted.saturating_mul(times));
        }
    }

    /// Lowers each amount to the other's where that is smaller.
    pub(super) fn lower_to(&mut self, other: &Self) {
        for (amount, other) in self.0.iter_mut().zip(other.iter()) {
            *amount = other.min(*amount);
        }
    }

    /// Each amount of the other's, or of this one's where the other has none.
    pub(super) fn overridden_by(&self, other: &Self) -> Self {
        Self(self.iter().zip(other.iter()).map(|(own, other)| if other > 0 { other } else { own }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Dimensions;
    use crate::model::Resources;

    #[test]
    fn a_negative_request_makes_no_room() {
        let request = Resources::from_iter([("cpu", 100), ("memory", -5)]);
        let dimensions = Dimensions::of([&request]);
        let mut free = dimensions.supply(&Resources::from_iter([("cpu", 250), ("memory", -9)]));
        let demand = dimensions.demand(&request);
        assert_eq!(free.times(&demand, 9), 2);
        free.take(&demand, 2);
        assert_eq!(free.iter().collect::<Vec<_>>(), [50]);
    }

    #[test]
    fn what_asks_for_nothing_fits_as_often_as_wanted() {
        let dimensions = Dimensions::of([&Resources::from_iter([("cpu", 1)])]);
        let overdrawn = dimensions.supply(&Resources::from_iter([("cpu", -1)]));
        assert_eq!(overdrawn.times(&dimensions.demand(&Resources::new()), 7), 7);
    }
}
