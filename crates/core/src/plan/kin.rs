use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::class::Cause;
use super::crowd::{Crowd, Sight, Who, demands, desires};
use super::keys::{Domains, Keys};
use super::rules::{Relations, Rule, SoftRule};
use super::tally::Tally;
use super::view::View;
use crate::Text;
use crate::model::{AffinityTerm, Labels, Pod, Selector, Taint};

/// The labels by which pods have to do with each other, and which do.
pub(super) fn find<'a>(view: &View<'a>, needy: &[(Cause, &'a Pod)]) -> (Keys, Kin<'a>) {
    // Shapes are shared, so one pod stands for all that have the same.
    let mut shapes = BTreeMap::new();
    for pod in view.snapshot.pods.values().filter(|pod| !pod.shape.pod_anti_affinity.is_empty()) {
        shapes.entry(Arc::as_ptr(&pod.shape)).or_insert(&**pod);
    }
    let shy: Vec<&Pod> = shapes.into_values().collect();
    let needy = || needy.iter().map(|(_, pod)| *pod);
    let keys = Keys::of(needy().chain(shy.iter().copied()).map(|pod| &*pod.shape));
    let kin = Kin::new(view, &keys, needy(), shy);
    (keys, kin)
}

/// Which pods have to do with which: who is counted in which tally, and which nodes are looked at for it.
pub(super) struct Kin<'a> {
    namespaces: &'a BTreeMap<Text, Labels>,
    /// Whether what pods would rather have counts.
    wishes: bool,
    crowds: Vec<Crowd<'a>>,
    numbers: BTreeMap<Crowd<'a>, usize>,
    /// The different sights that spread constraints have, and which each crowd has.
    sights: Vec<Sight<'a>>,
    sight_of: Vec<Option<usize>>,
    /// The crowds that pods of a namespace may belong to.
    by_namespace: BTreeMap<&'a str, ByLabel<'a>>,
    /// The crowds that pods of any namespace may belong to.
    anywhere: ByLabel<'a>,
}

/// Crowds by a label that all their pods have. Among thousands of services a pod has to do with a few, and to ask each of
/// the others whether it means the pod would take longer than all the rest of a plan.
#[derive(Default)]
struct ByLabel<'a> {
    labelled: BTreeMap<&'a Text, BTreeMap<&'a Text, Vec<usize>>>,
    /// Those whose pods need not have any one label.
    others: Vec<usize>,
}

impl<'a> ByLabel<'a> {
    fn file(&mut self, number: usize, selector: &'a Selector) {
        let Selector::Matching(requirements) = selector else { return };
        let listed = requirements.iter().filter_map(|(key, requirement)| Some((key, requirement.must_be()?)));
        match listed.min_by_key(|(_, values)| values.len()) {
            Some((key, values)) => {
                let by_value = self.labelled.entry(key).or_default();
                for value in values {
                    by_value.entry(value).or_default().push(number);
                }
            }
            None => self.others.push(number),
        }
    }

    /// The crowds that a pod with these labels may belong to.
    fn near<'s>(&'s self, labels: &'s Labels) -> impl Iterator<Item = usize> + 's {
        let labelled = self.labelled.iter().filter_map(|(key, by_value)| by_value.get(labels.get(key)?));
        labelled.flatten().chain(&self.others).copied()
    }
}

impl<'a> Kin<'a> {
    /// Finds who is to be counted for the pods that need a place, among them and those that have one.
    fn new(
        view: &View<'a>,
        keys: &Keys,
        needy: impl IntoIterator<Item = &'a Pod>,
        shy: impl IntoIterator<Item = &'a Pod>,
    ) -> Self {
        let wishes = view.snapshot.settings.respects_preferences;
        let mut crowds = BTreeSet::new();
        for pod in needy {
            crowds.extend(demands(keys, pod).map(|(crowd, _)| crowd));
            if wishes {
                crowds.extend(desires(keys, pod).map(|(crowd, ..)| crowd));
            }
        }
        let terms = shy.into_iter().flat_map(|pod| &pod.shape.pod_anti_affinity);
        crowds.extend(terms.filter_map(|term| Crowd::at(keys, &term.topology_key, Who::Shy(term))));
        // Numbered in the order of what they are, so that the names of pods do not matter.
        let crowds: Vec<Crowd<'a>> = crowds.into_iter().collect();
        let numbers = crowds.iter().cloned().enumerate().map(|(number, crowd)| (crowd, number)).collect();
        let sights: BTreeSet<&Sight<'a>> = crowds.iter().filter_map(Crowd::sight).collect();
        let sights: Vec<Sight<'a>> = sights.into_iter().cloned().collect();
        let sight_of = crowds.iter().map(|crowd| sights.binary_search(crowd.sight()?).ok()).collect();
        let mut kin = Self {
            namespaces: &view.snapshot.namespaces,
            wishes,
            crowds,
            numbers,
            sights,
            sight_of,
            by_namespace: BTreeMap::new(),
            anywhere: ByLabel::default(),
        };
        for number in 0..kin.crowds.len() {
            kin.file(number);
        }
        kin
    }

    /// Notes which pods may belong to a crowd.
    fn file(&mut self, number: usize) {
        let Some(crowd) = self.crowds.get(number) else { return };
        let term = match &crowd.who {
            Who::Spread { namespace, selector, .. } => {
                self.by_namespace.entry(namespace).or_default().file(number, selector);
                return;
            }
            Who::Meant(term) | Who::Shy(term) => *term,
            Who::Company(terms) => match terms.first() {
                Some(term) => term,
                None => return,
            },
        };
        if term.namespaces.selector == Selector::Nothing {
            for namespace in &term.namespaces.listed {
                self.by_namespace.entry(namespace).or_default().file(number, &term.selector);
            }
        } else {
            self.anywhere.file(number, &term.selector);
        }
    }

