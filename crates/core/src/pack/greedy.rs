use super::aggregate::RowValues;
use super::filler::Filler;
use super::kinds::{Kinds, ladder};
use super::model::{Fill, Model};
use super::number::{float, signed, whole};
use super::solution::Node;
use super::stock::Stock;
use super::{MANY, search_values};

/// Chooses one node after another, always the one that holds most for its price.
pub(super) struct Greedy<'m> {
    model: &'m Model,
    pub(super) filler: Filler<'m>,
    machines: Vec<usize>,
}

/// How often what is scarce is looked at. Each stage places half of what is left.
const STAGES: usize = 4;

/// How many items must have found their place before they are dropped from what is looked at.
const DROP_AT: usize = 64;

/// What is to be packed.
enum Wanted {
    Items(Vec<usize>),
    Kinds(Kinds),
}

impl Wanted {
    fn of(model: &Model, left: &[u64]) -> Self {
        let items: Vec<usize> = (0..left.len()).filter(|item| left[*item] > 0).collect();
        if items.len() <= MANY { Self::Items(items) } else { Self::Kinds(Kinds::of(model, &items)) }
    }

    fn drop_placed(&mut self, left: &[u64]) {
        match self {
            Self::Items(items) => items.retain(|item| left[*item] > 0),
            Self::Kinds(kinds) => kinds.drop_placed(left),
        }
    }
}

/// What one node would hold.
struct Bid {
    machine: usize,
    fill: Fill,
    pods: u64,
    /// What it holds for what it costs.
    yields: f64,
    worth: f64,
}

