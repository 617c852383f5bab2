//! What holds for every problem.

use proptest::prelude::*;
use windlass_core::pack::{Options, Problem, Steps, greedy, solve};

use crate::check::check;
use crate::random::any_problem;

/// The same problem listed in another order.
fn shuffled(problem: &Problem, seed: u64) -> Problem {
    let order = |count: usize, seed: u64| {
        let key = |number: &usize| {
            (*number as u64 + 1).wrapping_mul(seed | 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20
        };
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(key);
        order
    };
    let stores = order(problem.stores.len(), seed >> 7);
    let (offers, pools) = (order(problem.offers.len(), seed), order(problem.pools.len(), seed >> 3));
    let mut other = problem.clone();
    other.pools = pools.iter().map(|pool| problem.pools[*pool].clone()).collect();
    other.stores = stores.iter().map(|store| problem.stores[*store].clone()).collect();
    other.offers = offers.iter().map(|offer| problem.offers[*offer].clone()).collect();
    for offer in &mut other.offers {
        offer.pool = pools.iter().position(|pool| *pool == offer.pool).unwrap_or(offer.pool);
        offer.store = offer.store.and_then(|of| stores.iter().position(|store| *store == of));
    }
    let classes = order(problem.classes.len(), seed >> 5);
    other.classes = classes.iter().map(|class| problem.classes[*class].clone()).collect();
    for class in &mut other.classes {
        let allowed = offers.iter().enumerate().filter(|(_, offer)| class.offers.contains(**offer));
        class.offers = allowed.map(|(place, _)| place).collect();
    }
    other
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn pods_are_placed_within_all_limits_or_left_over(problem in any_problem(), credit in 0..1000_u16) {
        for options in [Options::default(), Options { credit_permille: credit }] {
            check(&problem, &greedy(&problem, options));
            check(&problem, &solve(&problem, options, &mut Steps::new(120)));
        }
    }

    #[test]
    fn the_cost_does_not_depend_on_the_order_of_the_input(problem in any_problem(), seed in any::<u64>()) {
        let other = shuffled(&problem, seed);
        let options = Options::default();
        prop_assert_eq!(greedy(&problem, options).cost, greedy(&other, options).cost);
        let (one, two) = (
            solve(&problem, options, &mut Steps::new(60)),
            solve(&other, options, &mut Steps::new(60)),
        );
        prop_assert_eq!((one.cost, one.lower_bound), (two.cost, two.lower_bound));
    }

    #[test]
    fn the_same_problem_has_the_same_answer(problem in any_problem()) {
        let answer = || solve(&problem, Options::default(), &mut Steps::new(60));
        prop_assert_eq!(answer(), answer());
    }

    #[test]
    fn more_budget_never_costs_more_for_the_same_pods(problem in any_problem()) {
        let quick = greedy(&problem, Options::default());
        let long = solve(&problem, Options::default(), &mut Steps::new(100));
        let left = |left: &[u32]| left.iter().map(|left| u64::from(*left)).sum::<u64>();
        prop_assert!(left(&long.left) <= left(&quick.left));
        if left(&long.left) == left(&quick.left) {
            // Nodes that cost nothing are still counted, as a millionth of a dollar each.
            prop_assert!(long.cost <= quick.cost + quick.node_count());
        }
    }
}
