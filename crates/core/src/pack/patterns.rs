//! The best mix of patterns. A pattern is a filling of one node; there are far too many to list, so the program starts
//! with a few and asks at the prices of its mix for patterns that would make it cheaper, until there are none.

use super::budget::Budget;
use super::certificate::Certificate;
use super::cover::{Column, Cover, needs};
use super::limits::Limit;
use super::model::{Fill, Model};
use super::number::float;
use super::pricing::{Offered, Pricing};
use super::solution::{Node, Solution};
use super::stock::Stock;

/// A filling of a machine.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) machine: usize,
    pub(super) fill: Fill,
}

/// The program and what is known from it.
pub(super) struct Patterns<'m> {
    model: &'m Model,
    pub(super) known: Vec<Pattern>,
    pub(super) cover: Cover,
    limits: Vec<Limit>,
    pricing: Pricing<'m>,
    /// The best proof so far.
    pub(super) certificate: Certificate,
    /// What no mix weighs less than by that proof.
    bound: f64,
    /// How much the prices of the best proof count against those of the mix.
    calm: f64,
    pub(super) rounds: usize,
}

/// The mix is good enough when no other can be cheaper by more than this part.
const CLOSE: f64 = 2e-4;
/// The steps in which the best filling of one machine is searched for, at first and when nothing else is found.
const GLANCE: usize = 1_000;
const STARE: usize = 20_000;
/// How much the prices of the best proof count against those of the mix. Prices of an unfinished mix swing wildly, and
/// patterns found at them are of little use.
const CALM: f64 = 0.6;

impl<'m> Patterns<'m> {
    /// Starts with the patterns of an answer and for each item with the machine that is cheapest for it alone.
    pub(super) fn new(model: &'m Model, solution: &Solution, certificate: Certificate) -> Self {
        let mut patterns: Vec<Pattern> = Vec::new();
        patterns.extend(
            solution.nodes.iter().map(|node| Pattern { machine: node.machine, fill: node.fill.clone() }),
        );
        for item in 0..model.items.len() {
            let price =
                |machine: usize| float(model.machines[machine].weight) / float(model.most(machine, item));
            let machines = (0..model.machines.len()).filter(|machine| model.most(*machine, item) > 0);
            if let Some(machine) = machines.min_by(|a, b| price(*a).total_cmp(&price(*b))) {
                patterns.push(Pattern { machine, fill: vec![(item, model.most(machine, item))] });
            }
        }
        let bound = certificate.least_weight(model, &model.counts());
        let cover = program(model, &patterns, &[], &model.counts(), &Stock::new(model));
        let pricing = Pricing::new(model);
        Self {
            model,
            known: patterns,
            cover,
            limits: Vec::new(),
            pricing,
            certificate,
            bound,
            rounds: 0,
            calm: CALM,
        }
    }

    /// Looks for better patterns until there are none or the budget is down to a part.
    pub(super) fn improve(&mut self, budget: &mut dyn Budget, until: f64) {
        let steps = 50 * (self.model.items.len() + 10);
        self.cover.optimise(steps, || budget.left() > until);
        while budget.left() > until {
            if !self.round() && !self.add_limits() {
                break;
            }
            self.cover.optimise(steps, || budget.left() > until);
        }
    }

    /// One look for patterns. Says whether to go on.
    fn round(&mut self) -> bool {
        self.rounds += 1;
        if self.bound >= self.cover.cost() * (1.0 - CLOSE) {
            return false;
        }
        let prices = self.cover.prices()[..self.model.items.len()].to_vec();
        let calm: Vec<f64> = prices
            .iter()
            .zip(&self.certificate.values)
            .enumerate()
            .map(|(item, (price, value))| {
                let value = value - self.model.credit_of_item(item);
                self.calm * value + (1.0 - self.calm) * price
            })
            .collect();
        let before = self.bound;
        let added = self.look(&calm, GLANCE);
        self.calm = if self.bound > before { CALM } else { self.calm * 0.8 };
        if added == 0 && self.bound < before + CLOSE * before {
            return self.look(&prices, GLANCE) > 0 || self.look(&prices, STARE) > 0;
        }
        true
    }