impl<'m> Greedy<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        Self { model, filler: Filler::new(model), machines: (0..model.machines.len()).collect() }
    }

    /// Packs all pods in stages, each of which sees anew what is scarce among what is left. Otherwise what was plenty at
    /// first would be worth nothing to the end, and be left for machines of its own.
    pub(super) fn pack_in_stages(&mut self, left: &mut [u64], stock: &mut Stock<'m>) -> Vec<Node> {
        let mut nodes = Vec::new();
        let machines = self.machines.clone();
        for stage in (0..STAGES).rev() {
            let rows = RowValues::even(self.model, left);
            let values = rows.of_items(self.model);
            let worth: f64 = values.iter().zip(left.iter()).map(|(value, left)| value * float(*left)).sum();
            let limit = if stage == 0 { u64::MAX } else { whole(worth / 2.0) };
            nodes.extend(self.pack(&machines, &search_values(&values), left, stock, limit));
        }
        nodes
    }

    /// Packs what is left, as far as the stock goes, onto any machines.
    pub(super) fn pack_all(&mut self, values: &[f64], left: &mut [u64], stock: &mut Stock<'m>) -> Vec<Node> {
        let machines = self.machines.clone();
        self.pack(&machines, values, left, stock, u64::MAX)
    }

    /// Packs what is left, as far as the stock goes, onto the given machines or ones that hold the same for less. Gives
    /// up when it weighs more than the limit.
    pub(super) fn pack(
        &mut self,
        machines: &[usize],
        values: &[f64],
        left: &mut [u64],
        stock: &mut Stock<'m>,
        limit: u64,
    ) -> Vec<Node> {
        let (mut weight, mut placed) = (0_u64, 0);
        let mut pods = left.iter().fold(0, |sum: u64, left| sum.saturating_add(*left));
        let mut nodes = Vec::new();
        let mut wanted = Wanted::of(self.model, left);
        let tried =
            if let Wanted::Kinds(_) = wanted { ladder(self.model, machines) } else { machines.to_vec() };
        let mut bids: Vec<Bid> = Vec::new();
        bids.extend(tried.iter().filter_map(|machine| self.bid(*machine, &wanted, values, left, stock)));
        // Bids get no better as pods get their places, so one that still holds when its turn comes beats the others.
        let mut finish: Option<Finish> = None;
        while let Some(best) = (0..bids.len()).max_by(|a, b| bids[*a].compare(&bids[*b])) {
            if let Some((machine, fill)) = self.one_for_all(&bids, pods, left, stock) {
                let whole = weight.saturating_add(self.model.machines[machine].weight);
                if finish.as_ref().is_none_or(|finish| whole < finish.weight) {
                    finish = Some(Finish { after: nodes.len(), weight: whole, machine, fill });
                }
            }
            let bid = &bids[best];
            let times = bid.fill.iter().map(|(item, count)| left[*item] / count).min().unwrap_or(0);
            let times = times.min(stock.room(bid.machine));
            if times == 0 {
                let machine = bids.swap_remove(best).machine;
                bids.extend(self.bid(machine, &wanted, values, left, stock));
                continue;
            }
            let machine = self.cheapest_holding(bid.machine, &bid.fill, stock);
            let affordable = (limit - weight) / self.model.machines[machine].weight;
            let times = times.min(stock.room(machine)).min(affordable.saturating_add(1));
            stock.take(machine, times);
            for (item, count) in &bid.fill {
                left[*item] -= count * times;
                pods = pods.saturating_sub(count * times);
            }
            weight = weight.saturating_add(self.model.machines[machine].weight.saturating_mul(times));
            nodes.push(Node { machine, fill: bid.fill.clone(), repeat: times });
            if weight > limit {
                break;
            }
            placed += bid.fill.iter().filter(|(item, _)| left[*item] == 0).count();
            if placed >= DROP_AT {
                wanted.drop_placed(left);
                placed = 0;
            }
        }
        let stranded = left.iter().any(|left| *left > 0);
        let better = |finish: &Finish| finish.weight <= limit && (stranded || finish.weight < weight);
        if let Some(finish) = finish.filter(better) {
            weight = finish.weight;
            finish.instead(&mut nodes, left, stock);
        }
        // What none of those that were tried can hold any more may have a place on the others.
        if weight <= limit && tried.len() < machines.len() && left.iter().any(|left| *left > 0) {
            let others: Vec<usize> =
                machines.iter().copied().filter(|machine| !tried.contains(machine)).collect();
            nodes.extend(self.pack(&others, values, left, stock, limit - weight));
        }
        nodes
    }

    fn bid(
        &mut self,
        machine: usize,
        wanted: &Wanted,
        values: &[f64],
        left: &[u64],
        stock: &Stock<'m>,
    ) -> Option<Bid> {
        if stock.room(machine) == 0 {
            return None;
        }
        let filling = match wanted {
            Wanted::Items(items) => self.filler.fill(machine, items, values, left),
            Wanted::Kinds(kinds) => self.filler.fill_with_kinds(machine, &kinds.0, values, left),
        };
        if filling.fill.is_empty() {
            return None;
        }
        let yields = filling.worth / float(self.model.machines[machine].weight);
        let pods = filling.fill.iter().fold(0, |sum: u64, (_, count)| sum.saturating_add(*count));
        Some(Bid { machine, fill: filling.fill, pods, yields, worth: filling.worth })
    }

    /// The cheapest of the machines that hold all the pods that are left. The last pods are worth little, and what holds
    /// most for its price need not be what is cheapest for them.
    fn one_for_all(&self, bids: &[Bid], pods: u64, left: &[u64], stock: &Stock<'m>) -> Option<(usize, Fill)> {
        let mut able = bids.iter().filter(|bid| bid.pods >= pods && stock.room(bid.machine) > 0).peekable();
        able.peek()?;
        let all: Fill =
            (0..left.len()).map(|item| (item, left[item])).filter(|(_, left)| *left > 0).collect();
        let holds = |bid: &Bid| {
            let mut held = bid.fill.iter();
            all.iter().all(|(item, left)| held.any(|(of, count)| of == item && count >= left))
        };
        let weight = |bid: &&Bid| (self.model.machines[bid.machine].weight, bid.machine);
        let bid = able.filter(|bid| holds(bid)).min_by_key(weight)?;
        Some((self.cheapest_holding(bid.machine, &all, stock), all))
    }

    /// The cheapest machine that holds a filling.
    pub(super) fn cheapest_holding(&self, chosen: usize, fill: &Fill, stock: &Stock<'m>) -> usize {
        let mut needed = vec![0_i64; self.model.asked.len()];
        for (item, count) in fill {
            for (needed, ask) in needed.iter_mut().zip(&self.model.items[*item].shape.request) {
                *needed = needed.saturating_add(ask.saturating_mul(signed(*count)));
            }
        }
        let mut best = chosen;
        for machine in &self.machines {
            let of = &self.model.machines[*machine];
            if of.weight < self.model.machines[best].weight
                && of.capacity.iter().zip(&needed).all(|(there, needed)| there >= needed)
                && fill.iter().all(|(item, _)| self.model.most(*machine, *item) > 0)
                && stock.room(*machine) > 0
            {
                best = *machine;
            }
        }
        best
    }
}

/// A node that holds all that was left at some time.
struct Finish {
    /// After so many nodes.
    after: usize,
    /// What they and it weigh.
    weight: u64,
    machine: usize,
    fill: Fill,
}

impl Finish {
    /// Takes the place of the nodes that came later.
    fn instead(self, nodes: &mut Vec<Node>, left: &mut [u64], stock: &mut Stock<'_>) {
        for node in nodes.drain(self.after..) {
            stock.give_back(node.machine, node.repeat);
            for (item, count) in &node.fill {
                left[*item] += count * node.repeat;
            }
        }
        stock.take(self.machine, 1);
        for (item, count) in &self.fill {
            left[*item] -= count;
        }
        nodes.push(Node { machine: self.machine, fill: self.fill, repeat: 1 });
    }
}

impl Bid {
    /// The better bid is greater; between equals the one that holds more.
    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        self.yields
            .total_cmp(&other.yields)
            .then_with(|| self.worth.total_cmp(&other.worth))
            .then_with(|| other.machine.cmp(&self.machine))
    }
}
