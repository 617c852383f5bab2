//! Whether an answer is one at all.

use std::collections::BTreeMap;

use windlass_core::pack::{Packing, Problem};

/// Every pod is placed once or left over, nothing holds more than it can, no limit is broken, and the sums are right.
pub fn check(problem: &Problem, packing: &Packing) {
    let mut placed = vec![0_u64; problem.classes.len()];
    let mut of_offer: BTreeMap<usize, u64> = BTreeMap::new();
    let mut cost = 0;
    for node in &packing.nodes {
        assert!(node.repeat > 0 && !node.fill.is_empty(), "a node is there for its pods: {node:?}");
        let offer = &problem.offers[node.offer];
        let mut used = vec![0_i64; problem.slots.len()];
        let mut load: BTreeMap<usize, i64> = BTreeMap::new();
        for (class, count) in &node.fill {
            assert!(*count > 0);
            placed[*class] += u64::from(*count) * u64::from(node.repeat);
            let class = &problem.classes[*class];
            assert!(class.offers.contains(node.offer), "the class may use the offer");
            for (dim, ask) in class.request.iter().enumerate() {
                *load.entry(dim).or_default() += ask.max(&0) * i64::from(*count);
            }
            for (slot, ask) in &class.slots {
                used[*slot] += ask.max(&0) * i64::from(*count);
            }
        }
        for (dim, load) in load.into_iter().filter(|(_, load)| *load > 0) {
            assert!(load <= offer.capacity.get(dim).copied().unwrap_or(0), "the node holds its pods");
        }
        let there = || node.fill.iter().map(|(class, _)| &problem.classes[*class]);
        for shunned in there().flat_map(|class| &class.shuns) {
            assert!(!there().any(|class| class.marks.contains(shunned)), "{shunned} is shunned");
        }
        assert!(used.iter().zip(&problem.slots).all(|(used, there)| *used == 0 || used <= there));
        *of_offer.entry(node.offer).or_default() += u64::from(node.repeat);
        cost += offer.price * u64::from(node.repeat);
    }
    for ((class, placed), left) in problem.classes.iter().zip(placed).zip(&packing.left) {
        assert_eq!(placed + u64::from(*left), u64::from(class.count), "every pod is placed or left over");
    }
    assert_eq!(cost, packing.cost);
    assert!(packing.lower_bound <= packing.cost, "{} <= {}", packing.lower_bound, packing.cost);
    for (offer, nodes) in &of_offer {
        assert!(problem.offers[*offer].available.is_none_or(|available| *nodes <= u64::from(available)));
    }
    for (number, left) in problem.stores.iter().enumerate() {
        for (dim, left) in left.iter().enumerate() {
            let drawing = of_offer.iter().filter(|(offer, _)| problem.offers[**offer].store == Some(number));
            let taken = drawing.map(|(offer, nodes)| {
                problem.offers[*offer].takes.get(dim).copied().unwrap_or(0) * i64::try_from(*nodes).unwrap()
            });
            let taken: i64 = taken.sum();
            assert!(taken == 0 || taken <= *left, "the store has what is taken of it");
        }
    }
    for (number, pool) in problem.pools.iter().enumerate() {
        let of_pool = || of_offer.iter().filter(|(offer, _)| problem.offers[**offer].pool == number);
        let nodes: u64 = of_pool().map(|(_, nodes)| nodes).sum();
        assert!(
            pool.max_nodes.is_none_or(|most| nodes <= u64::from(most)),
            "the pool has room for the nodes"
        );
        for (dim, limit) in pool.limits.iter().enumerate() {
            let counted = of_pool().map(|(offer, nodes)| {
                problem.offers[*offer].counted.get(dim).copied().unwrap_or(0) * i64::try_from(*nodes).unwrap()
            });
            let counted: i64 = counted.sum();
            assert!(limit.is_none_or(|limit| counted == 0 || counted <= limit), "the pool keeps its limits");
        }
    }
}
