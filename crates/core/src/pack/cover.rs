//! The cheapest mix of columns that covers what is needed, as a linear program: the revised simplex method with an
//! explicit inverse. Rows are few (resources, or classes), columns come and go.

use super::number::float;

/// A column: what it costs, and what it gives to which row.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) cost: f64,
    pub(super) gives: Vec<(usize, f64)>,
}

/// The program. Variables are numbered: first the shortfall of each row, which is allowed and dear, then its surplus,
/// which is free, then the columns.
pub(super) struct Cover {
    rows: usize,
    need: Vec<f64>,
    dear: f64,
    columns: Vec<Column>,
    basic: Vec<bool>,
    basis: Vec<usize>,
    level: Vec<f64>,
    inverse: Vec<f64>,
    prices: Vec<f64>,
    entering: Vec<f64>,
}

const TINY: f64 = 1e-9;
/// How many good columns are remembered from one look at all of them.
const SHORTLIST: usize = 16;
/// After how many steps it asks whether to go on.
const ASKING: usize = 32;

impl Cover {
    /// A negative need is a limit: `-5` with columns that give `-1` means at most five of them.
    pub(super) fn new(need: Vec<f64>, dear: f64) -> Self {
        let rows = need.len();
        let mut cover = Self {
            rows,
            dear,
            columns: Vec::new(),
            basic: vec![false; 2 * rows],
            basis: Vec::with_capacity(rows),
            level: need.iter().map(|need| need.abs()).collect(),
            inverse: vec![0.0; rows * rows],
            prices: vec![0.0; rows],
            entering: vec![0.0; rows],
            need,
        };
        for row in 0..rows {
            let limit = cover.need[row] < 0.0;
            let variable = if limit { rows + row } else { row };
            cover.basic[variable] = true;
            cover.basis.push(variable);
            cover.inverse[row * rows + row] = if limit { -1.0 } else { 1.0 };
        }
        cover.set_prices();
        cover
    }

    pub(super) fn add(&mut self, column: Column) {
        self.columns.push(column);
        self.basic.push(false);
    }

    /// What a unit of each row is worth at the margin.
    pub(super) fn prices(&self) -> &[f64] {
        &self.prices
    }

    /// What the mix costs.
    pub(super) fn cost(&self) -> f64 {
        self.basis.iter().zip(&self.level).map(|(variable, level)| self.cost_of(*variable) * level).sum()
    }

    /// The columns in the mix.
    pub(super) fn mix(&self) -> impl Iterator<Item = (usize, f64)> {
        let pairs = self.basis.iter().zip(&self.level);
        pairs
            .filter(|(variable, _)| **variable >= 2 * self.rows)
            .map(|(variable, level)| (variable - 2 * self.rows, *level))
    }

    /// Whether a column would make the mix cheaper.
    pub(super) fn would_save(&self, column: &Column) -> bool {
        let worth: f64 = column.gives.iter().map(|(row, gives)| self.prices[*row] * gives).sum();
        worth > column.cost * (1.0 + 1e-7)
    }

    /// What a column costs beyond what it gives is worth; negative for one that would make the mix cheaper.
    fn reduced(&self, column: usize) -> f64 {
        let column = &self.columns[column];
        column.cost - column.gives.iter().map(|(row, gives)| self.prices[*row] * gives).sum::<f64>()
    }

    /// Finds the cheapest mix from the present one, which covers the need, in at most so many steps and as long as it
    /// may go on.
    pub(super) fn optimise(&mut self, steps: usize, mut go_on: impl FnMut() -> bool) {
        let mut shortlist: Vec<usize> = Vec::new();
        for step in 1..=steps {
            if step % ASKING == 0 && !go_on() {
                break;
            }
            shortlist.retain(|variable| {
                !self.basic[*variable] && self.reduced_of(*variable) < -self.tolerance(*variable)
            });
            if shortlist.is_empty() {
                shortlist = self.improving();
            }
            let reduced = |variable: &usize| self.reduced_of(*variable);
            let best =
                shortlist.iter().copied().min_by(|a, b| reduced(a).total_cmp(&reduced(b)).then(a.cmp(b)));
            let Some(variable) = best else {
                break;
            };
            self.load(variable);
            match self.first_to_leave() {
                Some(row) => self.pivot(variable, row),
                None => shortlist.retain(|other| *other != variable),
            }
        }
        self.settle();
    }

    /// Changes what is needed and finds the cheapest mix again, from prices that stay right.
    pub(super) fn need_instead(&mut self, need: Vec<f64>, steps: usize, mut go_on: impl FnMut() -> bool) {
        self.need = need;
        self.set_level();
        for step in 1..=steps {
            if step % ASKING == 0 && !go_on() {
                break;
            }
            let worst = (0..self.rows).min_by(|a, b| self.level[*a].total_cmp(&self.level[*b]));
            let Some(row) = worst.filter(|row| self.level[*row] < -1e-7) else {
                break;
            };
            let Some(variable) = self.cheapest_relief(row) else {
                break;
            };
            self.load(variable);
            self.pivot(variable, row);
        }
        self.settle();
    }

    fn settle(&mut self) {
        self.set_prices();
        self.set_level();
    }

