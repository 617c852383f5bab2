//! The problem as the packer sees it: alike things merged, useless ones dropped, everything in canonical order.

use super::number::{amount, float, signed, whole};
use super::order::{Canonical, Shape, numbered};
use super::problem::{Offer, Pool, Problem};
use super::relaxed::cost;
use super::{MANY, OfferSet, alike, dominated};

/// How many pods of which class a node holds, by class.
pub(super) type Fill = Vec<(usize, u64)>;

/// The most slots that are priced like resources.
const WIDE_SLOTS: usize = 4;

/// Pods that are the same.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) count: u64,
    pub(super) shape: Shape,
    /// The same for items that may use the same machines.
    pub(super) choice: usize,
    /// The classes of the input with their counts.
    pub(super) origins: Vec<(usize, u64)>,
}

/// Machines that are the same.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub(super) capacity: Vec<i64>,
    pub(super) price: u64,
    /// What the search minimises: the price, less the credit for what stays free when it is empty. Machines that cost
    /// nothing count as if they cost next to nothing, so that fewer of them are better than more.
    pub(super) weight: u64,
    /// `u64::MAX` when there is no end to them.
    pub(super) available: u64,
    pub(super) pool: usize,
    pub(super) counted: Vec<i64>,
    /// Where it takes something of a store, which one and how much.
    pub(super) draw: Option<Draw>,
    pub(super) admission: usize,
    /// The offers of the input, each with how many there are.
    pub(super) origins: Vec<(usize, u64)>,
}

/// What a node takes of a store: something of one amount at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Draw {
    pub(super) store: usize,
    pub(super) takes: Vec<i64>,
}

/// What is packed.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) items: Vec<Item>,
    pub(super) machines: Vec<Machine>,
    pub(super) pools: Vec<Pool>,
    pub(super) slots: Vec<i64>,
    /// What is left of each store.
    pub(super) stores: Vec<Vec<i64>>,
    /// The numbers that the resources have in the input.
    pub(super) asked: Vec<usize>,
    /// Resources, and the slots that most pods ask for.
    pub(super) rows: usize,
    /// What the amounts of each row are divided by, so that floats are about one.
    pub(super) scales: Vec<f64>,
    /// For each item its scaled request, row by row.
    asks: Vec<f64>,
    /// For each machine its scaled size, row by row: no more than all pods together could use.
    sizes: Vec<f64>,
    /// For each machine and item how many fit on a node.
    most: Vec<u32>,
    /// Items and machines that have nothing to do with each other are in different parts.
    pub(super) part_of_item: Vec<usize>,
    pub(super) part_of_machine: Vec<usize>,
    pub(super) parts: usize,
    /// What a unit of each row that stays free is credited with, for each part.
    credits: Vec<Vec<f64>>,
}

impl Model {
    /// With `credit` the room that the pods cannot use matters too.
    pub(super) fn new(problem: &Problem, credit: bool) -> Self {
        let canonical = Canonical::of(problem);
        let machines = alike::machines(problem, &canonical);
        let items = alike::items(problem, &canonical);
        let choices: Vec<&OfferSet> = canonical.choices.into_keys().collect();
        Self::assemble(items, machines, problem, canonical.asked, &choices, credit)
    }

    fn assemble(
        items: Vec<Item>,
        machines: Vec<Machine>,
        problem: &Problem,
        asked: Vec<usize>,
        choices: &[&OfferSet],
        credit: bool,
    ) -> Self {
        let total = total(&items, asked.len());
        let machines =
            dominated::drop(
                machines,
                &problem.pools,
                |dim, there| {
                    if credit { there } else { there.min(total[dim]) }
                },
            );
        let mut model = Self {
            items,
            machines,
            pools: problem.pools.clone(),
            slots: problem.slots.clone(),
            stores: problem.stores.clone(),
            rows: 0,
            asked,
            scales: Vec::new(),
            asks: Vec::new(),
            sizes: Vec::new(),
            most: Vec::new(),
            part_of_item: Vec::new(),
            part_of_machine: Vec::new(),
            parts: 0,
            credits: Vec::new(),
        };
        model.drop_hopeless(choices);
        model.measure(&total, credit);
        model.count_most(choices);
        model.divide();
        model
    }

    /// How many pods of an item fit on an empty node.
    pub(super) fn most(&self, machine: usize, item: usize) -> u64 {
        u64::from(self.most[machine * self.items.len() + item])
    }

    /// The scaled request of an item.
    pub(super) fn ask(&self, item: usize) -> &[f64] {
        &self.asks[item * self.rows..(item + 1) * self.rows]
    }

    /// The scaled size of a machine.
    pub(super) fn size(&self, machine: usize) -> &[f64] {
        &self.sizes[machine * self.rows..(machine + 1) * self.rows]
    }