    /// Looks for patterns at some prices and adds those that help. Says how many.
    fn look(&mut self, prices: &[f64], steps: usize) -> usize {
        let fees: Vec<f64> = (0..self.model.machines.len()).map(|machine| self.fee(machine)).collect();
        let Offered { found, tops } = self.pricing.look(prices, &fees, steps);
        let certificate = Certificate::new(self.model, prices.to_vec(), &tops);
        let bound = certificate.least_weight(self.model, &self.model.counts());
        if bound > self.bound {
            (self.bound, self.certificate) = (bound, certificate);
        }
        let mut added = 0;
        for pattern in found {
            let column = column(self.model, &pattern, &self.limits);
            if self.cover.would_save(&column) {
                self.cover.add(column);
                self.known.push(pattern);
                added += 1;
            }
        }
        added
    }

    /// What a node of a machine costs beyond its price because limits are scarce.
    fn fee(&self, machine: usize) -> f64 {
        let rows = self.limits.iter().zip(&self.cover.prices()[self.model.items.len()..]);
        rows.map(|(limit, price)| price.max(0.0) * limit.used_by(self.model, machine)).sum()
    }

    /// Turns the limits that the mix breaks into rows. Says whether there were any.
    fn add_limits(&mut self) -> bool {
        let mut nodes = vec![0.0; self.model.machines.len()];
        for (pattern, level) in self.cover.mix() {
            nodes[self.known[pattern].machine] += level;
        }
        let broken = Limit::broken(self.model, &nodes);
        let fresh: Vec<Limit> = broken.into_iter().filter(|limit| !self.limits.contains(limit)).collect();
        if fresh.is_empty() {
            return false;
        }
        self.limits.extend(fresh);
        let counts = self.model.counts();
        self.cover = program(self.model, &self.known, &self.limits, &counts, &Stock::new(self.model));
        true
    }

    /// What is needed for pods that are left, within what is left of the stock.
    pub(super) fn needs(&self, left: &[u64], stock: &Stock<'_>) -> Vec<f64> {
        let mut needs = needs(left);
        needs.extend(self.limits.iter().map(|limit| -limit.left(self.model, stock)));
        needs
    }

    /// The mix as nodes of which only the whole ones are taken, and the patterns of which parts are left.
    pub(super) fn whole(&self) -> Vec<Node> {
        let whole = self.cover.mix().map(|(pattern, level)| (pattern, super::number::whole(level + 1e-4)));
        let whole = whole.filter(|(_, repeat)| *repeat > 0);
        let node = |(pattern, repeat): (usize, u64)| {
            let Pattern { machine, fill } = self.known[pattern].clone();
            Node { machine, fill, repeat }
        };
        whole.map(node).collect()
    }
}

fn program(model: &Model, patterns: &[Pattern], limits: &[Limit], left: &[u64], stock: &Stock<'_>) -> Cover {
    let mut needs = needs(left);
    needs.extend(limits.iter().map(|limit| -limit.left(model, stock)));
    let dearest = model.machines.iter().map(|machine| machine.weight).max().unwrap_or(1);
    let mut cover = Cover::new(needs, 10.0 * float(dearest));
    for pattern in patterns {
        cover.add(column(model, pattern, limits));
    }
    cover
}

fn column(model: &Model, pattern: &Pattern, limits: &[Limit]) -> Column {
    let mut gives: Vec<(usize, f64)> =
        pattern.fill.iter().map(|(item, count)| (*item, float(*count))).collect();
    let used = limits.iter().enumerate();
    let used = used.map(|(row, limit)| (model.items.len() + row, -limit.used_by(model, pattern.machine)));
    gives.extend(used.filter(|(_, used)| *used != 0.0));
    Column { cost: float(model.machines[pattern.machine].weight), gives }
}