    fn cost_of(&self, variable: usize) -> f64 {
        match variable.checked_sub(2 * self.rows) {
            Some(column) => self.columns[column].cost,
            None if variable < self.rows => self.dear,
            None => 0.0,
        }
    }

    fn tolerance(&self, variable: usize) -> f64 {
        TINY * self.cost_of(variable).max(1.0)
    }

    fn reduced_of(&self, variable: usize) -> f64 {
        match variable.checked_sub(2 * self.rows) {
            Some(column) => self.reduced(column),
            None if variable < self.rows => self.dear - self.prices[variable],
            None => self.prices[variable - self.rows],
        }
    }

    fn improving(&self) -> Vec<usize> {
        let variables = (0..2 * self.rows + self.columns.len()).filter(|variable| !self.basic[*variable]);
        let mut found: Vec<(f64, usize)> = variables
            .map(|variable| (self.reduced_of(variable), variable))
            .filter(|(reduced, variable)| *reduced < -self.tolerance(*variable))
            .collect();
        found.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        found.truncate(SHORTLIST);
        found.into_iter().map(|(_, variable)| variable).collect()
    }

    /// The change of the basis' levels for a unit of a variable.
    fn load(&mut self, variable: usize) {
        let rows = self.rows;
        let mut entering = std::mem::take(&mut self.entering);
        for (row, change) in entering.iter_mut().enumerate() {
            let inverse = &self.inverse[row * rows..(row + 1) * rows];
            *change = match variable.checked_sub(2 * rows) {
                Some(column) => {
                    self.columns[column].gives.iter().map(|(at, gives)| inverse[*at] * gives).sum()
                }
                None if variable < rows => inverse[variable],
                None => -inverse[variable - rows],
            };
        }
        self.entering = entering;
    }

    fn first_to_leave(&self) -> Option<usize> {
        let mut first: Option<(f64, usize)> = None;
        for (row, change) in self.entering.iter().enumerate().filter(|(_, change)| **change > TINY) {
            let step = self.level[row].max(0.0) / change;
            let better = first.is_none_or(|(least, at)| {
                step < least - 1e-12 || step < least + 1e-12 && *change > self.entering[at]
            });
            if better {
                first = Some((step, row));
            }
        }
        first.map(|(_, row)| row)
    }

    /// The variable that makes up for a level below zero while no price becomes wrong.
    fn cheapest_relief(&self, row: usize) -> Option<usize> {
        let inverse = &self.inverse[row * self.rows..(row + 1) * self.rows];
        let mut best: Option<(f64, usize)> = None;
        for variable in (0..2 * self.rows + self.columns.len()).filter(|variable| !self.basic[*variable]) {
            let rate: f64 = match variable.checked_sub(2 * self.rows) {
                Some(column) => {
                    self.columns[column].gives.iter().map(|(at, gives)| inverse[*at] * gives).sum()
                }
                None if variable < self.rows => inverse[variable],
                None => -inverse[variable - self.rows],
            };
            if rate < -TINY {
                let price = self.reduced_of(variable).max(0.0) / -rate;
                if best.is_none_or(|(least, _)| price < least) {
                    best = Some((price, variable));
                }
            }
        }
        best.map(|(_, variable)| variable)
    }

    fn pivot(&mut self, variable: usize, row: usize) {
        let rows = self.rows;
        let pivot = self.entering[row];
        let reduced = self.reduced_of(variable);
        self.basic[self.basis[row]] = false;
        self.basic[variable] = true;
        self.basis[row] = variable;
        let step = self.level[row] / pivot;
        let mut leading = self.inverse[row * rows..(row + 1) * rows].to_vec();
        for value in &mut leading {
            *value /= pivot;
        }
        for (other, change) in self.entering.iter().enumerate() {
            if other == row || change.abs() < 1e-14 {
                continue;
            }
            self.level[other] -= step * change;
            for (value, leading) in self.inverse[other * rows..(other + 1) * rows].iter_mut().zip(&leading) {
                *value -= change * leading;
            }
        }
        self.level[row] = step;
        for (price, leading) in self.prices.iter_mut().zip(&leading) {
            *price += reduced * leading;
        }
        self.inverse[row * rows..(row + 1) * rows].copy_from_slice(&leading);
    }

    fn set_prices(&mut self) {
        let mut prices = vec![0.0; self.rows];
        for (row, variable) in self.basis.iter().enumerate() {
            let cost = self.cost_of(*variable);
            if cost != 0.0 {
                let inverse = &self.inverse[row * self.rows..(row + 1) * self.rows];
                for (price, inverse) in prices.iter_mut().zip(inverse) {
                    *price += cost * inverse;
                }
            }
        }
        self.prices = prices;
    }

    fn set_level(&mut self) {
        for row in 0..self.rows {
            let inverse = &self.inverse[row * self.rows..(row + 1) * self.rows];
            self.level[row] = inverse.iter().zip(&self.need).map(|(inverse, need)| inverse * need).sum();
        }
    }
}

/// Counts as needs, each a little more than it is by an amount of its own: where many mixes are equally cheap the
/// simplex method would go round among them.
pub(super) fn needs(counts: &[u64]) -> Vec<f64> {
    let total = float(counts.len() as u64 + 1);
    counts.iter().zip(1_u64..).map(|(count, place)| float(*count) + 1e-7 * float(place) / total).collect()
}
