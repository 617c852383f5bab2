use std::collections::{BTreeMap, BTreeSet};

use crate::Text;
use crate::model::{Labels, PodShape, well_known};

/// The node labels by whose values some pod wants to be spread, or be with or away from others. Their values are
/// numbered, so that nobody compares text while placing pods.
pub(super) struct Keys {
    names: Vec<Text>,
    values: Vec<BTreeMap<Text, u32>>,
    /// How many numbers have been given, for each key.
    given: Vec<u32>,
}

/// Where a node is, for each key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Domains(Box<[u32]>);

/// The node does not have the label.
const NOWHERE: u32 = u32::MAX;
/// The node is not there yet and will be alone in its domain.
pub(super) const OWN: u32 = u32::MAX - 1;
/// The node is not there yet and may come to be in one of several domains.
const UNSURE: u32 = u32::MAX - 2;

impl Keys {
    pub(super) fn of<'a>(shapes: impl IntoIterator<Item = &'a PodShape>) -> Self {
        let mut names = BTreeSet::new();
        for shape in shapes {
            let spread = shape.spread.iter().map(|constraint| &constraint.topology_key);
            let terms = shape.pod_affinity.iter().chain(&shape.pod_anti_affinity);
            let wishes = shape.pod_preferences.iter().chain(&shape.pod_aversions).map(|wish| &wish.wish);
            names.extend(spread.chain(terms.chain(wishes).map(|term| &term.topology_key)));
        }
        let names: Vec<Text> = names.into_iter().cloned().collect();
        let (values, given) = (names.iter().map(|_| BTreeMap::new()).collect(), vec![0; names.len()]);
        Self { names, values, given }
    }

    pub(super) fn number(&self, key: &Text) -> Option<usize> {
        self.names.binary_search(key).ok()
    }

    pub(super) fn name(&self, key: usize) -> Option<&Text> {
        self.names.get(key)
    }

    /// Whether each node is a domain of its own.
    pub(super) fn is_host(&self, key: usize) -> bool {
        self.names.get(key).is_some_and(|name| &**name == well_known::HOSTNAME)
    }

    /// The domains of a node that is there.
    pub(super) fn locate(&mut self, labels: &Labels) -> Domains {
        let numbered = self.names.iter().zip(&mut self.values).zip(&mut self.given);
        let domains = numbered.map(|((name, values), given)| {
            let Some(value) = labels.get(name) else { return NOWHERE };
            *values.entry(value.clone()).or_insert_with(|| {
                *given += 1;
                *given - 1
            })
        });
        Domains(domains.collect())
    }

    /// The domains of a node that is on its way and will have one of these sets of labels. Its host is one that nobody
    /// has seen.
    pub(super) fn locate_arriving(&mut self, variants: &[Labels]) -> Domains {
        let mut domains = self.locate_any(variants, Self::locate_planned);
        for (domain, given) in domains.0.iter_mut().zip(&mut self.given).filter(|(domain, _)| **domain == OWN)
        {
            *domain = *given;
            *given += 1;
        }
        domains
    }

    /// The domains of a node that will have one of these sets of labels, as far as it is the same for all of them.
    pub(super) fn locate_any(
        &mut self,
        variants: &[Labels],
        locate: impl Fn(&mut Self, &Labels) -> Domains,
    ) -> Domains {
        let mut located = variants.iter().map(|labels| locate(self, labels));
        let Some(mut domains) = located.next() else { return Domains(Box::default()) };
        located.for_each(|other| domains.blur(&other));
        domains
    }

    /// The domains that nodes have that could be launched.
    pub(super) fn locate_planned(&mut self, labels: &Labels) -> Domains {
        let mut domains = self.locate(labels);
        for (name, domain) in self.names.iter().zip(&mut domains.0) {
            if &**name == well_known::HOSTNAME {
                *domain = OWN;
            }
        }
        domains
    }

    /// The domains of the plan's launch of this number.
    pub(super) fn of_launch(&self, planned: &Domains, number: usize) -> Domains {
        let number = u32::try_from(number).unwrap_or(u32::MAX / 2);
        let own = |(domain, given): (&u32, &u32)| {
            if *domain == OWN { given.saturating_add(number) } else { *domain }
        };
        Domains(planned.0.iter().zip(&self.given).map(own).collect())
    }
}

impl Domains {
    /// Where the node is by this key; none if it does not have the label.
    pub(super) fn get(&self, key: usize) -> Option<u32> {
        self.0.get(key).copied().filter(|domain| !matches!(*domain, NOWHERE | UNSURE))
    }

    /// Where a node is that may be in these domains or in the others.
    pub(super) fn blur(&mut self, others: &Self) {
        for (domain, _) in self.0.iter_mut().zip(&others.0).filter(|(one, other)| **one != **other) {
            *domain = UNSURE;
        }
    }

    /// Whether it is not known yet where the node will be by this key.
    pub(super) fn is_unsure(&self, key: usize) -> bool {
        self.0.get(key) == Some(&UNSURE)
    }
}

#[cfg(test)]
mod tests {
    use super::Keys;
    use crate::model::{AffinityTerm, Labels, Namespaces, PodShape, Selector, well_known};

    fn away_by(key: &str) -> PodShape {
        let term = AffinityTerm {
            topology_key: key.into(),
            selector: Selector::Nothing,
            namespaces: Namespaces::default(),
        };
        PodShape { pod_anti_affinity: vec![term], ..PodShape::default() }
    }

    #[test]
    fn nodes_with_the_same_value_are_in_the_same_place_and_those_without_the_label_nowhere() {
        let mut keys = Keys::of(&[away_by(well_known::ZONE)]);
        let zone = |name: &str| Labels::new().with(well_known::ZONE, name);
        let (a, b) = (keys.locate(&zone("a")), keys.locate(&zone("b")));
        assert_eq!(a, keys.locate(&zone("a")));
        assert_ne!(a, b);
        assert_eq!(keys.locate(&Labels::new()).get(0), None);
    }

    #[test]
    fn a_node_that_may_come_to_be_in_several_places_is_in_none_for_sure() {
        let mut keys = Keys::of(&[away_by(well_known::ZONE)]);
        let zones = ["a", "b"].map(|zone| Labels::new().with(well_known::ZONE, zone));
        let (one, any) = (keys.locate_arriving(&zones[..1]), keys.locate_arriving(&zones));
        assert!(one.get(0).is_some() && !one.is_unsure(0));
        assert!(any.get(0).is_none() && any.is_unsure(0));
    }

    #[test]
    fn every_node_that_is_not_there_yet_is_a_host_of_its_own() {
        let mut keys = Keys::of(&[away_by(well_known::HOSTNAME)]);
        let there = keys.locate(&Labels::new().with(well_known::HOSTNAME, "n1"));
        let arriving = keys.locate_arriving(&[Labels::new().with(well_known::HOSTNAME, "not known")]);
        let planned = keys.locate_planned(&Labels::new());
        let (first, second) = (keys.of_launch(&planned, 0), keys.of_launch(&planned, 1));
        let mut all = vec![there.get(0), arriving.get(0), first.get(0), second.get(0)];
        all.dedup();
        assert_eq!(all.len(), 4);
    }
}
