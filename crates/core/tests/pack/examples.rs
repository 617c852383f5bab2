//! Cases worth telling.

use windlass_core::pack::{Class, Offer, OfferSet, Options, Packing, Pool, Problem, Steps, greedy, solve};

use crate::check::check;

fn offer(cores: i64, gib: i64, price: u64) -> Offer {
    Offer { capacity: vec![cores * 1000, gib << 30, 110], price, counted: vec![cores], ..Offer::default() }
}

fn class(count: u32, milli: i64, mib: i64) -> Class {
    Class { count, request: vec![milli, mib << 20, 1], offers: OfferSet::first(64), ..Class::default() }
}

fn problem(classes: Vec<Class>, offers: Vec<Offer>) -> Problem {
    Problem { classes, offers, pools: vec![Pool::default()], slots: vec![1], ..Problem::default() }
}

fn solved(problem: &Problem) -> Packing {
    let packing = solve(problem, Options::default(), &mut Steps::new(300));
    check(problem, &packing);
    packing
}

#[test]
fn nothing_to_place_costs_nothing() {
    for problem in [
        Problem::default(),
        problem(Vec::new(), vec![offer(4, 8, 100)]),
        problem(vec![class(0, 100, 100)], vec![offer(4, 8, 100)]),
    ] {
        let packing = solved(&problem);
        assert_eq!((packing.cost, packing.lower_bound, packing.nodes.len()), (0, 0, 0));
    }
}

#[test]
fn pods_that_no_offer_can_hold_are_left_over_and_the_others_are_not() {
    let mut nowhere = class(3, 100, 100);
    nowhere.offers = OfferSet::default();
    let packing =
        solved(&problem(vec![nowhere, class(2, 9_000, 100), class(5, 500, 100)], vec![offer(4, 8, 100)]));
    assert_eq!(packing.left, [3, 2, 0]);
    assert_eq!(packing.cost, 100);
}

#[test]
fn without_any_budget_all_pods_still_get_a_place() {
    let problem =
        problem(vec![class(70, 900, 700), class(33, 300, 3_000)], vec![offer(4, 8, 100), offer(8, 32, 230)]);
    let packing = solve(&problem, Options::default(), &mut Steps::new(0));
    check(&problem, &packing);
    assert_eq!(packing.left, [0, 0]);
    assert_eq!(packing.cost, greedy(&problem, Options::default()).cost);
}

#[test]
fn when_the_best_offer_runs_out_the_next_best_is_used() {
    let mut cheap = offer(4, 8, 100_000);
    cheap.available = Some(3);
    let packing = solved(&problem(vec![class(20, 2_000, 1_000)], vec![cheap, offer(4, 8, 150_000)]));
    assert_eq!(packing.left, [0]);
    assert_eq!(packing.cost, 3 * 100_000 + 7 * 150_000);
    assert!(packing.lower_bound >= packing.cost - 10, "what is scarce is counted in the bound");
}

#[test]
fn a_full_pool_leaves_pods_over() {
    let mut problem = problem(vec![class(100, 1_000, 100)], vec![offer(4, 8, 100), offer(8, 16, 190)]);
    problem.pools[0] = Pool { max_nodes: Some(6), limits: vec![Some(30)] };
    let packing = solved(&problem);
    assert_eq!(packing.placed(), 28, "seven units of four cores: the limit of thirty leaves a rest of two");
}

#[test]
fn of_machines_that_cost_nothing_no_more_are_taken_than_needed() {
    let free = Offer { available: Some(4), ..offer(16, 64, 0) };
    let packing = solved(&problem(vec![class(30, 1_000, 1_000)], vec![free.clone(), offer(16, 64, 500_000)]));
    assert_eq!((packing.cost, packing.lower_bound, packing.node_count()), (0, 0, 2));
    let packing = solved(&problem(vec![class(80, 1_000, 1_000)], vec![free, offer(16, 64, 500_000)]));
    assert_eq!((packing.cost, packing.node_count()), (500_000, 5));
}

#[test]
fn pods_that_keep_apart_get_a_node_each_and_others_fill_it() {
    let apart = Class { slots: vec![(0, 1)], ..class(50, 500, 500) };
    let packing =
        solved(&problem(vec![apart, class(150, 500, 500)], vec![offer(2, 4, 100), offer(8, 16, 390)]));
    assert_eq!(packing.node_count(), 50);
    assert_eq!((packing.cost, packing.left), (5_000, vec![0, 0]));
}

#[test]
fn hundreds_of_slots_are_kept() {
    let apart = (0..400).map(|slot| Class {
        slots: vec![(slot, 1)],
        ..class(3, 500 + 10 * i64::try_from(slot % 7).unwrap(), 500)
    });
    let mut problem = problem(apart.collect(), vec![offer(8, 16, 390), offer(16, 32, 770)]);
    problem.slots = vec![1; 400];
    let packing = solved(&problem);
    assert!(packing.left.iter().all(|left| *left == 0));
    assert!(packing.cost * 10 <= packing.lower_bound * 12);
}

