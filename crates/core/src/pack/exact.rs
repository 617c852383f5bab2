//! The best filling of one node, by trying: depth first, cutting off what cannot beat the best so far. Affordable when
//! few pods fit a node, and there rounding is at its worst: GPUs, and pods of half a machine.

use super::filler::Filling;
use super::model::Model;
use super::number::float;
use super::relaxed::{Relaxed, cost};
use super::room::Room;

pub(super) struct Search<'s, 'm> {
    model: &'m Model,
    relaxed: &'s Relaxed<'m>,
    /// The items with what a pod of each adds to the bound, the best first.
    order: Vec<(usize, f64)>,
    /// What the items from each place in the order on can add at most.
    rest: Vec<f64>,
    /// For each place and row what a unit of the row is worth at most to the items from there on.
    densest: Vec<f64>,
    room: Room<'m>,
    /// What is free of each row.
    free: Vec<f64>,
    chosen: Vec<u64>,
    best: Option<(Vec<u64>, f64)>,
    floor: f64,
    steps: usize,
    /// The highest bound among what was not looked into.
    missed: f64,
}

impl<'s, 'm> Search<'s, 'm> {
    /// Items and prices are those of the relaxed program just solved.
    pub(super) fn new(
        model: &'m Model,
        relaxed: &'s Relaxed<'m>,
        machine: usize,
        floor: f64,
        steps: usize,
    ) -> Self {
        let gains = relaxed.items.iter().zip(&relaxed.worth).enumerate();
        let gains =
            gains.map(|(index, (item, worth))| (index, worth - cost(&relaxed.prices, model.ask(*item))));
        let mut order: Vec<(usize, f64)> = gains.collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let (places, rows) = (order.len(), model.rows);
        let mut rest = vec![0.0; places + 1];
        let mut densest = vec![0.0; (places + 1) * rows];
        for (place, (index, gain)) in order.iter().enumerate().rev() {
            rest[place] = rest[place + 1] + gain.max(0.0) * float(relaxed.most[*index]);
            for (row, ask) in model.ask(relaxed.items[*index]).iter().enumerate() {
                let density = if *ask > 0.0 { relaxed.worth[*index] / ask } else { f64::INFINITY };
                densest[place * rows + row] = density.max(densest[(place + 1) * rows + row]);
            }
        }
        Self {
            model,
            relaxed,
            rest,
            densest,
            room: Room::of(model, machine),
            free: model.size(machine).to_vec(),
            chosen: vec![0; places],
            order,
            best: None,
            floor,
            steps,
            missed: 0.0,
        }
    }

    /// The best filling above the floor, and what no filling is worth more than.
    pub(super) fn run(mut self) -> (Option<Filling>, f64) {
        let room = self.relaxed.bound - self.rest[0];
        self.descend(0, room, 0.0);
        let proven = self.missed.max(self.enough());
        let filling = self.best.map(|(chosen, worth)| {
            let pairs = self.relaxed.items.iter().copied().zip(chosen).filter(|(_, count)| *count > 0);
            Filling { fill: pairs.collect(), worth }
        });
        (filling, proven)
    }

    /// What is worth no more than this is not looked into.
    fn enough(&self) -> f64 {
        self.floor * (1.0 + 1e-9)
    }

    /// Adds one more item to what is chosen, of those from a place on. `bound` is what the room is worth with the gains
    /// of what is chosen; `worth` is what is chosen.
    fn descend(&mut self, from: usize, bound: f64, worth: f64) {
        if worth > self.floor {
            self.floor = worth;
            self.best = Some((self.chosen.clone(), worth));
        }
        for place in from..self.order.len() {
            let reachable = self.reachable(place, bound, worth);
            if reachable <= self.enough() {
                return;
            }
            let (index, gain) = self.order[place];
            if bound + gain + self.rest[place] <= self.enough() {
                return;
            }
            let item = self.relaxed.items[index];
            let most = self.room.times(item, self.relaxed.most[index]);
            for step in 0..most {
                let count = if gain < 0.0 { step + 1 } else { most - step };
                let bound = bound + gain * float(count);
                if bound + self.rest[place + 1] <= self.enough() {
                    break;
                }
                if self.steps == 0 {
                    self.missed = self.missed.max(reachable);
                    return;
                }
                self.steps -= 1;
                self.choose(index, count);
                self.descend(place + 1, bound, worth + self.relaxed.worth[index] * float(count));
                self.choose(index, 0);
            }
        }
    }

    /// What can be reached with the items from a place on: at the prices of the relaxed program, or if any one row were
    /// the only one.
    fn reachable(&self, place: usize, bound: f64, worth: f64) -> f64 {
        let rows = self.model.rows;
        let densest = &self.densest[place * rows..(place + 1) * rows];
        let by_row = densest.iter().zip(&self.free).map(|(density, free)| {
            if density.is_finite() { worth + density * (free.max(0.0) + 1e-9) } else { f64::INFINITY }
        });
        by_row.fold(bound + self.rest[place], f64::min)
    }

    /// Has so many pods of an item on the node.
    fn choose(&mut self, index: usize, count: u64) {
        let (item, before) = (self.relaxed.items[index], self.chosen[index]);
        self.room.give_back(item, before);
        self.room.take(item, count);
        for (free, ask) in self.free.iter_mut().zip(self.model.ask(item)) {
            *free += ask * (float(before) - float(count));
        }
        self.chosen[index] = count;
    }
}
