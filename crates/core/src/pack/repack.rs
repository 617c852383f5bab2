//! Takes out the nodes that give least for their money, packs their pods anew, and keeps what is cheaper.

use super::budget::Budget;
use super::greedy::Greedy;
use super::model::Model;
use super::number::float;
use super::solution::{Node, Solution, weight};
use super::stock::Stock;
use crate::dice::Dice;

/// An answer that is being improved.
pub(super) struct Repack<'m> {
    model: &'m Model,
    greedy: Greedy<'m>,
    stock: Stock<'m>,
    pub(super) solution: Solution,
    values: Vec<f64>,
    dice: Dice,
    pub(super) tries: usize,
    pub(super) improvements: usize,
}

/// The most nodes taken out at once.
const OUT: usize = 6;
/// The most machines tried for one filling.
const MACHINES: usize = 16;
/// It ends when the answer can be no more than this part above the least weight.
const ENOUGH: f64 = 1.0 / 2000.0;
/// Nodes among which the worst is chosen.
const RIVALS: usize = 3;

impl<'m> Repack<'m> {
    pub(super) fn new(model: &'m Model, solution: Solution, values: Vec<f64>) -> Self {
        let stock = solution.stock(model);
        let greedy = Greedy::new(model);
        Self { model, greedy, stock, solution, values, dice: Dice::new(), tries: 0, improvements: 0 }
    }

    /// Goes on until the budget is spent or nothing can weigh less.
    pub(super) fn run(&mut self, budget: &mut dyn Budget, least: f64) {
        let mut total = self.solution.weight(self.model);
        while budget.left() > 0.0 && !self.solution.nodes.is_empty() {
            if self.solution.left_over() == 0 && float(total) * (1.0 - ENOUGH) <= least {
                break;
            }
            self.tries += 1;
            let out = self.take_out();
            total -= weight(self.model, &out);
            let nodes = self.pack_anew(out);
            total += weight(self.model, &nodes);
            self.solution.nodes.extend(nodes);
            if self.tries.is_multiple_of(64) {
                self.solution.join();
            }
        }
        self.solution.join();
    }

    /// Takes out a few nodes, bad ones rather than good ones.
    fn take_out(&mut self) -> Vec<Node> {
        let count = 1 + self.dice.below(OUT);
        let mut out: Vec<Node> = Vec::with_capacity(count);
        for _ in 0..count {
            let nodes = self.solution.nodes.len();
            if nodes == 0 {
                break;
            }
            let rivals = (0..RIVALS).map(|_| self.dice.below(nodes)).collect::<Vec<_>>();
            let waste = |index: &usize| self.waste(&self.solution.nodes[*index]);
            let worst = rivals.into_iter().max_by(|a, b| waste(a).total_cmp(&waste(b)));
            let Some(worst) = worst else {
                break;
            };
            let node = &mut self.solution.nodes[worst];
            out.push(Node { repeat: 1, ..node.clone() });
            node.repeat -= 1;
            if node.repeat == 0 {
                self.solution.nodes.swap_remove(worst);
            }
        }
        out
    }

    /// The part of a node's price that its pods are not worth.
    fn waste(&self, node: &Node) -> f64 {
        let worth: f64 = node.fill.iter().map(|(item, count)| self.values[*item] * float(*count)).sum();
        float(self.model.machines[node.machine].weight) - worth
    }

    /// The nodes to have instead of those taken out, which may be the same.
    fn pack_anew(&mut self, out: Vec<Node>) -> Vec<Node> {
        let before = self.solution.left.clone();
        for node in &out {
            self.stock.give_back(node.machine, node.repeat);
            for (item, count) in &node.fill {
                self.solution.left[*item] += count * node.repeat;
            }
        }
        let weighed = weight(self.model, &out);
        let had = (before.iter().sum::<u64>(), weighed);
        // Which machines are cut from a store decides how many pods it serves, so it may take dearer ones to serve more.
        let stranded = had.0 > 0 && !self.model.stores.is_empty();
        let (limit, swing) = if stranded { (u64::MAX, 0.9) } else { (weighed, 0.2) };
        let values: Vec<f64> =
            self.values.iter().map(|value| value * (1.0 + swing * self.dice.swing())).collect();
        let machines = if stranded { self.any_machines() } else { self.some_machines(&out, limit) };
        let nodes = self.greedy.pack(&machines, &values, &mut self.solution.left, &mut self.stock, limit);
        let outcome = (self.solution.left_over(), weight(self.model, &nodes));
        if outcome <= had {
            self.improvements += usize::from(outcome < had);
            return nodes;
        }
        for node in &nodes {
            self.stock.give_back(node.machine, node.repeat);
        }
        for node in &out {
            self.stock.take(node.machine, node.repeat);
        }
        self.solution.left = before;
        out
    }

    /// Machines at random, whatever they cost.
    fn any_machines(&mut self) -> Vec<usize> {
        let most = 1 + self.dice.below(MACHINES);
        let mut all: Vec<usize> = (0..self.model.machines.len()).collect();
        while all.len() > most {
            let index = self.dice.below(all.len());
            all.swap_remove(index);
        }
        all.sort_unstable();
        all
    }

    /// The machines of what was taken out, and others that do not cost more than all of it.
    fn some_machines(&mut self, out: &[Node], limit: u64) -> Vec<usize> {
        let mut machines: Vec<usize> = out.iter().map(|node| node.machine).collect();
        let mut others: Vec<usize> = (0..self.model.machines.len())
            .filter(|machine| self.model.machines[*machine].weight <= limit)
            .collect();
        while machines.len() < MACHINES && !others.is_empty() {
            let index = self.dice.below(others.len());
            machines.push(others.swap_remove(index));
        }
        machines.sort_unstable();
        machines.dedup();
        machines
    }
}
