use std::collections::BTreeSet;

use crate::Text;
use crate::model::{
    Labels, PodShape, Requirement, Requirements, Taint, Toleration, tolerates_all, well_known,
};

/// Where pods may run, apart from how much they ask for. Many shapes share one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Constraint<'a> {
    node_selector: &'a Labels,
    node_affinity: &'a [Requirements],
    tolerations: &'a [Toleration],
}

/// The distinct constraints of the pods of a plan. Each node and each offering is held against each of them once;
/// after that whether a pod may run there is one look at a row of booleans.
pub(super) struct Constraints<'a>(Vec<Constraint<'a>>);

/// The constraints that a node meets, by number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Admission(Box<[bool]>);

/// The hostname of a node that is not there yet: nobody can have asked for it, and yet there will be one.
const NO_HOSTNAME_YET: &str = "(not known yet)";

/// Marks labels as those of a node that is not there yet.
pub(super) fn without_hostname(labels: &mut Labels) {
    labels.set(well_known::HOSTNAME, NO_HOSTNAME_YET);
}

impl<'a> Constraints<'a> {
    /// Numbers the constraints of the shapes; the second part is the number for each shape in turn.
    pub(super) fn number(shapes: impl Iterator<Item = &'a PodShape> + Clone) -> (Self, Vec<usize>) {
        let distinct: BTreeSet<Constraint<'a>> = shapes.clone().map(Constraint::of).collect();
        let sorted: Vec<Constraint<'a>> = distinct.into_iter().collect();
        // A constraint that could not be found would be met by no node, which is the safe side.
        let number = |shape| sorted.binary_search(&Constraint::of(shape)).unwrap_or(usize::MAX);
        let numbers = shapes.map(number).collect();
        (Self(sorted), numbers)
    }

    /// The constraints met by a node with these taints whichever of the sets of labels it turns out to have.
    pub(super) fn met_by(&self, variants: &[&Labels], taints: &[&Taint]) -> Admission {
        let met = |constraint: &Constraint<'_>| {
            tolerates_all(constraint.tolerations, taints.iter().copied()).is_ok()
                && variants.iter().all(|labels| constraint.suits(labels))
        };
        Admission(self.0.iter().map(met).collect())
    }
}

impl Admission {
    pub(super) fn allows(&self, constraint: usize) -> bool {
        self.0.get(constraint).copied().unwrap_or(false)
    }
}

impl<'a> Constraint<'a> {
    fn of(shape: &'a PodShape) -> Self {
        let PodShape { node_selector, node_affinity, tolerations, .. } = shape;
        Self { node_selector, node_affinity, tolerations }
    }

    fn suits(&self, labels: &Labels) -> bool {
        self.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value))
            && (self.node_affinity.is_empty() || self.node_affinity.iter().any(|term| meets(term, labels)))
    }
}

/// As in Kubernetes a term without demands is met by no node.
fn meets(term: &Requirements, labels: &Labels) -> bool {
    !term.is_empty() && term.check(labels).is_ok()
}

/// Whether pods of a shape may run on a node with these labels and taints.
pub(super) fn admits<'t>(
    shape: &PodShape,
    labels: &Labels,
    taints: impl IntoIterator<Item = &'t Taint>,
) -> bool {
    tolerates_all(&shape.tolerations, taints).is_ok() && Constraint::of(shape).suits(labels)
}

/// The label that keeps pods of a shape off all of some nodes, and what they ask of it: preferably one that none of
/// the nodes has right, for there changing a single node would not help.
pub(super) fn unmet_label(shape: &PodShape, nodes: &[&Labels]) -> (Text, String) {
    let asked = Requirements::from_labels(&shape.node_selector);
    let demands = || asked.iter().chain(shape.node_affinity.iter().flat_map(Requirements::iter));
    let unmet = |key: &Text, demand: &Requirement, labels: &&Labels| !demand.allows(labels.get(key));
    let by_none = demands().find(|(key, demand)| nodes.iter().all(|labels| unmet(key, demand, labels)));
    let by_some = || demands().find(|(key, demand)| nodes.iter().any(|labels| unmet(key, demand, labels)));
    match by_none.or_else(by_some) {
        Some((key, demand)) => (key.clone(), demand.to_string()),
        None => ("in the pod's node affinity".into(), "that an empty term could match".to_owned()),
    }
}
