use std::collections::BTreeSet;

use super::admission::suits;
use super::keys::Keys;
use super::rules::Rule;
use crate::Text;
use crate::model::{
    AffinityTerm, Labels, Pod, PodShape, Requirements, Selector, SpreadConstraint, Taint, Toleration,
    Weighted, tolerates_all,
};

/// The pods of one tally.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Crowd<'a> {
    pub(super) key: usize,
    pub(super) who: Who<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who<'a> {
    /// Those that a spread constraint counts, on the nodes that it looks at.
    Spread { namespace: &'a Text, selector: &'a Selector, sight: Sight<'a> },
    /// Those that all the terms mean: kube-scheduler wants each pod that another is to be with to meet all its terms.
    Company(&'a [AffinityTerm]),
    /// Those that a term means.
    Meant(&'a AffinityTerm),
    /// Those that must be away from what a term means.
    Shy(&'a AffinityTerm),
}

/// Which nodes a spread constraint looks at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sight<'a> {
    affinity: Option<(&'a Labels, &'a [Requirements])>,
    tolerations: Option<&'a [Toleration]>,
    /// Nodes count only where they have the labels of all the pod's constraints of the kind.
    labelled: BTreeSet<&'a Text>,
}

impl<'a> Sight<'a> {
    fn of(constraint: &SpreadConstraint, shape: &'a PodShape) -> Self {
        let affinity = (&shape.node_selector, shape.node_affinity.as_slice());
        let of_the_kind = shape.spread.iter().filter(|other| other.required == constraint.required);
        Self {
            affinity: constraint.honors_node_affinity.then_some(affinity),
            tolerations: constraint.honors_taints.then_some(&shape.tolerations),
            labelled: of_the_kind.map(|other| &other.topology_key).collect(),
        }
    }

    pub(super) fn includes(&self, labels: &Labels, taints: &[&Taint]) -> bool {
        self.labelled.iter().all(|key| labels.get(key).is_some())
            && self.affinity.is_none_or(|(selector, terms)| suits(selector, terms, labels))
            && self.tolerations.is_none_or(|own| tolerates_all(own, taints.iter().copied()).is_ok())
    }
}

impl<'a> Crowd<'a> {
    pub(super) fn at(keys: &Keys, key: &Text, who: Who<'a>) -> Option<Self> {
        Some(Self { key: keys.number(key)?, who })
    }

    /// Which nodes count; all do where it is not said.
    pub(super) fn sight(&self) -> Option<&Sight<'a>> {
        match &self.who {
            Who::Spread { sight, .. } => Some(sight),
            Who::Company(_) | Who::Meant(_) | Who::Shy(_) => None,
        }
    }
}

/// What a pod asks of the pods that it has to do with.
pub(super) enum Demand<'a> {
    Spread(&'a SpreadConstraint),
    With,
    Away,
}

impl Demand<'_> {
    pub(super) fn rule(self, tally: usize, own: bool) -> Rule {
        match self {
            Self::Spread(constraint) => Rule::Spread {
                tally,
                max_skew: constraint.max_skew,
                min_domains: constraint.min_domains.unwrap_or(1),
                own,
            },
            Self::With => Rule::With { tally, own },
            Self::Away => Rule::Away { tally, own },
        }
    }
}

/// The crowds that a pod has to do with, and what it demands of them itself.
pub(super) fn demands<'a>(
    keys: &Keys,
    pod: &'a Pod,
) -> impl Iterator<Item = (Crowd<'a>, Option<Demand<'a>>)> {
    let shape = &pod.shape;
    let required = shape.spread.iter().filter(|constraint| constraint.required);
    let spread = required.map(|each| (&each.topology_key, spread(each, pod), Some(Demand::Spread(each))));
    let with = shape
        .pod_affinity
        .iter()
        .map(|term| (&term.topology_key, Who::Company(shape.pod_affinity.as_slice()), Some(Demand::With)));
    let terms = || shape.pod_anti_affinity.iter();
    let away = terms().map(|term| (&term.topology_key, Who::Meant(term), Some(Demand::Away)));
    let shy = terms().map(|term| (&term.topology_key, Who::Shy(term), None));
    let all = spread.chain(with).chain(away).chain(shy);
    all.filter_map(|(key, who, demand)| Some((Crowd::at(keys, key, who)?, demand)))
}

/// The crowds that a pod would rather be spread among, be with or away from, and how much that counts. What it would
/// rather share a node with is left out: no machine is got for that.
pub(super) fn desires<'a>(keys: &Keys, pod: &'a Pod) -> impl Iterator<Item = (Crowd<'a>, i32, Demand<'a>)> {
    let shape = &pod.shape;
    let soft = shape.spread.iter().filter(|constraint| !constraint.required);
    let spread = soft.map(|each| (&each.topology_key, spread(each, pod), 0, Demand::Spread(each)));
    let with = shape.pod_preferences.iter().map(|Weighted { weight, wish }| {
        (&wish.topology_key, Who::Company(std::slice::from_ref(wish)), *weight, Demand::With)
    });
    let away = shape
        .pod_aversions
        .iter()
        .map(|Weighted { weight, wish }| (&wish.topology_key, Who::Meant(wish), *weight, Demand::Away));
    spread.chain(with).chain(away).filter_map(|(key, who, weight, demand)| {
        let crowd = Crowd::at(keys, key, who)?;
        (!keys.is_host(crowd.key)).then_some((crowd, weight, demand))
    })
}

fn spread<'a>(constraint: &'a SpreadConstraint, pod: &'a Pod) -> Who<'a> {
    Who::Spread {
        namespace: &pod.id.namespace,
        selector: &constraint.selector,
        sight: Sight::of(constraint, &pod.shape),
    }
}
