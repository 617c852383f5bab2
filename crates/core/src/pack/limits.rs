//! Limits of offers, pools and stores as rows of the program that mixes patterns. There may be thousands, and few ever bind, so
//! only those that a mix breaks become rows.

use super::model::Model;
use super::number::{amount, float};
use super::stock::Stock;

/// A limit that has become a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// So many nodes of a machine.
    Machine(usize),
    /// So many nodes of a pool.
    Nodes(usize),
    /// So much of an amount that a pool counts.
    Amount(usize, usize),
    /// So much of an amount of a store.
    Stored(usize, usize),
}

impl Limit {
    /// What a node of a machine uses up of the limit.
    pub(super) fn used_by(self, model: &Model, machine: usize) -> f64 {
        let of = &model.machines[machine];
        match self {
            Self::Machine(limited) if limited == machine => 1.0,
            Self::Nodes(pool) if pool == of.pool => 1.0,
            Self::Amount(pool, dim) if pool == of.pool => {
                of.counted.get(dim).map_or(0.0, |counted| amount(*counted) / self.unit(model))
            }
            Self::Stored(store, dim) => {
                let draw = of.draw.as_ref().filter(|draw| draw.store == store);
                draw.map_or(0.0, |draw| amount(draw.takes[dim]) / self.unit(model))
            }
            _ => 0.0,
        }
    }

    /// How much there is.
    pub(super) fn total(self, model: &Model) -> f64 {
        match self {
            Self::Machine(machine) => float(model.machines[machine].available),
            Self::Nodes(pool) => model.pools[pool].max_nodes.map_or(0.0, f64::from),
            Self::Amount(pool, dim) => {
                amount(model.pools[pool].limits[dim].unwrap_or(0).max(0)) / self.unit(model)
            }
            Self::Stored(store, dim) => amount(model.stores[store][dim].max(0)) / self.unit(model),
        }
    }

    /// What an amount is counted in, so that floats are about one.
    fn unit(self, model: &Model) -> f64 {
        match self {
            Self::Machine(_) | Self::Nodes(_) => 1.0,
            Self::Amount(pool, dim) => amount(model.pools[pool].limits[dim].unwrap_or(1).max(1)),
            Self::Stored(store, dim) => amount(model.stores[store][dim].max(1)),
        }
    }

    /// The limits that so many nodes of each machine would break.
    pub(super) fn broken(model: &Model, nodes: &[f64]) -> Vec<Self> {
        let mut limits: Vec<Self> = Vec::new();
        let limited = model.machines.iter().enumerate().filter(|(_, machine)| machine.available != u64::MAX);
        limits.extend(limited.map(|(machine, _)| Self::Machine(machine)));
        for (pool, of) in model.pools.iter().enumerate() {
            limits.extend(of.max_nodes.map(|_| Self::Nodes(pool)));
            let amounts = of.limits.iter().enumerate().filter(|(_, limit)| limit.is_some());
            limits.extend(amounts.map(|(dim, _)| Self::Amount(pool, dim)));
        }
        for (store, amounts) in model.stores.iter().enumerate() {
            limits.extend((0..amounts.len()).map(|dim| Self::Stored(store, dim)));
        }
        let used = |limit: &Self| -> f64 {
            let used = nodes.iter().enumerate().filter(|(_, nodes)| **nodes > 0.0);
            used.map(|(machine, nodes)| nodes * limit.used_by(model, machine)).sum()
        };
        limits.retain(|limit| used(limit) > limit.total(model) + 1e-6);
        limits
    }

    /// How much of it is left in a stock.
    pub(super) fn left(self, model: &Model, stock: &Stock<'_>) -> f64 {
        match self {
            Self::Machine(machine) => float(stock.machines_left(machine)),
            Self::Nodes(pool) => float(stock.nodes_left(pool)),
            Self::Amount(pool, dim) => amount(stock.amount_left(pool, dim).max(0)) / self.unit(model),
            Self::Stored(store, dim) => amount(stock.stored(store, dim).max(0)) / self.unit(model),
        }
    }
}