    /// Credits what stays free on nodes. All room is credited to the machine and taken back from the pods that use it, so
    /// that a credit is nothing but lower prices. The values must let no machine be worth more than it costs; there is
    /// no credit where some machines cost nothing.
    pub(super) fn credit(&mut self, values: impl Fn(&Self, usize) -> Vec<f64>, permille: u16) {
        if permille == 0 || self.machines.iter().any(|machine| machine.price == 0) {
            return;
        }
        let part = f64::from(permille.min(990)) / 1000.0;
        let credits =
            (0..self.parts).map(|of| values(self, of).into_iter().map(|value| value * part).collect());
        self.credits = credits.collect();
        for machine in 0..self.machines.len() {
            self.machines[machine].weight = whole(self.base(machine).ceil()).max(1);
        }
    }

    /// The price of a machine less the credit for all of it.
    pub(super) fn base(&self, machine: usize) -> f64 {
        let credits = self.credits.get(self.part_of_machine[machine]);
        float(self.machines[machine].price) - credits.map_or(0.0, |credits| cost(credits, self.size(machine)))
    }

    /// The credit that a pod takes away.
    pub(super) fn credit_of_item(&self, item: usize) -> f64 {
        self.credits.get(self.part_of_item[item]).map_or(0.0, |credits| cost(credits, self.ask(item)))
    }

    /// What the cheapest machines come to that each hold one pod at least of the item for which they are dearest, one in
    /// each part: where a few pods are all there is, no machine can be had in parts. Of many it says nothing.
    pub(super) fn least_for_one(&self, placed: &[u64], cost: impl Fn(&Machine) -> u64) -> u64 {
        if self.items.len() > MANY {
            return 0;
        }
        let mut least = vec![0; self.parts];
        for (item, _) in placed.iter().enumerate().filter(|(_, count)| **count > 0) {
            let able = (0..self.machines.len()).filter(|machine| self.most(*machine, item) > 0);
            let cheapest = able.map(|machine| cost(&self.machines[machine])).min().unwrap_or(0);
            let part = &mut least[self.part_of_item[item]];
            *part = cheapest.max(*part);
        }
        least.into_iter().fold(0, u64::saturating_add)
    }

    /// How many pods there are of each item.
    pub(super) fn counts(&self) -> Vec<u64> {
        self.items.iter().map(|item| item.count).collect()
    }

    /// How many pods of an item the slots of a node hold, all of them at most.
    fn slots_hold(&self, item: &Item) -> u64 {
        let slots = item.shape.slots.iter().map(|(slot, ask)| (ask, self.slots.get(*slot).unwrap_or(&0)));
        times(slots).min(item.count)
    }

    /// Pods that fit on no machine are left over whatever happens, so nothing more is thought about them.
    fn drop_hopeless(&mut self, choices: &[&OfferSet]) {
        let mut items = std::mem::take(&mut self.items);
        items.retain(|item| {
            let holds = |machine: &Machine| times(item.shape.request.iter().zip(&machine.capacity)) > 0;
            let admits = |machine: &Machine| machine.is_in(choices[item.choice]);
            self.slots_hold(item) > 0 && self.machines.iter().any(|machine| admits(machine) && holds(machine))
        });
        self.items = items;
    }

    /// Chooses the rows and scales all amounts.
    fn measure(&mut self, total: &[i64], credit: bool) {
        let dims = self.asked.len();
        let wide = self.wide_slots();
        self.rows = dims + wide.len();
        let largest =
            |dim: usize| self.machines.iter().map(|machine| machine.capacity[dim]).max().unwrap_or(1).max(1);
        self.scales = (0..dims).map(|dim| amount(largest(dim))).collect();
        self.scales.extend(wide.iter().map(|slot| amount(self.slots[*slot].max(1))));
        for item in &self.items {
            let slots = wide
                .iter()
                .map(|slot| item.shape.slots.iter().find(|(of, _)| of == slot).map_or(0, |(_, ask)| *ask));
            let asks = item.shape.request.iter().copied().chain(slots);
            self.asks.extend(asks.zip(&self.scales).map(|(ask, scale)| amount(ask) / scale));
        }
        for machine in &self.machines {
            let there = machine.capacity.iter().zip(total);
            let there = there.map(|(there, total)| if credit { *there } else { *there.min(total) });
            let there = there.chain(wide.iter().map(|slot| self.slots[*slot]));
            self.sizes.extend(there.zip(&self.scales).map(|(there, scale)| amount(there) / scale));
        }
    }

    /// The slots that would need most nodes.
    fn wide_slots(&self) -> Vec<usize> {
        let mut nodes = vec![0.0; self.slots.len()];
        for item in &self.items {
            for (slot, ask) in &item.shape.slots {
                nodes[*slot] += amount(*ask) * float(item.count) / amount(self.slots[*slot].max(1));
            }
        }
        let mut wide: Vec<usize> = (0..nodes.len()).filter(|slot| nodes[*slot] > 1.0).collect();
        wide.sort_by(|a, b| nodes[*b].total_cmp(&nodes[*a]).then(a.cmp(b)));
        wide.truncate(WIDE_SLOTS);
        wide
    }

