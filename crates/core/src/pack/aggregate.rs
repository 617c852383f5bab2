//! What a unit of each resource is worth: the cheapest mix of machines that together have what all pods together ask
//! for, as if pods could be cut into parts. A few microseconds, and never more than the true cost.

use super::certificate::Certificate;
use super::cover::{Column, Cover};
use super::model::Model;
use super::number::float;
use super::relaxed::cost;

/// How much more of one resource is needed when needs are made one-sided.
const ONE_SIDED: f64 = 1.25;

/// For each part of the model what a unit of each row is worth, so that no machine can hold more than it costs.
pub(super) struct RowValues(Vec<Vec<f64>>);

impl RowValues {
    /// For so many pods of each item.
    pub(super) fn of(model: &Model, counts: &[u64]) -> Self {
        Self((0..model.parts).map(|part| values(model, need(model, counts, part), part)).collect())
    }

    /// The mean of the values for needs that are a little more one-sided than these. Where two resources are needed in
    /// just the proportion in which machines have them, either may be worth all and the other nothing; as a proof that
    /// is good enough, but pods chosen by it use up the one and leave the other.
    pub(super) fn even(model: &Model, counts: &[u64]) -> Self {
        let part = |part: usize| {
            let mut mean = vec![0.0; model.rows];
            let resources = model.asked.len();
            for more in 0..resources {
                let mut need = need(model, counts, part);
                need[more] *= ONE_SIDED;
                let values = values(model, need, part);
                for (mean, value) in mean.iter_mut().zip(values) {
                    *mean += value / float(resources as u64);
                }
            }
            mean
        };
        Self((0..model.parts).map(part).collect())
    }

    /// What a pod of each item is worth.
    pub(super) fn of_items(&self, model: &Model) -> Vec<f64> {
        let parts = model.part_of_item.iter().enumerate();
        parts.map(|(item, part)| cost(&self.0[*part], model.ask(item))).collect()
    }

    /// What all of a machine is worth.
    pub(super) fn of_machine(&self, model: &Model, machine: usize) -> f64 {
        self.0.get(model.part_of_machine[machine]).map_or(0.0, |values| cost(values, model.size(machine)))
    }

    /// The proof that no packing is cheaper than the pods are worth.
    pub(super) fn certificate(&self, model: &Model) -> Certificate {
        let tops: Vec<f64> =
            (0..model.machines.len()).map(|machine| self.of_machine(model, machine)).collect();
        Certificate::new(model, self.of_items(model), &tops)
    }

    /// What a unit of each resource is worth where it is worth most, by the numbers that resources have in the input.
    pub(super) fn of_resources(&self, model: &Model) -> Vec<f64> {
        let resources = model.asked.iter().max().map_or(0, |last| last + 1);
        let mut values = vec![0.0; resources];
        for (row, resource) in model.asked.iter().enumerate() {
            let highest = self.0.iter().map(|part| part[row]).fold(0.0, f64::max);
            values[*resource] = highest / model.scales[row];
        }
        values
    }

    /// The values of the resources alone in one part, with nothing for slots.
    pub(super) fn without_slots(&self, model: &Model, part: usize) -> Vec<f64> {
        let mut values = self.0.get(part).cloned().unwrap_or_else(|| vec![0.0; model.rows]);
        values[model.asked.len()..].fill(0.0);
        values
    }
}

/// What pods of a part ask for together.
fn need(model: &Model, counts: &[u64], part: usize) -> Vec<f64> {
    let mut need = vec![0.0; model.rows];
    for (item, _) in model.part_of_item.iter().enumerate().filter(|(_, of)| **of == part) {
        for (need, ask) in need.iter_mut().zip(model.ask(item)) {
            *need += ask * float(counts[item]);
        }
    }
    need
}

/// What a unit of each row is worth when so much of it is needed.
fn values(model: &Model, need: Vec<f64>, part: usize) -> Vec<f64> {
    let machines = || (0..model.machines.len()).filter(|machine| model.part_of_machine[*machine] == part);
    let weight = |machine: usize| float(model.machines[machine].weight);
    let dearest = machines().flat_map(|machine| {
        model.size(machine).iter().filter(|size| **size > 0.0).map(move |size| weight(machine) / size)
    });
    let mut cover = Cover::new(need, 10.0 * dearest.fold(1.0, f64::max));
    for machine in machines() {
        let gives = model.size(machine).iter().copied().enumerate().filter(|(_, size)| *size > 0.0);
        cover.add(Column { cost: weight(machine), gives: gives.collect() });
    }
    cover.optimise(50 * (model.rows + 1), || true);
    let values: Vec<f64> = cover.prices().iter().map(|price| price.max(0.0)).collect();
    // Rounding errors may let a machine hold a little more than it costs.
    let over =
        machines().map(|machine| cost(&values, model.size(machine)) / weight(machine)).fold(1.0, f64::max);
    values.into_iter().map(|value| value / over).collect()
}
