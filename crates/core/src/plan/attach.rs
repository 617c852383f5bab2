use std::collections::BTreeMap;

use super::view::View;
use crate::Text;
use crate::model::{AttachLimits, Labels, Node, well_known};

/// How many volumes can be attached to machines of each pool and instance type, learnt from their nodes: few providers
/// say it of machines that are not there yet.
#[derive(Default)]
pub(super) struct Attachable<'a>(BTreeMap<&'a str, BTreeMap<&'a str, AttachLimits>>);

impl<'a> Attachable<'a> {
    pub(super) fn learn(view: &View<'a>) -> Self {
        let mut learnt: BTreeMap<_, BTreeMap<_, AttachLimits>> = BTreeMap::new();
        for (name, limits) in view.snapshot.attach_limits.iter() {
            let kind = view.snapshot.nodes.get(name).and_then(|node| kind(&node.labels));
            let Some((pool, instance_type)) = kind else { continue };
            let known = learnt.entry(pool).or_default().entry(instance_type).or_default();
            for (driver, limit) in limits {
                let least = known.entry(driver.clone()).or_insert(*limit);
                *least = (*least).min(*limit);
            }
        }
        Self(learnt)
    }

    /// The limits of a node as its drivers say, or as on others of its kind as long as they do not.
    pub(super) fn on<'s>(&'s self, view: &View<'s>, node: &Node) -> Option<&'s AttachLimits> {
        let said = view.snapshot.attach_limits.get(&node.name);
        said.or_else(|| self.like(kind(&node.labels)?))
    }

    /// The limits of a machine of a pool and type.
    pub(super) fn of(&self, pool: &Text, instance_type: &Text) -> Option<&AttachLimits> {
        self.like((pool, instance_type))
    }

    fn like(&self, (pool, instance_type): (&str, &str)) -> Option<&AttachLimits> {
        self.0.get(pool)?.get(instance_type)
    }
}

fn kind(labels: &Labels) -> Option<(&str, &str)> {
    Some((labels.get(well_known::POOL)?, labels.get(well_known::INSTANCE_TYPE)?))
}