    /// Thousands of items may differ only in what they have to do with each other, so each request is held against each
    /// machine once.
    fn count_most(&mut self, choices: &[&OfferSet]) {
        let requests = numbered(self.items.iter().map(|item| &item.shape.request));
        let numbers = self.items.iter().filter_map(|item| requests.get(&item.shape.request).copied());
        let bounds: Vec<(usize, u64)> =
            numbers.zip(&self.items).map(|(request, item)| (request, self.slots_hold(item))).collect();
        let mut most = Vec::with_capacity(self.machines.len() * self.items.len());
        for machine in &self.machines {
            let held: Vec<u64> =
                requests.keys().map(|request| times(request.iter().zip(&machine.capacity))).collect();
            let admitted: Vec<bool> = choices.iter().map(|choice| machine.is_in(choice)).collect();
            most.extend(self.items.iter().zip(&bounds).map(|(item, (request, bound))| {
                if admitted[item.choice] {
                    u32::try_from(held[*request].min(*bound)).unwrap_or(u32::MAX)
                } else {
                    0
                }
            }));
        }
        self.most = most;
    }

    /// Finds what belongs together, by flooding from one item to the machines it may use and back.
    fn divide(&mut self) {
        let items = self.items.len();
        let mut part_of_item = vec![usize::MAX; items];
        let mut part_of_machine = vec![usize::MAX; self.machines.len()];
        for start in 0..items {
            if part_of_item[start] != usize::MAX {
                continue;
            }
            part_of_item[start] = self.parts;
            let mut reached = vec![start];
            while let Some(item) = reached.pop() {
                for (machine, part) in part_of_machine.iter_mut().enumerate() {
                    if *part != usize::MAX || self.most(machine, item) == 0 {
                        continue;
                    }
                    *part = self.parts;
                    for other in (0..items).filter(|other| self.most(machine, *other) > 0) {
                        if part_of_item[other] == usize::MAX {
                            part_of_item[other] = self.parts;
                            reached.push(other);
                        }
                    }
                }
            }
            self.parts += 1;
        }
        (self.part_of_item, self.part_of_machine) = (part_of_item, part_of_machine);
    }
}

/// How often something that is asked for is there: amounts asked for, and what there is of each.
fn times<'a>(pairs: impl Iterator<Item = (&'a i64, &'a i64)>) -> u64 {
    let asked = pairs.filter(|(ask, _)| **ask > 0);
    asked.map(|(ask, there)| u64::try_from(there / ask).unwrap_or(0)).min().unwrap_or(u64::MAX)
}

fn total(items: &[Item], dims: usize) -> Vec<i64> {
    let of = |dim: usize| {
        let asks = items.iter().map(|item| item.shape.request[dim].saturating_mul(signed(item.count)));
        asks.fold(0_i64, i64::saturating_add)
    };
    (0..dims).map(of).collect()
}

impl Draw {
    /// What an offer takes of a store, if it takes anything.
    pub(super) fn of(offer: &Offer, stores: &[Vec<i64>]) -> Option<Self> {
        let store = offer.store?;
        let dims = stores.get(store)?.len();
        let takes: Vec<i64> =
            (0..dims).map(|dim| offer.takes.get(dim).map_or(0, |takes| *takes.max(&0))).collect();
        takes.iter().any(|takes| *takes > 0).then_some(Self { store, takes })
    }

    /// How many nodes so much of the store is enough for.
    pub(super) fn room(&self, left: &[i64]) -> u64 {
        let amounts = self.takes.iter().zip(left).filter(|(takes, _)| **takes > 0);
        amounts
            .map(|(takes, left)| u64::try_from(left.max(&0) / takes).unwrap_or(0))
            .min()
            .unwrap_or(u64::MAX)
    }
}

impl Machine {
    /// Whether it is among some offers.
    fn is_in(&self, offers: &OfferSet) -> bool {
        self.origins.first().is_some_and(|(offer, _)| offers.contains(*offer))
    }

    /// Whether another one is the same to the pods, to the pool and to what it draws on.
    pub(super) fn alike(&self, other: &Self) -> bool {
        (&self.capacity, self.pool, &self.counted, self.admission, &self.draw)
            == (&other.capacity, other.pool, &other.counted, other.admission, &other.draw)
    }

    /// Whether there is no end to them.
    pub(super) fn endless(&self, pools: &[Pool]) -> bool {
        self.available == u64::MAX
            && pools.get(self.pool).is_none_or(|pool| {
                pool.max_nodes.is_none() && pool.limits.iter().all(|limit| limit.is_none())
            })
    }
}
