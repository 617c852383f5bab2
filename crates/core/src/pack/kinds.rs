use std::collections::BTreeMap;

use super::model::{Item, Model};

/// Items that are the same but for what they cannot share a node with. Where there are many items, the question what to put
/// on a node is first answered for kinds, of which there are few.
#[derive(Clone, Debug)]
pub(super) struct Kinds(pub(super) Vec<Vec<usize>>);

impl Kinds {
    /// Sorts items into kinds: those that ask for the same and may use the same machines.
    pub(super) fn of(model: &Model, items: &[usize]) -> Self {
        let mut numbers: BTreeMap<(&[i64], usize, Vec<u64>), usize> = BTreeMap::new();
        let mut kinds: Vec<Vec<usize>> = Vec::new();
        for item in items {
            let Item { shape, choice, .. } = &model.items[*item];
            // What they are asked to pay for, some slots among it.
            let priced = model.ask(*item).iter().skip(shape.request.len()).map(|ask| ask.to_bits()).collect();
            let number = *numbers.entry((&shape.request, *choice, priced)).or_insert_with(|| {
                kinds.push(Vec::new());
                kinds.len() - 1
            });
            kinds[number].push(*item);
        }
        Self(kinds)
    }

    /// Drops the items of which none are left.
    pub(super) fn drop_placed(&mut self, left: &[u64]) {
        for kind in &mut self.0 {
            kind.retain(|item| left[*item] > 0);
        }
        self.0.retain(|kind| !kind.is_empty());
    }
}

/// How much more each machine that is tried costs than the one before it, in percent, where there are so many that not all
/// can be.
const STEPS: [u64; 4] = [5, 10, 20, 50];
/// The most machines that are tried, if the steps are not too large.
const ENOUGH: usize = 160;

/// Some of the machines, of all shapes and from small to large.
pub(super) fn ladder(model: &Model, machines: &[usize]) -> Vec<usize> {
    let mut chosen = machines.to_vec();
    for percent in STEPS {
        if chosen.len() <= ENOUGH {
            break;
        }
        chosen = rungs(model, machines, percent);
    }
    chosen
}

fn rungs(model: &Model, machines: &[usize], percent: u64) -> Vec<usize> {
    let mut by_price = machines.to_vec();
    by_price.sort_by_key(|machine| (model.machines[*machine].weight, *machine));
    let mut last: BTreeMap<(usize, usize, Vec<i64>), u64> = BTreeMap::new();
    by_price.retain(|machine| {
        let of = &model.machines[*machine];
        let key = (model.part_of_machine[*machine], of.admission, proportions(model, *machine));
        let next = last.get(&key).map_or(0, |last| last.saturating_add(last.saturating_mul(percent) / 100));
        let chosen = of.weight >= next;
        if chosen {
            last.insert(key, of.weight);
        }
        chosen
    });
    by_price.sort_unstable();
    by_price
}

/// How much of each row a machine has for what it has of the first, roughly.
fn proportions(model: &Model, machine: usize) -> Vec<i64> {
    let size = model.size(machine);
    let first = size.first().copied().unwrap_or(1.0).max(1e-9);
    #[allow(clippy::cast_possible_truncation, reason = "a logarithm is small")]
    let proportion = |there: &f64| (2.0 * (there.max(1e-9) / first).log2()).round() as i64;
    size.iter().take(model.asked.len()).map(proportion).collect()
}
