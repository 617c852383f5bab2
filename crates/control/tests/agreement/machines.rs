//! Getting the machines that were planned.

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use k8s_openapi::api::core::v1::Node;
use windlass_core::model::{InstanceType, Offering, OfferingKey, Pool, Resources, Taint, well_known};
use windlass_core::plan::Launch;

use crate::made_up::node;

/// A machine that was got for a launch in one of its ways.
pub struct Machine<'a> {
    pub name: String,
    pub pool: &'a Pool,
    pub kind: &'a InstanceType,
    pub offering: &'a Offering,
    launch: &'a Launch,
}

impl<'a> Machine<'a> {
    /// Its node while something is still missing there.
    pub fn starting_node(&self) -> Node {
        let taints = self.pool.taints.iter().chain(&self.pool.startup_taints).cloned();
        self.node_with(&taints.collect::<Vec<_>>())
    }

    /// Its node.
    pub fn node(&self) -> Node {
        self.node_with(&self.pool.taints)
    }

    fn node_with(&self, taints: &[Taint]) -> Node {
        let mut labels = self.pool.labels.clone();
        labels.extend(&self.launch.labels);
        labels.extend(&self.kind.labels_with(self.offering));
        labels.set(well_known::POOL, self.pool.name.clone());
        node(&self.name, &labels, taints, &self.kind.allocatable)
    }

    fn got(name: String, pools: &'a [Pool], launch: &'a Launch, way: &OfferingKey) -> Self {
        let pool = pools.iter().find(|pool| pool.name == launch.pool).unwrap();
        let kind = pool.instance_types.iter().find(|kind| kind.name == way.instance_type).unwrap();
        let offering = kind.offerings.iter().find(|offering| kind.key(offering) == *way).unwrap();
        Self { name, pool, kind, offering, launch }
    }
}

/// Gets a machine for each launch, in any of the ways that it allows: each is as good as the first as long as it can be had
/// beside what the other launches want first.
pub fn get<'a>(id: &str, random: &mut Rng, pools: &'a [Pool], launches: &'a [Launch]) -> Vec<Machine<'a>> {
    let mut left = stock(pools);
    for launch in launches {
        take(&mut left, &launch.offerings[0].key);
    }
    let got = launches.iter().enumerate().map(|(number, launch)| {
        let first = &launch.offerings[0].key;
        let can_be_had = |key: &OfferingKey| left.get(key).is_none_or(|left| *left > 0);
        let others = launch.offerings.iter().map(|way| &way.key).filter(|key| can_be_had(key));
        let ways: Vec<&OfferingKey> = std::iter::once(first).chain(others).collect();
        let way = ways[random.usize(0..ways.len())];
        if way != first {
            take(&mut left, way);
        }
        Machine::got(format!("{id}-new{number}"), pools, launch, way)
    });
    got.collect()
}

/// How many of each offering can be had, where that is limited.
fn stock(pools: &[Pool]) -> BTreeMap<OfferingKey, i64> {
    let kinds = pools.iter().flat_map(|pool| pool.instance_types.iter());
    let offerings = kinds.flat_map(|kind| kind.offerings.iter().map(move |each| (kind.key(each), each)));
    offerings.filter_map(|(key, each)| Some((key, i64::from(each.available?)))).collect()
}

fn take(left: &mut BTreeMap<OfferingKey, i64>, key: &OfferingKey) {
    if let Some(left) = left.get_mut(key) {
        *left -= 1;
    }
}

/// The pools with what the launches leave of them. Each counts as it does in the plan: as the way that it wants first, and as
/// the largest machine that it may become.
pub fn pools_beside(pools: &[Pool], launches: &[Launch]) -> Vec<Pool> {
    let mut pools = pools.to_vec();
    for launch in launches {
        let pool = pools.iter_mut().find(|pool| pool.name == launch.pool).unwrap();
        pool.max_nodes = pool.max_nodes.map(|nodes| nodes - 1);
        let largest = launch.offerings.iter().fold(Resources::new(), |mut largest, way| {
            largest.raise_to(&way.capacity);
            largest
        });
        let left = pool.limits.iter().map(|(name, limit)| (name.clone(), limit - largest.get(name)));
        pool.limits = left.collect::<Vec<_>>().iter().map(|(name, left)| (&**name, *left)).collect();
        let kinds: &mut Vec<InstanceType> = Arc::make_mut(&mut pool.instance_types);
        buy(kinds, &launch.offerings[0].key);
    }
    pools
}

fn buy(kinds: &mut [InstanceType], way: &OfferingKey) {
    let kind = kinds.iter_mut().find(|kind| kind.name == way.instance_type).unwrap();
    let is_it = |each: &&mut Offering| each.zone == way.zone && each.capacity_type == way.capacity_type;
    let offering = kind.offerings.iter_mut().find(is_it).unwrap();
    offering.available = offering.available.map(|available| available - 1);
}
