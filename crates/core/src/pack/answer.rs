//! The answer in the caller's terms: what was merged is told apart again.

use super::model::{Fill, Model};
use super::packing::{PackedNode, Packing};
use super::problem::Problem;
use super::solution::Solution;

/// Things of the input that were merged into one, with how many of each are still to be used.
struct Sources(Vec<(usize, u64)>);

impl Sources {
    /// Takes so many, from as few as possible.
    fn take(&mut self, mut count: u64) -> Vec<(usize, u64)> {
        let mut taken = Vec::new();
        while count > 0 {
            let Some((source, there)) = self.0.last_mut() else {
                break;
            };
            let part = count.min(*there);
            taken.push((*source, part));
            count -= part;
            if *there != u64::MAX {
                *there -= part;
            }
            if *there == 0 {
                self.0.pop();
            }
        }
        taken
    }

    /// How many times so many can be taken from the source that is next.
    fn times(&self, count: u64) -> u64 {
        self.0.last().map_or(0, |(_, there)| there / count)
    }
}

/// Writes the nodes, what is left and the cost.
pub(super) fn write(problem: &Problem, model: &Model, solution: &Solution) -> Packing {
    let mut classes: Vec<Sources> = model.items.iter().map(|item| Sources(item.origins.clone())).collect();
    let mut offers: Vec<Sources> =
        model.machines.iter().map(|machine| Sources(machine.origins.clone())).collect();
    let mut packing =
        Packing { left: problem.classes.iter().map(|class| class.count).collect(), ..Packing::default() };
    for node in &solution.nodes {
        let mut repeat = node.repeat;
        while repeat > 0 {
            let alike = node.fill.iter().map(|(item, count)| classes[*item].times(*count)).min().unwrap_or(1);
            let alike = alike.min(offers[node.machine].times(1)).clamp(1, repeat);
            let Some((offer, _)) = offers[node.machine].take(alike).first().copied() else {
                break;
            };
            let fill = take_pods(&mut classes, &node.fill, alike);
            for (class, count) in &fill {
                packing.left[*class] = packing.left[*class].saturating_sub(narrow(count * alike));
            }
            packing.nodes.push(PackedNode {
                offer,
                fill: fill.into_iter().map(|(class, count)| (class, narrow(count))).collect(),
                repeat: narrow(alike),
            });
            packing.cost = packing.cost.saturating_add(problem.offers[offer].price.saturating_mul(alike));
            repeat -= alike;
        }
    }
    packing
}

/// The pods of nodes that are filled alike, as classes and counts of one node.
fn take_pods(classes: &mut [Sources], fill: &Fill, nodes: u64) -> Fill {
    let mut pods = Fill::new();
    for (item, count) in fill {
        if nodes == 1 {
            pods.extend(classes[*item].take(*count));
        } else {
            pods.extend(classes[*item].take(count * nodes).into_iter().map(|(class, _)| (class, *count)));
        }
    }
    pods.sort_unstable();
    pods
}

fn narrow(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
