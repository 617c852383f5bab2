//! Makes the mix of patterns whole. What it takes whole is taken; then one pattern after another is rounded up, the one
//! that is nearest to whole first, and the mix for what is left is found anew.

use super::budget::Budget;
use super::greedy::Greedy;
use super::model::{Fill, Model};
use super::patterns::Patterns;
use super::solution::{Node, Solution};
use super::stock::Stock;

/// Rounds a mix. What is left when the budget is down to a part is packed greedily at the mix' prices.
pub(super) fn dive<'m>(
    model: &'m Model,
    patterns: &mut Patterns<'m>,
    values: &[f64],
    budget: &mut dyn Budget,
    until: f64,
) -> Solution {
    let mut stock = Stock::new(model);
    let mut solution = Solution { nodes: Vec::new(), left: model.counts() };
    let mut greedy = Greedy::new(model);
    let order = largest_first(model);
    while solution.left_over() > 0 && budget.left() > until {
        let mut moved = false;
        for node in patterns.whole() {
            moved |= place(&mut solution, &mut stock, node);
        }
        if !moved {
            let nearest = patterns.cover.mix().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
            let Some((pattern, _)) = nearest.filter(|(_, level)| *level > 1e-6) else {
                break;
            };
            let pattern = &patterns.known[pattern];
            let mut fill: Fill = pattern.fill.clone();
            for (item, count) in &mut fill {
                *count = (*count).min(solution.left[*item]);
            }
            fill.retain(|(_, count)| *count > 0);
            greedy.filler.top_up(pattern.machine, &mut fill, &order, &solution.left);
            let machine = greedy.cheapest_holding(pattern.machine, &fill, &stock);
            if !place(&mut solution, &mut stock, Node { machine, fill, repeat: 1 }) {
                break;
            }
        }
        let needs = patterns.needs(&solution.left, &stock);
        patterns.cover.need_instead(needs, 20 * (model.items.len() + 10), || budget.left() > until);
    }
    let rest = greedy.pack_all(values, &mut solution.left, &mut stock);
    solution.nodes.extend(rest);
    solution.join();
    solution
}

/// Takes nodes as far as there are pods and stock for them. Says whether there were any.
fn place(solution: &mut Solution, stock: &mut Stock<'_>, mut node: Node) -> bool {
    let pods = node.fill.iter().map(|(item, count)| solution.left[*item] / count).min().unwrap_or(0);
    node.repeat = node.repeat.min(pods).min(stock.room(node.machine));
    if node.repeat == 0 {
        return false;
    }
    stock.take(node.machine, node.repeat);
    for (item, count) in &node.fill {
        solution.left[*item] -= count * node.repeat;
    }
    solution.nodes.push(node);
    true
}

/// Items in the order in which they fill up a node: large ones first, for small ones fit beside them.
fn largest_first(model: &Model) -> Vec<usize> {
    let mut order: Vec<usize> = (0..model.items.len()).collect();
    let size = |item: usize| model.ask(item).iter().sum::<f64>();
    order.sort_by(|a, b| size(*b).total_cmp(&size(*a)).then(a.cmp(b)));
    order
}
