use std::collections::BTreeSet;

use super::volumes::VolumeNeeds;
use crate::Text;
use crate::model::{
    Labels, PodShape, Requirement, Requirements, Taint, Toleration, tolerates_all, well_known,
};

/// Where pods may run, apart from how much they ask for. Many shapes share one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Constraint<'a> {
    node_selector: &'a Labels,
    node_affinity: &'a [Requirements],
    /// Where its volumes can be used: of each one of these must hold.
    volumes: &'a [Vec<Requirements>],
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
    pub(super) fn number(
        shapes: impl Iterator<Item = (&'a PodShape, &'a VolumeNeeds)> + Clone,
    ) -> (Self, Vec<usize>) {
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
    /// What all of some nodes admit.
    pub(super) fn of_all<'a>(nodes: impl Iterator<Item = &'a Self>) -> Self {
        let mut nodes = nodes.map(|node| node.0.clone());
        let first = nodes.next().unwrap_or_default();
        Self(nodes.fold(first, |all, node| all.iter().zip(&node).map(|(all, node)| *all && *node).collect()))
    }

    /// Takes back that the node meets some constraints.
    pub(super) fn forbid(&mut self, constraints: impl Fn(usize) -> bool) {
        for (_, met) in self.0.iter_mut().enumerate().filter(|(number, _)| constraints(*number)) {
            *met = false;
        }
    }

    pub(super) fn allows(&self, constraint: usize) -> bool {
        self.0.get(constraint).copied().unwrap_or(false)
    }
}

impl<'a> Constraint<'a> {
    fn of((shape, needs): (&'a PodShape, &'a VolumeNeeds)) -> Self {
        let PodShape { node_selector, node_affinity, tolerations, .. } = shape;
        Self { node_selector, node_affinity, volumes: &needs.places, tolerations }
    }

    fn suits(&self, labels: &Labels) -> bool {
        suits(self.node_selector, self.node_affinity, labels)
            && self.volumes.iter().all(|places| places.iter().any(|place| meets(place, labels)))
    }
}

/// Whether a node with these labels is one that a selector and a required affinity ask for.
pub(super) fn suits(selector: &Labels, affinity: &[Requirements], labels: &Labels) -> bool {
    selector.iter().all(|(key, value)| labels.get(key) == Some(value))
        && (affinity.is_empty() || affinity.iter().any(|term| meets(term, labels)))
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
    tolerates_all(&shape.tolerations, taints).is_ok()
        && suits(&shape.node_selector, &shape.node_affinity, labels)
}

/// The label that keeps pods of a shape off all of some nodes, and what they ask of it: preferably one that none of
/// the nodes has right, for there changing a single node would not help.
pub(super) fn unmet_label(shape: &PodShape, needs: &VolumeNeeds, nodes: &[&Labels]) -> (Text, String) {
    let asked = Requirements::from_labels(&shape.node_selector);
    let volumes = || needs.places.iter().flatten().flat_map(Requirements::iter);
    let affinity = || shape.node_affinity.iter().flat_map(Requirements::iter);
    let demands = || asked.iter().chain(affinity()).chain(volumes());
    let unmet = |key: &Text, demand: &Requirement, labels: &&Labels| !demand.allows(labels.get(key));
    let by_none = demands().find(|(key, demand)| nodes.iter().all(|labels| unmet(key, demand, labels)));
    let by_some = || demands().find(|(key, demand)| nodes.iter().any(|labels| unmet(key, demand, labels)));
    match by_none.or_else(by_some) {
        Some((key, demand)) => (key.clone(), demand.to_string()),
        None => ("in the pod's node affinity".into(), "that an empty term could match".to_owned()),
    }
}
