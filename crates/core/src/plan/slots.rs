use std::collections::{BTreeMap, BTreeSet};

use super::class::Class;
use super::rules::{Relations, Rule};
use super::scene::Scene;
use super::split::Parcel;

/// The room for pods that cannot share a node with others of their kind. It is more than a node can have pods.
const WHOLE_NODE: i64 = 1 << 20;

/// What there is only so much of on every node: ports, and room for pods that do not share a node with each other.
pub(super) struct Slots {
    /// By dimension.
    ports: BTreeMap<usize, usize>,
    /// By tally, for pods that are away from each other.
    apart: BTreeMap<usize, usize>,
    /// By tally and skew, for pods that are spread over nodes.
    spread: BTreeMap<(usize, u32), usize>,
    sizes: Vec<i64>,
    /// The rules that others on the node could break.
    shunning: BTreeMap<Rule, usize>,
}

impl Slots {
    pub(super) fn of(scene: &Scene<'_, '_>, parcels: &[Parcel]) -> Self {
        let mut slots = Self {
            ports: BTreeMap::new(),
            apart: BTreeMap::new(),
            spread: BTreeMap::new(),
            sizes: Vec::new(),
            shunning: BTreeMap::new(),
        };
        let resources: BTreeSet<usize> = scene.dimensions.resources().map(|(number, _)| number).collect();
        for class in parcels.iter().filter_map(|parcel| scene.classes.get(parcel.class)) {
            for (dimension, _) in class.request.iter().filter(|(number, _)| !resources.contains(number)) {
                let size = scene.dimensions.bare(dimension);
                let sizes = &mut slots.sizes;
                slots.ports.entry(dimension).or_insert_with(|| next(sizes, size));
            }
            for rule in class.relations.rules.iter().filter(|rule| scene.is_of_one_node(rule)) {
                if matches!(rule, Rule::Away { own: false, .. } | Rule::Spread { .. }) {
                    let next = slots.shunning.len();
                    slots.shunning.entry(rule.clone()).or_insert(next);
                }
                let sizes = &mut slots.sizes;
                match rule {
                    Rule::Away { tally, own: true } => {
                        slots.apart.entry(*tally).or_insert_with(|| next(sizes, WHOLE_NODE));
                    }
                    Rule::Spread { tally, max_skew, own: true, .. } => {
                        let size = i64::from(*max_skew);
                        slots.spread.entry((*tally, *max_skew)).or_insert_with(|| next(sizes, size));
                    }
                    _ => {}
                }
            }
        }
        slots
    }

    pub(super) fn sizes(self) -> Vec<i64> {
        self.sizes
    }

    /// The rules that pods of a class could break by being on a node: those about pods that they are, unless it is their
    /// own rule, which bounds how many of them share a node.
    pub(super) fn breaks(&self, class: &Class) -> Vec<usize> {
        let Relations { rules, counted_in, .. } = &*class.relations;
        let broken = self.shunning.iter().filter(|(rule, _)| {
            let own = matches!(rule, Rule::Spread { .. }) && rules.contains(rule);
            counted_in.contains(&rule.tally()) && !own
        });
        broken.map(|(_, number)| *number).collect()
    }

    /// The rules of a class that others on its node could break.
    pub(super) fn minds(&self, class: &Class) -> Vec<usize> {
        class.relations.rules.iter().filter_map(|rule| self.shunning.get(rule).copied()).collect()
    }

    /// What a pod of a class takes of each slot.
    pub(super) fn taken_by(&self, class: &Class) -> Vec<(usize, i64)> {
        let ports = class.request.iter();
        let ports = ports.filter_map(|(dimension, amount)| Some((*self.ports.get(&dimension)?, amount)));
        let rules = &class.relations.rules;
        let apart = class.relations.counted_in.iter().filter_map(|tally| {
            let whole = rules.contains(&Rule::Away { tally: *tally, own: true });
            Some((*self.apart.get(tally)?, if whole { WHOLE_NODE } else { 1 }))
        });
        let spread = rules.iter().filter_map(|rule| match rule {
            Rule::Spread { tally, max_skew, own: true, .. } => {
                Some((*self.spread.get(&(*tally, *max_skew))?, 1))
            }
            _ => None,
        });
        ports.chain(apart).chain(spread).collect()
    }
}

fn next(sizes: &mut Vec<i64>, size: i64) -> usize {
    sizes.push(size);
    sizes.len() - 1
}
