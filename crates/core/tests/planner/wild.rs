//! No input takes the planner down.

use proptest::prelude::*;
use windlass_core::Price;
use windlass_core::model::{PodShape, Pool, Resources};

use crate::cluster::Cluster;
use crate::shapes::{asks, claim, machine, pool, size};

/// Amounts at and beyond the edge of sense.
fn any_amount() -> impl Strategy<Value = i64> {
    prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(0), Just(-1), any::<i64>(), 0..100_000_i64]
}

fn any_amounts() -> impl Strategy<Value = Resources> {
    (any_amount(), any_amount(), any_amount()).prop_map(|(cpu, memory, pods)| {
        Resources::from_iter([("cpu", cpu), ("memory", memory), ("pods", pods)])
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_numbers_are_too_wild(
        amounts in proptest::collection::vec(any_amounts(), 6),
        prices in proptest::collection::vec(any_amount(), 2),
        nodes in proptest::option::of(any::<u32>()),
        percents in any::<(u32, u32)>(),
        ratio in any::<usize>(),
    ) {
        let mut machines = vec![machine("a", 1, 1, "0"), machine("b", 1, 1, "0")];
        for (machine, (price, amounts)) in machines.iter_mut().zip(prices.iter().zip(amounts.chunks(2))) {
            machine.offerings[0].price = Price::from_micros(*price);
            (machine.capacity, machine.allocatable) = (amounts[0].clone(), amounts[1].clone());
        }
        let wild = Pool { limits: amounts[4].clone(), max_nodes: nodes, ..pool("wild", machines.clone()) };
        let shape = PodShape { requests: amounts[5].clone(), ..PodShape::default() };
        let mut cluster = Cluster::new([wild]).pending("wild", 20, shape.clone());
        cluster = cluster.standing("old", "wild", &machines[0]).bound("old", 3, shape, "node-of-old");
        cluster = cluster.claim(claim("new", "wild", &machines)).daemon_set("agent", asks(100, 64));
        cluster = cluster.node(crate::shapes::node("foreign", size(1, 1)));
        cluster.0.settings.alternatives = ratio;
        (cluster.0.settings.max_price_ratio_percent, cluster.0.settings.max_sick_percent) = percents;
        let (plan, report) = cluster.plan();
        prop_assert_eq!(plan.placements.len() + report.unplaced.iter().map(|each| each.pods.len()).sum::<usize>(), 20);
    }
}
