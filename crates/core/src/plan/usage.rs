use super::view::{View, stays};
use crate::model::{Claim, Pool, Resources};

/// How much of a pool's nodes pods ask for.
#[derive(Clone, Debug, Default)]
pub(super) struct Usage {
    asked: Resources,
    there: Resources,
}

impl Usage {
    /// Of the nodes of a pool that are there or on their way and stay.
    pub(super) fn of(view: &View<'_>, pool: &Pool) -> Self {
        let mut usage = Self::default();
        for claim in view.claims_in(&pool.name).filter(|claim| stays(claim)) {
            usage.there.add(&allocatable(view, claim));
            let node = view.node_of(&claim.name);
            for pod in node.into_iter().flat_map(|node| view.pods_on(&node.name)) {
                usage.asked.add(&pod.shape.requests);
            }
        }
        usage
    }

    /// Counts so many pods that will come.
    pub(super) fn ask(&mut self, requests: &Resources, times: usize) {
        let times = i64::try_from(times).unwrap_or(i64::MAX);
        let each = requests.iter().map(|(name, amount)| (&**name, amount.saturating_mul(times)));
        self.asked.add(&each.collect());
    }

    /// Counts a further node.
    pub(super) fn add(&mut self, allocatable: &Resources) {
        self.there.add(allocatable);
    }

    /// Counts a node less.
    pub(super) fn remove(&mut self, allocatable: &Resources) {
        self.there.subtract(allocatable);
    }

    /// How many nodes like this it takes for no more than so much of a resource to be asked for, in percent.
    pub(super) fn lacks(&self, resource: &str, ceiling: u32, node: &Resources) -> usize {
        let (each, ceiling) = (i128::from(node.get(resource)), i128::from(ceiling.max(1)));
        let wanted = (i128::from(self.asked.get(resource)) * 100 + ceiling - 1) / ceiling;
        let missing = wanted - i128::from(self.there.get(resource));
        if missing <= 0 || each <= 0 {
            return 0;
        }
        usize::try_from((missing + each - 1) / each).unwrap_or(usize::MAX)
    }

    /// Whether more than so much of a resource is asked for, in percent.
    pub(super) fn is_above(&self, resource: &str, percent: u32) -> bool {
        self.compared(resource) > i128::from(percent) * i128::from(self.there.get(resource))
    }

    /// Whether less than so much of a resource is asked for, in percent.
    pub(super) fn is_below(&self, resource: &str, percent: u32) -> bool {
        self.compared(resource) < i128::from(percent) * i128::from(self.there.get(resource))
    }

    fn compared(&self, resource: &str) -> i128 {
        i128::from(self.asked.get(resource)) * 100
    }
}

/// What pods can use of a claim's machine, or will be able to if its first choice is to be had.
pub(super) fn allocatable(view: &View<'_>, claim: &Claim) -> Resources {
    if let Some(node) = view.node_of(&claim.name).filter(|_| view.is_up(claim)) {
        return node.allocatable.clone();
    }
    let planned = || claim.offerings.first().map(|offering| offering.allocatable.clone());
    let launched = claim.launched.as_ref().map(|launched| launched.allocatable.clone());
    launched.or_else(planned).unwrap_or_default()
}
