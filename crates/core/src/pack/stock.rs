use super::model::Model;
use super::number::signed;

/// How many more nodes can be had, of each machine, within the limits of each pool and of what stores have.
#[derive(Clone, Debug)]
pub(super) struct Stock<'m> {
    model: &'m Model,
    available: Vec<u64>,
    nodes: Vec<u64>,
    amounts: Vec<Vec<Option<i64>>>,
    stores: Vec<Vec<i64>>,
}

impl<'m> Stock<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        Self {
            model,
            available: model.machines.iter().map(|machine| machine.available).collect(),
            nodes: model.pools.iter().map(|pool| pool.max_nodes.map_or(u64::MAX, u64::from)).collect(),
            amounts: model.pools.iter().map(|pool| pool.limits.clone()).collect(),
            stores: model.stores.clone(),
        }
    }

    /// How many nodes of a machine can be had if no other is.
    pub(super) fn room(&self, machine: usize) -> u64 {
        let of = &self.model.machines[machine];
        let nodes = self.nodes.get(of.pool).copied().unwrap_or(u64::MAX);
        let amounts = self.amounts.get(of.pool).map_or(&[][..], |amounts| amounts);
        let counted = amounts.iter().zip(&of.counted).filter(|(_, counted)| **counted > 0);
        let amounts = counted.filter_map(|(limit, counted)| {
            limit.map(|limit| u64::try_from(limit.max(0) / counted).unwrap_or(0))
        });
        let stored = of.draw.as_ref().map_or(u64::MAX, |draw| draw.room(&self.stores[draw.store]));
        amounts.min().unwrap_or(u64::MAX).min(nodes).min(self.available[machine]).min(stored)
    }

    /// How many nodes of a machine are there, whatever its pool allows.
    pub(super) fn machines_left(&self, machine: usize) -> u64 {
        self.available[machine]
    }

    /// How many more nodes a pool may have.
    pub(super) fn nodes_left(&self, pool: usize) -> u64 {
        self.nodes[pool]
    }

    /// How much more of an amount a pool may have.
    pub(super) fn amount_left(&self, pool: usize, dim: usize) -> i64 {
        self.amounts[pool][dim].unwrap_or(i64::MAX)
    }

    /// How much more of an amount a store has.
    pub(super) fn stored(&self, store: usize, dim: usize) -> i64 {
        self.stores[store][dim]
    }

    /// Takes nodes, no more than there is room for.
    pub(super) fn take(&mut self, machine: usize, count: u64) {
        self.change(machine, |there| there.saturating_sub(count), -signed(count));
    }

    /// Gives nodes back that were taken.
    pub(super) fn give_back(&mut self, machine: usize, count: u64) {
        self.change(machine, |there| there.saturating_add(count), signed(count));
    }

    fn change(&mut self, machine: usize, nodes: impl Fn(u64) -> u64, times: i64) {
        let of = &self.model.machines[machine];
        let change = |there: &mut u64| {
            if *there != u64::MAX {
                *there = nodes(*there);
            }
        };
        change(&mut self.available[machine]);
        if let Some(there) = self.nodes.get_mut(of.pool) {
            change(there);
        }
        for (limit, counted) in self.amounts.get_mut(of.pool).into_iter().flatten().zip(&of.counted) {
            *limit = limit.map(|limit| limit.saturating_add(counted.saturating_mul(times)));
        }
        if let Some(draw) = &of.draw {
            for (left, takes) in self.stores[draw.store].iter_mut().zip(&draw.takes) {
                *left = left.saturating_add(takes.saturating_mul(times));
            }
        }
    }
}
