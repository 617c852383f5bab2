//! Which machines to get for pods, and which pods go on each: near the least cost, with a proof of how near.
//!
//! Pods come in classes and machines as offers (`problem`). Alike things are merged and useless ones dropped (`model`,
//! `order`, `alike`,
//! `dominated`). What a unit of each resource is worth (`aggregate`) is enough for a first bound (`certificate`)
//! and a first answer (`greedy`), one node after another, each filled by rounding a small linear program (`filler`,
//! `relaxed`). Then patterns, that is fillings of one node, are weighed against each other (`patterns`, `cover`), with
//! better ones found by search where rounding is too coarse (`exact`), and the best mix is made whole (`dive`). At last
//! the nodes that give least for their money are packed anew as long as the budget lasts (`repack`).
//!
//! What is decided is decided in integers; floats only say what is worth trying.

mod aggregate;
mod alike;
mod answer;
mod budget;
mod certificate;
mod cover;
mod dive;
mod dominated;
mod exact;
mod filler;
mod greedy;
mod kinds;
mod limits;
mod model;
mod number;
mod offer_set;
mod order;
mod packing;
mod patterns;
mod pricing;
mod problem;
mod relaxed;
mod repack;
mod room;
mod solution;
mod stock;

pub use budget::{Budget, Steps};
pub use offer_set::OfferSet;
pub use packing::{PackedNode, Packing, Statistics};
pub use problem::{Class, Offer, Options, Pool, Problem};

use aggregate::RowValues;
use certificate::Certificate;
use greedy::Greedy;
use model::Model;
use number::float;
use patterns::Patterns;
use repack::Repack;
use solution::Solution;
use stock::Stock;

/// A good answer in milliseconds.
pub fn greedy(problem: &Problem, options: Options) -> Packing {
    let start = Start::new(problem, options);
    let solution = start.greedy();
    start.finish(problem, &solution, &start.certificate, start.statistics())
}

/// The best answer that can be found within a budget. Without any it is the greedy one.
pub fn solve(problem: &Problem, options: Options, budget: &mut dyn Budget) -> Packing {
    let start = Start::new(problem, options);
    let model = &start.model;
    let mut found = Found {
        solution: start.greedy(),
        values: search_values(&RowValues::even(model, &model.counts()).of_items(model)),
        certificate: start.certificate.clone(),
        statistics: start.statistics(),
    };
    if budget.left() > 0.0 && (1..=MANY).contains(&model.items.len()) {
        found.mix_patterns(model, budget);
    }
    found.repack(model, budget);
    start.finish(problem, &found.solution, &found.certificate, found.statistics)
}

/// With more classes than this a mix of patterns takes longer than it is worth: there is a pod for every gap, so
/// greedy answers are good, and packing nodes anew makes them better sooner.
const MANY: usize = 300;
/// What is left of the budget when the search for patterns ends, and when the mix has to be whole.
const PATTERNS_UNTIL: f64 = 0.4;
const WHOLE_UNTIL: f64 = 0.2;

/// What has been found so far.
struct Found {
    solution: Solution,
    /// What pods are worth to the search.
    values: Vec<f64>,
    certificate: Certificate,
    statistics: Statistics,
}

impl Found {
    fn mix_patterns(&mut self, model: &Model, budget: &mut dyn Budget) {
        let mut patterns = Patterns::new(model, &self.solution, self.certificate.clone());
        patterns.improve(budget, PATTERNS_UNTIL);
        self.values = search_values(&patterns.cover.prices()[..model.items.len()]);
        let whole = dive::dive(model, &mut patterns, &self.values, budget, WHOLE_UNTIL);
        if whole.beats(&self.solution, model) {
            self.solution = whole;
        }
        self.statistics.patterns = patterns.known.len();
        self.statistics.rounds = patterns.rounds;
        self.certificate = patterns.certificate;
    }

    fn repack(&mut self, model: &Model, budget: &mut dyn Budget) {
        let placed = self.solution.placed(model);
        let one = float(model.least_for_one(&placed, |machine| machine.weight));
        let bound = self.certificate.least_weight(model, &placed).max(one);
        let mut repack = Repack::new(model, self.solution.clone(), self.values.clone());
        repack.run(budget, bound);
        self.statistics.repacks = repack.tries;
        self.statistics.improvements = repack.improvements;
        self.solution = repack.solution;
    }
}

/// What every answer begins with.
struct Start {
    model: Model,
    rows: RowValues,
    certificate: Certificate,
}

impl Start {
    fn new(problem: &Problem, options: Options) -> Self {
        let mut model = Model::new(problem, options.credit_permille > 0);
        let rows = RowValues::of(&model, &model.counts());
        model.credit(|model, part| rows.without_slots(model, part), options.credit_permille);
        let certificate = rows.certificate(&model);
        Self { model, rows, certificate }
    }

    fn statistics(&self) -> Statistics {
        Statistics { offers: self.model.machines.len(), ..Statistics::default() }
    }

    fn greedy(&self) -> Solution {
        let mut left = self.model.counts();
        let mut stock = Stock::new(&self.model);
        let nodes = Greedy::new(&self.model).pack_in_stages(&mut left, &mut stock);
        Solution { nodes, left }
    }

    fn finish(
        &self,
        problem: &Problem,
        solution: &Solution,
        certificate: &Certificate,
        statistics: Statistics,
    ) -> Packing {
        let model = &self.model;
        let placed = solution.placed(model);
        let mut packing = answer::write(problem, model, solution);
        let proven = self.certificate.bound(&placed).max(certificate.bound(&placed));
        packing.lower_bound = proven.max(model.least_for_one(&placed, |machine| machine.price));
        packing.resource_values = self.rows.of_resources(model);
        packing.class_values = vec![0.0; problem.classes.len()];
        for (item, value) in model.items.iter().zip(&certificate.values) {
            for (class, _) in &item.origins {
                packing.class_values[*class] = *value;
            }
        }
        packing.statistics = statistics;
        packing
    }
}

/// Values to search with: a pod that costs nothing is still to be placed.
fn search_values(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value.max(1e-6)).collect()
}
