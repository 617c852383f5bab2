use super::model::{Draw, Model};
use super::number::{amount, float, whole};

/// A proof that pods cannot be placed for less: a value for each pod such that no filling of any machine is worth more
/// than the machine costs. Then the pods that are placed cost at least what they are worth.
#[derive(Clone, Debug)]
pub(super) struct Certificate {
    pub(super) values: Vec<f64>,
    /// What the machines of which there are only so many save at most.
    savings: f64,
}

/// Keeps the proof safe from rounding errors.
const CAUTION: f64 = 1.0 - 1e-9;

impl Certificate {
    /// `tops` says for each machine what no filling of it is worth more than at the given values. Where that is more
    /// than the machine costs, the values are lowered until it is not; or, where there are only so many of the machine,
    /// all of them are counted as bargains. Limits of pools are not used, which makes the bound lower but not wrong.
    pub(super) fn new(model: &Model, mut values: Vec<f64>, tops: &[f64]) -> Self {
        for (machine, of) in model.machines.iter().enumerate() {
            if of.available == u64::MAX && model.base(machine) <= 0.0 {
                for (item, value) in values.iter_mut().enumerate() {
                    if model.most(machine, item) > 0 {
                        *value = 0.0;
                    }
                }
            }
        }
        let lowered = Self::lowered(model, &values, tops, true);
        let saving = Self::lowered(model, &values, tops, false);
        let counts = model.counts();
        if saving.worth(&counts) > lowered.worth(&counts) { saving } else { lowered }
    }

    fn lowered(model: &Model, values: &[f64], tops: &[f64], all: bool) -> Self {
        let mut factors = vec![1.0_f64; model.parts];
        for (machine, of) in model.machines.iter().enumerate() {
            let (base, endless) = (model.base(machine), of.available == u64::MAX);
            let binding = if endless { base > 0.0 } else { all };
            if let Some(factor) = factors.get_mut(model.part_of_machine[machine])
                && binding
                && tops[machine] * *factor > base
            {
                *factor = base / tops[machine] * CAUTION;
            }
        }
        let saves = |machine: usize| {
            let factor = factors.get(model.part_of_machine[machine]).copied().unwrap_or(0.0);
            (tops[machine] * factor - model.base(machine)).max(0.0)
        };
        let limited = || model.machines.iter().enumerate().filter(|(_, of)| of.available != u64::MAX);
        let alone = limited().filter(|(_, of)| of.draw.is_none());
        let alone = alone.map(|(machine, of)| saves(machine) * float(of.available));
        let bargains = limited().filter_map(|(machine, of)| {
            Some(Bargain { saves: saves(machine), available: of.available, draw: of.draw.as_ref()? })
        });
        let bargains: Vec<Bargain<'_>> = bargains.filter(|bargain| bargain.saves > 0.0).collect();
        let stored = (0..model.stores.len()).map(|store| saved_by_store(model, store, &bargains));
        let savings = alone.sum::<f64>() + stored.sum::<f64>();
        let values = values.iter().zip(&model.part_of_item).enumerate();
        let values =
            values.map(|(item, (value, part))| value.max(0.0) * factors[*part] + model.credit_of_item(item));
        Self { savings, values: values.collect() }
    }

    fn worth(&self, counts: &[u64]) -> f64 {
        let worth = self.values.iter().zip(counts).map(|(value, count)| value * float(*count));
        worth.sum::<f64>() - self.savings
    }

    /// No way to place so many pods of each item weighs less: what the search minimises is less than what is paid by what
    /// the pods take of the credit.
    pub(super) fn least_weight(&self, model: &Model, counts: &[u64]) -> f64 {
        let taken = counts.iter().enumerate().map(|(item, count)| model.credit_of_item(item) * float(*count));
        ((self.worth(counts) - taken.sum::<f64>()) * CAUTION).max(0.0)
    }

    /// No way to place so many pods of each item costs less.
    pub(super) fn bound(&self, counts: &[u64]) -> u64 {
        whole(self.worth(counts) * CAUTION)
    }
}

/// A machine that is worth more than it costs, and of which a store has only so many.
struct Bargain<'m> {
    saves: f64,
    available: u64,
    draw: &'m Draw,
}

/// What the machines that draw on a store save together at most: what they would if only one of its amounts were scarce,
/// the one that lets them save least.
fn saved_by_store(model: &Model, store: usize, bargains: &[Bargain<'_>]) -> f64 {
    let drawing = || bargains.iter().filter(|bargain| bargain.draw.store == store);
    let saved = model.stores[store].iter().enumerate().map(|(dim, left)| {
        // What each takes to save a dollar, which is the order to have them in, and what all of it save and take.
        let mut all: Vec<(f64, f64, f64)> = drawing()
            .map(|Bargain { saves, available, draw }| {
                let (takes, nodes) = (amount(draw.takes[dim]), float(*available));
                (takes / saves, saves * nodes, takes * nodes)
            })
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut left, mut saved) = (amount(*left.max(&0)), 0.0);
        for (_, saves, takes) in all {
            let part = if takes > left { left / takes } else { 1.0 };
            saved += saves * part;
            left -= takes * part;
        }
        saved
    });
    saved.reduce(f64::min).unwrap_or(0.0)
}
