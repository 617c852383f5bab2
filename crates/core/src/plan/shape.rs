use super::admission::without_hostname;
use super::custom;
use crate::model::{InstanceType, Labels, Offering, OfferingKey, Pool, well_known};

/// One kind of node that a pool may have: a machine as it is offered, and the labels that the pool gives it.
#[derive(Clone, Debug)]
pub struct Shape<'a> {
    /// What the machine is.
    pub instance_type: &'a InstanceType,
    /// Where and how it is had.
    pub offering: &'a Offering,
    /// The labels that the pool defines by asking for them, which are others for each kind.
    pub own: Labels,
    /// All labels that such a node has.
    pub labels: Labels,
    /// Which of the sets of labels that the pool defines itself these are.
    pub(super) variant: usize,
}

impl Shape<'_> {
    /// The name of the offering.
    pub fn key(&self) -> OfferingKey {
        self.instance_type.key(self.offering)
    }
}

/// All kinds of nodes that a pool may have by its own requirements, whether or not they can be had just now.
pub fn shapes(pool: &Pool) -> Vec<Shape<'_>> {
    let variants = custom::labels(pool);
    pool.instance_types.iter().flat_map(|each| shapes_of(pool, each, &variants)).collect()
}

/// The same of one instance type.
pub(super) fn shapes_of<'a>(
    pool: &Pool,
    instance_type: &'a InstanceType,
    variants: &[Labels],
) -> Vec<Shape<'a>> {
    let offerings = instance_type.offerings.iter();
    let each = offerings.flat_map(|offering| variants.iter().enumerate().map(move |each| (offering, each)));
    let each = each.map(|(offering, (variant, own))| {
        let labels = labels(pool, instance_type, offering, own);
        Shape { instance_type, offering, own: own.clone(), labels, variant }
    });
    each.filter(|shape| pool.requirements.check(&shape.labels).is_ok()).collect()
}

fn labels(pool: &Pool, instance_type: &InstanceType, offering: &Offering, own: &Labels) -> Labels {
    let mut labels = pool.labels.clone();
    labels.extend(own);
    labels.extend(&instance_type.labels_with(offering));
    labels.set(well_known::POOL, pool.name.clone());
    without_hostname(&mut labels);
    labels
}