#[test]
fn classes_of_the_same_shape_keep_their_own_counts() {
    let packing = solved(&problem(
        vec![class(7, 500, 500), class(8, 500, 500), class(1, 500, 500)],
        vec![offer(4, 8, 100)],
    ));
    assert_eq!((packing.node_count(), packing.left), (2, vec![0, 0, 0]));
}

#[test]
fn offers_of_the_same_shape_keep_their_own_counts() {
    let offers = vec![
        Offer { available: Some(2), ..offer(4, 8, 100) },
        Offer { available: Some(3), ..offer(4, 8, 100) },
    ];
    let packing = solved(&problem(vec![class(40, 1_000, 100)], offers));
    assert_eq!((packing.node_count(), packing.left), (5, vec![20]));
}

#[test]
fn credit_for_free_room_takes_the_machine_that_is_better_in_the_long_run() {
    let problem =
        problem(vec![class(3, 1_000, 1_000)], vec![offer(4, 8, 1_000_000), offer(64, 128, 6_000_000)]);
    assert_eq!(solved(&problem).cost, 1_000_000);
    let packing = solve(&problem, Options { credit_permille: 900 }, &mut Steps::new(100));
    check(&problem, &packing);
    assert_eq!(packing.cost, 6_000_000);
}

#[test]
fn huge_numbers_do_no_harm() {
    let huge = Class { count: u32::MAX, request: vec![1 << 40, 1 << 50, 1], ..class(1, 1, 1) };
    let machine = Offer { capacity: vec![1 << 45, 1 << 55, 1 << 40], price: 1 << 30, ..Offer::default() };
    let packing = solved(&problem(vec![huge, class(5, i64::MAX >> 30, 1)], vec![machine]));
    assert_eq!(packing.left, [0, 0]);
}

#[test]
fn values_of_resources_explain_the_prices() {
    let packing = solved(&problem(
        vec![class(4_000, 1_000, 4_096)],
        vec![offer(16, 32, 320_000), offer(16, 64, 400_000)],
    ));
    let worth =
        packing.resource_values[0] * 16_000.0 + packing.resource_values[1] * 64.0 * 1024.0 * 1024.0 * 1024.0;
    assert!((worth - 400_000.0).abs() < 4_000.0, "{worth}");
}

#[test]
fn pods_that_shun_each_other_do_not_share_a_node_and_both_share_with_others() {
    let marked = Class { marks: vec![7], ..class(6, 500, 500) };
    let shy = Class { shuns: vec![7], ..class(6, 500, 500) };
    let packing =
        solved(&problem(vec![marked, shy, class(12, 500, 500)], vec![offer(2, 4, 100), offer(4, 8, 190)]));
    assert!(packing.left.iter().all(|left| *left == 0));
    assert!(packing.nodes.iter().any(|node| node.fill.len() > 1));
}

#[test]
fn offers_that_draw_on_one_store_share_what_it_has() {
    let shape = |cores: i64| Offer {
        store: Some(0),
        takes: vec![cores, cores * 4],
        ..offer(cores, cores * 4, cores.unsigned_abs() * 100)
    };
    let mut problem = problem(vec![class(30, 1_000, 1_000)], vec![shape(2), shape(4), shape(8)]);
    problem.stores = vec![vec![15, 100]];
    let packing = solved(&problem);
    assert_eq!(packing.placed(), 14, "of fifteen cores no shape can have the last");
}

#[test]
fn what_a_store_has_least_of_decides_how_many_are_cut_from_it() {
    let shape = Offer { store: Some(0), takes: vec![4, 10], ..offer(4, 10, 100_000) };
    let elsewhere = offer(4, 10, 150_000);
    let mut problem = problem(vec![class(20, 2_000, 1_000)], vec![shape, elsewhere]);
    problem.stores = vec![vec![64, 35]];
    let packing = solved(&problem);
    assert_eq!((packing.left.as_slice(), packing.cost), (&[0][..], 3 * 100_000 + 7 * 150_000));
    assert!(packing.lower_bound >= packing.cost - 10, "what is scarce is counted in the bound");
}

#[test]
fn a_store_with_nothing_left_gives_nothing_and_one_that_nothing_is_taken_of_has_no_end() {
    let of = |takes: i64| Offer { store: Some(0), takes: vec![takes], ..offer(4, 8, 100) };
    for (offer, placed) in [(of(1), 0), (of(0), 9), (Offer { store: Some(7), ..of(1) }, 9)] {
        let mut problem = problem(vec![class(9, 2_000, 1_000)], vec![offer]);
        problem.stores = vec![vec![0]];
        assert_eq!(solved(&problem).placed(), placed);
    }
}
