use std::collections::BTreeMap;

use super::exact::Search;
use super::model::{Fill, Model};
use super::number::{float, whole};
use super::relaxed::{Relaxed, cost};
use super::room::Room;

/// Finds what to put on one node: the most that it can hold of what is wanted, by worth.
pub(super) struct Filler<'m> {
    model: &'m Model,
    pub(super) relaxed: Relaxed<'m>,
    order: Vec<(f64, usize)>,
}

/// What a node would hold, and what that is worth.
#[derive(Clone, Debug)]
pub(super) struct Filling {
    pub(super) fill: Fill,
    pub(super) worth: f64,
}

impl<'m> Filler<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        Self { model, relaxed: Relaxed::new(model), order: Vec::new() }
    }

    /// A filling that is nearly the best one: what the relaxed program takes, rounded down, and then whatever else fits,
    /// that which is worth most for its room first.
    pub(super) fn fill(&mut self, machine: usize, wanted: &[usize], values: &[f64], left: &[u64]) -> Filling {
        self.relaxed.choose(machine, wanted, values, left);
        self.relaxed.solve();
        self.round(machine)
    }

    /// The same where items come in kinds, which are taken apart only when it is known what goes on the node.
    pub(super) fn fill_with_kinds(
        &mut self,
        machine: usize,
        kinds: &[Vec<usize>],
        values: &[f64],
        left: &[u64],
    ) -> Filling {
        self.relaxed.choose_kinds(machine, kinds, values, left);
        self.relaxed.solve();
        self.sort_by_price();
        let relaxed = &self.relaxed;
        let by_first: BTreeMap<usize, &[usize]> =
            kinds.iter().filter_map(|kind| Some((*kind.first()?, kind.as_slice()))).collect();
        let mut room = Room::of(self.model, machine);
        let mut taken: BTreeMap<usize, u64> = BTreeMap::new();
        let mut put = |first: usize, mut most: u64| {
            if !room.has_resources_for(first) {
                return;
            }
            for item in by_first.get(&first).into_iter().copied().flatten() {
                let had = taken.get(item).copied().unwrap_or(0);
                let count = room.times(*item, most.min(left[*item] - had));
                if count > 0 {
                    room.take(*item, count);
                    *taken.entry(*item).or_default() += count;
                    most -= count;
                    if most == 0 || !room.has_resources_for(first) {
                        break;
                    }
                }
            }
        };
        for (first, taken) in relaxed.items.iter().zip(&relaxed.taken).filter(|(_, taken)| **taken > 0.5) {
            put(*first, whole(*taken + 1e-6));
        }
        for (_, index) in &self.order {
            put(relaxed.items[*index], u64::MAX);
        }
        let worth = taken.iter().map(|(item, count)| float(*count) * values[*item]).sum();
        Filling { fill: taken.into_iter().collect(), worth }
    }

    /// Rounds what the relaxed program takes.
    pub(super) fn round(&mut self, machine: usize) -> Filling {
        let relaxed = &self.relaxed;
        let mut room = Room::of(self.model, machine);
        let mut taken = vec![0; relaxed.items.len()];
        for (index, item) in relaxed.items.iter().enumerate() {
            if relaxed.taken[index] > 0.5 {
                let count = room.times(*item, whole(relaxed.taken[index] + 1e-6).min(relaxed.most[index]));
                room.take(*item, count);
                taken[index] = count;
            }
        }
        self.sort_by_price();
        let relaxed = &self.relaxed;
        for (_, index) in &self.order {
            let (item, most) = (relaxed.items[*index], relaxed.most[*index] - taken[*index]);
            if most > 0 {
                let count = room.times(item, most);
                if count > 0 {
                    room.take(item, count);
                    taken[*index] += count;
                }
            }
        }
        let worth = taken.iter().zip(&relaxed.worth).map(|(count, worth)| float(*count) * worth).sum();
        let pairs = relaxed.items.iter().copied().zip(taken).filter(|(_, count)| *count > 0);
        Filling { fill: pairs.collect(), worth }
    }

    /// Puts what may be taken in the order of what it takes of the node for its worth.
    fn sort_by_price(&mut self) {
        let relaxed = &self.relaxed;
        self.order.clear();
        self.order.extend(relaxed.items.iter().enumerate().map(|(index, item)| {
            let price = cost(&relaxed.prices, self.model.ask(*item));
            (price / relaxed.worth[index], index)
        }));
        self.order.sort_unstable_by(|a, b| {
            let worth = |index: usize| relaxed.worth[index];
            a.0.total_cmp(&b.0).then(worth(b.1).total_cmp(&worth(a.1))).then(a.1.cmp(&b.1))
        });
    }

    /// Looks for a filling worth more than a floor, in at most so many steps. Also says what no filling is worth more
    /// than, which is the floor itself when the search came to its end without finding one.
    pub(super) fn beat(&mut self, machine: usize, floor: f64, steps: usize) -> (Option<Filling>, f64) {
        Search::new(self.model, &self.relaxed, machine, floor, steps).run()
    }

    /// Adds to a node what else fits of what is left.
    pub(super) fn top_up(&mut self, machine: usize, fill: &mut Fill, order: &[usize], left: &[u64]) {
        let Some(mut room) = Room::beside(self.model, machine, fill) else {
            return;
        };
        for item in order {
            let there = fill.iter().position(|(of, _)| of == item);
            let had = there.map_or(0, |index| fill[index].1);
            let count = room.times(*item, left[*item].saturating_sub(had));
            if count > 0 {
                room.take(*item, count);
                match there {
                    Some(index) => fill[index].1 += count,
                    None => fill.push((*item, count)),
                }
            }
        }
        fill.sort_unstable();
    }
}
