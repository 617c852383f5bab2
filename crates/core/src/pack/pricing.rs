use super::filler::Filler;
use super::model::Model;
use super::number::float;
use super::patterns::Pattern;

/// Looks for patterns that are worth more than they cost.
pub(super) struct Pricing<'m> {
    model: &'m Model,
    filler: Filler<'m>,
    wanted: Vec<usize>,
    counts: Vec<u64>,
    /// For each machine the row prices of the last look, which mostly show at once that it has nothing to offer.
    shown: Vec<Vec<f64>>,
}

/// What a look has found.
pub(super) struct Offered {
    pub(super) found: Vec<Pattern>,
    /// For each machine what no filling is worth more than.
    pub(super) tops: Vec<f64>,
}

/// The most patterns taken from one look.
const FOUND: usize = 40;
/// With more pods than this on a node rounding loses next to nothing, and a search would never end.
const FEW: f64 = 40.0;

impl<'m> Pricing<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        Self {
            model,
            filler: Filler::new(model),
            wanted: (0..model.items.len()).collect(),
            counts: model.counts(),
            shown: vec![vec![0.0; model.rows]; model.machines.len()],
        }
    }

    /// Looks at all machines, at the given prices of items and with a fee on each machine. The search for one machine's
    /// best filling takes at most so many steps.
    pub(super) fn look(&mut self, prices: &[f64], fees: &[f64], steps: usize) -> Offered {
        let mut found: Vec<(f64, Pattern)> = Vec::new();
        let mut tops = vec![0.0; self.model.machines.len()];
        for machine in 0..self.model.machines.len() {
            let price = float(self.model.machines[machine].weight) + fees[machine];
            let (best, top) = self.ask(machine, prices, price, steps);
            tops[machine] = top;
            found.extend(best.map(|(worth, pattern)| (worth / price, pattern)));
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.machine.cmp(&b.1.machine)));
        found.truncate(FOUND);
        Offered { found: found.into_iter().map(|(_, pattern)| pattern).collect(), tops }
    }

    fn ask(
        &mut self,
        machine: usize,
        prices: &[f64],
        price: f64,
        steps: usize,
    ) -> (Option<(f64, Pattern)>, f64) {
        let relaxed = &mut self.filler.relaxed;
        relaxed.choose(machine, &self.wanted, prices, &self.counts);
        let shown = relaxed.bound_at(&self.shown[machine]);
        if shown <= price {
            return (None, shown);
        }
        relaxed.solve();
        self.shown[machine].clone_from(&relaxed.prices);
        let top = relaxed.bound;
        if top <= price {
            return (None, top);
        }
        let floor = price * (1.0 + 1e-7);
        let rounded = self.filler.round(machine);
        let worth = rounded.worth;
        let rounded = (worth > floor).then_some(rounded);
        let (mut best, mut top) = (rounded, top);
        if self.filler.relaxed.taken.iter().sum::<f64>() <= FEW {
            let (better, proven) = self.filler.beat(machine, worth.max(floor), steps);
            (best, top) = (better.or(best), proven);
        }
        (best.map(|filling| (filling.worth, Pattern { machine, fill: filling.fill })), top)
    }
}