    /// Whether no pod has to do with any other.
    pub(super) fn is_empty(&self) -> bool {
        self.crowds.is_empty()
    }

    /// A tally for each crowd, with nobody in it.
    pub(super) fn tallies(&self, keys: &Keys) -> Vec<Tally> {
        self.crowds.iter().map(|crowd| Tally::by(crowd.key, keys.is_host(crowd.key))).collect()
    }

    /// In which tallies a node with these labels and taints counts.
    pub(super) fn sees(&self, labels: &Labels, taints: &[&Taint]) -> Box<[bool]> {
        let included: Vec<bool> = self.sights.iter().map(|sight| sight.includes(labels, taints)).collect();
        let seen =
            self.sight_of.iter().map(|sight| sight.is_none_or(|number| included.get(number) == Some(&true)));
        seen.collect()
    }

    /// The tallies in which pods of a namespace with these labels are meant, those of the shy aside.
    fn meant(&self, namespace: &str, labels: &Labels) -> Vec<usize> {
        let mut meant: Vec<usize> = self
            .near(namespace, labels)
            .filter(|number| match self.crowds.get(*number).map(|crowd| &crowd.who) {
                Some(Who::Spread { selector, .. }) => selector.matches(labels),
                Some(Who::Company(terms)) => terms.iter().all(|term| self.means(term, namespace, labels)),
                Some(Who::Meant(term)) => self.means(term, namespace, labels),
                Some(Who::Shy(_)) | None => false,
            })
            .collect();
        meant.sort_unstable();
        meant
    }

    fn means(&self, term: &AffinityTerm, namespace: &str, labels: &Labels) -> bool {
        term.namespaces.include(namespace, self.namespaces.get(namespace)) && term.selector.matches(labels)
    }

    /// The crowds that a pod may belong to or be shunned by.
    fn near<'s>(&'s self, namespace: &str, labels: &'s Labels) -> impl Iterator<Item = usize> + 's {
        let here = self.by_namespace.get(namespace).into_iter().flat_map(|crowds| crowds.near(labels));
        here.chain(self.anywhere.near(labels))
    }

    /// The tallies in which a pod is counted where it is.
    pub(super) fn counted_in(&self, keys: &Keys, pod: &'a Pod) -> Vec<usize> {
        let mut counted = self.meant(&pod.id.namespace, &pod.labels);
        if pod.deleting {
            // Spread constraints do not count pods that are on their way out.
            counted.retain(|number| {
                self.crowds.get(*number).is_some_and(|crowd| !matches!(crowd.who, Who::Spread { .. }))
            });
        }
        let terms = pod.shape.pod_anti_affinity.iter();
        let shy = terms.filter_map(|term| Crowd::at(keys, &term.topology_key, Who::Shy(term)));
        counted.extend(shy.filter_map(|crowd| self.numbers.get(&crowd).copied()));
        counted.sort_unstable();
        counted.dedup();
        counted
    }

    /// What a pod that needs a place has to do with others.
    pub(super) fn relations(&self, keys: &Keys, pod: &'a Pod) -> Relations {
        let counted_in = self.counted_in(keys, pod);
        let find = |crowd: &Crowd<'a>| {
            let tally = *self.numbers.get(crowd)?;
            Some((tally, counted_in.contains(&tally)))
        };
        let asked = demands(keys, pod).filter_map(|(crowd, demand)| {
            let (tally, own) = find(&crowd)?;
            demand.map(|demand| demand.rule(tally, own))
        });
        let mut rules: Vec<Rule> = asked.collect();
        for number in self.near(&pod.id.namespace, &pod.labels) {
            let Some(Crowd { who: Who::Shy(term), .. }) = self.crowds.get(number) else { continue };
            if self.means(term, &pod.id.namespace, &pod.labels) {
                rules.push(Rule::Away { tally: number, own: counted_in.contains(&number) });
            }
        }
        rules.sort_unstable();
        rules.dedup();
        let desired = desires(keys, pod).filter(|_| self.wishes).filter_map(|(crowd, weight, demand)| {
            let (tally, own) = find(&crowd)?;
            Some(SoftRule { weight, rule: demand.rule(tally, own) })
        });
        Relations { rules, wishes: desired.collect(), counted_in }
    }
}

/// Counts pods at a node.
pub(super) fn count(
    tallies: &mut [Tally],
    counted_in: &[usize],
    domains: &Domains,
    sees: &[bool],
    pods: u32,
) {
    each_seen(tallies, counted_in, sees, |tally| tally.add_pods(domains, pods));
}

/// Takes pods at a node out of the count.
pub(super) fn uncount(
    tallies: &mut [Tally],
    counted_in: &[usize],
    domains: &Domains,
    sees: &[bool],
    pods: u32,
) {
    each_seen(tallies, counted_in, sees, |tally| tally.take_pods(domains, pods));
}

/// Changes those of some tallies in which a node counts.
pub(super) fn each_seen(
    tallies: &mut [Tally],
    numbers: &[usize],
    sees: &[bool],
    mut change: impl FnMut(&mut Tally),
) {
    for number in numbers.iter().filter(|number| sees.get(**number).copied().unwrap_or(true)) {
        if let Some(tally) = tallies.get_mut(*number) {
            change(tally);
        }
    }
}
