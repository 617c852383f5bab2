//! Problems of all kinds.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use windlass_core::pack::{Class, Offer, OfferSet, Pool, Problem};

fn any_offer() -> impl Strategy<Value = Offer> {
    let capacity = (0..17_i64, 0..65_i64, 0..12_i64, 0..3_i64);
    let price = prop_oneof![1 => Just(0), 9 => 1..2_000_000_u64];
    let draw = (option::weighted(0.4, 0..3_usize), vec(0..9_i64, 0..3));
    (capacity, price, option::weighted(0.2, 0..5_u32), 0..3_usize, draw).prop_map(
        |((cores, memory, pods, gpus), price, available, pool, (store, takes))| Offer {
            capacity: vec![cores * 1000, memory << 30, pods, gpus],
            price,
            available,
            pool,
            counted: vec![cores, memory],
            store,
            takes,
        },
    )
}

fn any_class(offers: usize) -> impl Strategy<Value = Class> {
    let request = (0..9_000_i64, 0..(20_i64 << 30), 0..2_i64, 0..8_i64);
    let slots = vec((0..3_usize, 1..3_i64), 0..2);
    let shy = (vec(0..3_usize, 0..2), vec(0..3_usize, 0..2));
    (request, slots, shy, 0..40_u32, vec(any::<bool>(), offers), any::<bool>()).prop_map(
        move |((cores, memory, pods, gpus), slots, (marks, shuns), count, some, all)| Class {
            count,
            shuns: shuns.into_iter().filter(|mark| !marks.contains(mark)).collect(),
            marks,
            request: vec![cores, memory, pods, gpus - 6],
            slots,
            offers: (0..offers).filter(|offer| all || some[*offer]).collect::<OfferSet>(),
        },
    )
}

/// Problems with limits of all kinds, free machines, and pods that fit nowhere.
pub fn any_problem() -> impl Strategy<Value = Problem> {
    let pool = (option::weighted(0.3, 0..9_u32), vec(option::weighted(0.3, 0..200_i64), 0..3))
        .prop_map(|(max_nodes, limits)| Pool { max_nodes, limits });
    let stores = vec(vec(0..40_i64, 2), 0..3);
    (vec(any_offer(), 0..9), vec(pool, 0..3), stores).prop_flat_map(|(offers, pools, stores)| {
        vec(any_class(offers.len()), 0..9).prop_map(move |classes| Problem {
            classes,
            offers: offers.clone(),
            pools: pools.clone(),
            slots: vec![1, 1, 3],
            stores: stores.clone(),
        })
    })
}

/// Problems so small that every answer can be tried.
pub fn small_problem(limited: bool) -> impl Strategy<Value = Problem> {
    let available = option::of(1..3_u32).prop_map(move |available| available.filter(|_| limited));
    let offer =
        (2..10_i64, 2..10_i64, 10..100_u64, available).prop_map(|(cores, memory, price, available)| Offer {
            capacity: vec![cores, memory],
            price: price * 1000,
            available,
            ..Offer::default()
        });
    let class = (1..4_u32, 1..6_i64, 1..6_i64, 0..4_usize, vec(any::<bool>(), 3)).prop_map(
        |(count, cores, memory, slot, some)| Class {
            count,
            request: vec![cores, memory],
            slots: if slot == 0 { vec![(0, 1)] } else { Vec::new() },
            marks: Vec::new(),
            shuns: Vec::new(),
            offers: (0..3).filter(|offer| slot > 1 || some[*offer]).collect(),
        },
    );
    (vec(offer, 1..4), vec(class, 1..4)).prop_map(|(offers, classes)| Problem {
        classes,
        offers,
        pools: Vec::new(),
        slots: vec![1],
        stores: Vec::new(),
    })
}

/// The same with machines that are cut from one or two stores, each of which takes as much as it has.
pub fn small_problem_with_stores() -> impl Strategy<Value = Problem> {
    let stores = vec((2..20_i64, 2..20_i64), 1..3);
    let sources = vec(option::weighted(0.8, 0..2_usize), 3);
    (small_problem(true), stores, sources).prop_map(|(mut problem, stores, sources)| {
        problem.stores = stores.into_iter().map(|(cores, memory)| vec![cores, memory]).collect();
        for (offer, source) in problem.offers.iter_mut().zip(sources) {
            (offer.store, offer.takes) = (source, offer.capacity.clone());
        }
        problem
    })
}
