use super::model::{Fill, Model};
use super::stock::Stock;

/// Nodes that are filled alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Node {
    pub(super) machine: usize,
    pub(super) fill: Fill,
    pub(super) repeat: u64,
}

/// Where pods go, and which are left.
#[derive(Clone, Debug)]
pub(super) struct Solution {
    pub(super) nodes: Vec<Node>,
    pub(super) left: Vec<u64>,
}

impl Solution {
    pub(super) fn weight(&self, model: &Model) -> u64 {
        weight(model, &self.nodes)
    }

    pub(super) fn left_over(&self) -> u64 {
        self.left.iter().sum()
    }

    /// Placing more is better, then costing less.
    pub(super) fn beats(&self, other: &Self, model: &Model) -> bool {
        (self.left_over(), self.weight(model)) < (other.left_over(), other.weight(model))
    }

    /// What can still be had beside these nodes.
    pub(super) fn stock<'m>(&self, model: &'m Model) -> Stock<'m> {
        let mut stock = Stock::new(model);
        for node in &self.nodes {
            stock.take(node.machine, node.repeat);
        }
        stock
    }

    /// How many pods of each item have a place.
    pub(super) fn placed(&self, model: &Model) -> Vec<u64> {
        model.items.iter().zip(&self.left).map(|(item, left)| item.count.saturating_sub(*left)).collect()
    }

    /// Makes one of nodes that are filled alike.
    pub(super) fn join(&mut self) {
        self.nodes.sort();
        self.nodes.dedup_by(|next, kept| {
            let same = next.machine == kept.machine && next.fill == kept.fill;
            if same {
                kept.repeat += next.repeat;
            }
            same
        });
    }
}

/// What nodes weigh together.
pub(super) fn weight(model: &Model, nodes: &[Node]) -> u64 {
    let weights = nodes.iter().map(|node| model.machines[node.machine].weight.saturating_mul(node.repeat));
    weights.fold(0, u64::saturating_add)
}
