//! The best filling of one node if pods could be cut into parts: a linear program with one row for each resource, solved
//! by the simplex method with bounds on the variables. Its prices prove how much any filling can be worth.

use super::model::Model;
use super::number::float;

const TINY: f64 = 1e-9;

/// Where a variable stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    AtNone,
    AtMost,
    Basic,
}

/// The program and its solution; kept from one node to the next only to spare allocations.
pub(super) struct Relaxed<'m> {
    model: &'m Model,
    rows: usize,
    /// The items that may go on the node.
    pub(super) items: Vec<usize>,
    /// What a pod of each is worth.
    pub(super) worth: Vec<f64>,
    /// How many of each at most.
    pub(super) most: Vec<u64>,
    /// How many of each are taken.
    pub(super) taken: Vec<f64>,
    /// What a unit of each row is worth on this node.
    pub(super) prices: Vec<f64>,
    /// No filling is worth more.
    pub(super) bound: f64,
    size: Vec<f64>,
    places: Vec<Place>,
    basis: Vec<usize>,
    level: Vec<f64>,
    inverse: Vec<f64>,
    gains: Vec<(f64, usize)>,
    column: Vec<f64>,
}

impl<'m> Relaxed<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        Self {
            model,
            rows: model.rows,
            items: Vec::new(),
            worth: Vec::new(),
            most: Vec::new(),
            taken: Vec::new(),
            prices: Vec::new(),
            bound: 0.0,
            size: Vec::new(),
            places: Vec::new(),
            basis: Vec::new(),
            level: Vec::new(),
            inverse: Vec::new(),
            gains: Vec::new(),
            column: vec![0.0; model.rows],
        }
    }

    /// Chooses what may go on a node: of the wanted items those that fit and are worth something.
    pub(super) fn choose(&mut self, machine: usize, wanted: &[usize], values: &[f64], left: &[u64]) {
        let model = self.model;
        let items = wanted.iter().map(|item| (*item, model.most(machine, *item).min(left[*item])));
        self.choose_from(machine, items, values);
    }

    /// The same where items come in kinds, each of which stands for all its items.
    pub(super) fn choose_kinds(
        &mut self,
        machine: usize,
        kinds: &[Vec<usize>],
        values: &[f64],
        left: &[u64],
    ) {
        let model = self.model;
        let kinds = kinds.iter().filter_map(|kind| {
            let most = kind.iter().map(|item| model.most(machine, *item).min(left[*item])).sum();
            Some((*kind.first()?, most))
        });
        self.choose_from(machine, kinds, values);
    }

    fn choose_from(&mut self, machine: usize, items: impl Iterator<Item = (usize, u64)>, values: &[f64]) {
        self.items.clear();
        self.worth.clear();
        self.most.clear();
        for (item, most) in items.filter(|(item, most)| *most > 0 && values[*item] > 0.0) {
            self.items.push(item);
            self.worth.push(values[item]);
            self.most.push(most);
        }
        self.size.clear();
        self.size.extend_from_slice(self.model.size(machine));
    }

    /// What any filling is worth at most, shown by the given prices of the rows.
    pub(super) fn bound_at(&self, prices: &[f64]) -> f64 {
        let room: f64 = prices.iter().zip(&self.size).map(|(price, size)| price * size).sum();
        let gains = self.items.iter().zip(&self.worth).zip(&self.most).map(|((item, worth), most)| {
            let gain = worth - cost(prices, self.model.ask(*item));
            if gain > 0.0 { gain * float(*most) } else { 0.0 }
        });
        room + gains.sum::<f64>()
    }

    /// Solves the program for what was chosen.
    pub(super) fn solve(&mut self) {
        self.reset();
        for _ in 0..20 + 20 * self.rows {
            self.find_gains();
            if self.gains.is_empty() || !self.advance() {
                break;
            }
        }
        for price in &mut self.prices {
            *price = price.max(0.0);
        }
        self.bound = self.bound_at(&self.prices);
        for (row, variable) in self.basis.iter().enumerate() {
            if let Some(taken) = self.taken.get_mut(*variable) {
                *taken = self.level[row];
            }
        }
    }

    fn reset(&mut self) {
        let (rows, items) = (self.rows, self.items.len());
        self.places.clear();
        self.places.resize(items + rows, Place::AtNone);
        self.places[items..].fill(Place::Basic);
        self.taken.clear();
        self.taken.resize(items, 0.0);
        self.basis.clear();
        self.basis.extend(items..items + rows);
        self.level.clear();
        self.level.extend_from_slice(&self.size);
        self.inverse.clear();
        self.inverse.resize(rows * rows, 0.0);
        for row in 0..rows {
            self.inverse[row * rows + row] = 1.0;
        }
        self.prices.clear();
        self.prices.resize(rows, 0.0);
    }

    /// The variables whose change would add worth, best first.
    fn find_gains(&mut self) {
        self.gains.clear();
        for (variable, item) in self.items.iter().enumerate() {
            let place = self.places[variable];
            if place == Place::Basic {
                continue;
            }
            let gain = self.worth[variable] - cost(&self.prices, self.model.ask(*item));
            let threshold = TINY * self.worth[variable];
            if place == Place::AtNone && gain > threshold || place == Place::AtMost && gain < -threshold {
                let step = float(self.most[variable].min(1 << 20));
                self.gains.push((gain.abs() * step, variable));
            }
        }
        for row in 0..self.rows {
            let slack = self.items.len() + row;
            if self.places[slack] != Place::Basic && self.prices[row] < -TINY {
                self.gains.push((-self.prices[row], slack));
            }
        }
        self.gains.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    }

    /// Moves variables to their other bound until one has to enter the basis. Prices stay what they are until then, so
    /// the gains do too. Says whether anything moved.
    fn advance(&mut self) -> bool {
        let mut moved = false;
        for index in 0..self.gains.len() {
            let variable = self.gains[index].1;
            let up = self.places[variable] == Place::AtNone;
            let sign = if up { 1.0 } else { -1.0 };
            self.load_column(variable);
            let own = self.most.get(variable).map_or(f64::INFINITY, |most| float(*most));
            let (mut step, mut leaving) = (own, None);
            for row in 0..self.rows {
                let rate = sign * self.column[row];
                let room = if rate > TINY {
                    self.level[row].max(0.0) / rate
                } else if rate < -TINY {
                    let most = self.most.get(self.basis[row]).map_or(f64::INFINITY, |most| float(*most));
                    (most - self.level[row]).max(0.0) / -rate
                } else {
                    continue;
                };
                if room < step {
                    (step, leaving) = (room, Some((row, rate > 0.0)));
                }
            }
            if step == f64::INFINITY {
                continue;
            }
            moved = true;
            for row in 0..self.rows {
                self.level[row] -= sign * step * self.column[row];
            }
            match leaving {
                None => {
                    self.places[variable] = if up { Place::AtMost } else { Place::AtNone };
                    self.taken[variable] = if up { own } else { 0.0 };
                }
                Some((row, to_none)) => {
                    let start = if up { 0.0 } else { own };
                    self.pivot(variable, row, to_none, start + sign * step);
                    return true;
                }
            }
        }
        moved
    }

    fn load_column(&mut self, variable: usize) {
        let rows = self.rows;
        match self.items.get(variable) {
            Some(item) => {
                let ask = self.model.ask(*item);
                for row in 0..rows {
                    self.column[row] = cost(&self.inverse[row * rows..(row + 1) * rows], ask);
                }
            }
            None => {
                let slack = variable - self.items.len();
                for row in 0..rows {
                    self.column[row] = self.inverse[row * rows + slack];
                }
            }
        }
    }

    fn pivot(&mut self, entering: usize, row: usize, to_none: bool, level: f64) {
        let rows = self.rows;
        let leaving = self.basis[row];
        self.places[leaving] = if to_none { Place::AtNone } else { Place::AtMost };
        if let Some(taken) = self.taken.get_mut(leaving) {
            *taken = if to_none { 0.0 } else { float(self.most[leaving]) };
        }
        self.places[entering] = Place::Basic;
        self.basis[row] = entering;
        self.level[row] = level;
        let pivot = self.column[row];
        for at in 0..rows {
            self.inverse[row * rows + at] /= pivot;
        }
        for other in (0..rows).filter(|other| *other != row) {
            let factor = self.column[other];
            for at in 0..rows {
                self.inverse[other * rows + at] -= factor * self.inverse[row * rows + at];
            }
        }
        for at in 0..rows {
            let basis = self.basis.iter().enumerate();
            let worth = basis.map(|(row, variable)| {
                self.worth.get(*variable).map_or(0.0, |worth| worth * self.inverse[row * rows + at])
            });
            self.prices[at] = worth.sum();
        }
    }
}

/// What an amount of each row costs.
pub(super) fn cost(prices: &[f64], amounts: &[f64]) -> f64 {
    prices.iter().zip(amounts).map(|(price, amount)| price * amount).sum()
}
