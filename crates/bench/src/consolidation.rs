//! How quickly it is found out which nodes of a half-empty cluster can go, and how good the answer is.
#![allow(clippy::disallowed_methods, reason = "what is measured is real time")]

use std::sync::Arc;
use std::time::Duration;

use windlass_core::Price;
use windlass_core::model::{Consolidation, Labels, Snapshot};

use crate::catalogue::fake;
use crate::cluster::{anew, empty, run, stand};
use crate::demand::{Demand, asking};
use crate::dice::Dice;
use crate::measure::{SEARCH, timed};

/// A cluster that has shrunk, and what can be done about it.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// How many nodes there are.
    pub nodes: usize,
    /// How many pods run.
    pub pods: usize,
    /// How many nodes go.
    pub gone: usize,
    /// How many are launched in their place.
    pub launched: usize,
    /// How many pods move.
    pub moved: usize,
    /// What the nodes cost before and after, as multiples of the least that the same pods would cost anywhere.
    pub before: f64,
    /// The same once the plan is carried out.
    pub after: f64,
    /// How long that took to find out.
    pub took: Duration,
}

/// Nodes of sixteen cores that were full once, on which pods are left here and there.
pub fn half_empty(nodes: usize, pods: usize) -> Snapshot {
    let types = fake();
    let mut snapshot = empty(types.clone());
    if let Some(kind) = types.get(15) {
        for number in 0..nodes {
            stand(&mut snapshot, &format!("node-{number}"), kind, number % kind.offerings.len());
        }
    }
    let mut dice = Dice(7);
    let running: Vec<Demand> = (0..pods)
        .map(|number| {
            let milli = dice.pick(&[100, 200, 250, 300, 400, 500, 800, 1_000]);
            (asking(milli, 2 * milli, 0), Labels::new().with("app", &format!("service-{}", number % 300)))
        })
        .collect();
    let names: Vec<usize> = (0..nodes).collect();
    let homes: Vec<usize> = (0..pods).map(|_| dice.pick(&names)).collect();
    run(&mut snapshot, "r", running, |number| {
        format!("node-{}", homes.get(number).copied().unwrap_or_default()).into()
    });
    for pool in Arc::make_mut(&mut snapshot.pools).values_mut() {
        Arc::make_mut(pool).consolidation = Consolidation::Underutilized;
    }
    snapshot
}

/// Measures consolidating a cluster.
pub fn measure(snapshot: &Snapshot) -> Figures {
    let (mut took, mut plan, _) = timed(snapshot, SEARCH);
    for _ in 0..2 {
        let (again, other, _) = timed(snapshot, SEARCH);
        if again < took {
            (took, plan) = (again, other);
        }
    }
    let going: Vec<_> = plan.going().map(|(claim, ..)| claim).collect();
    let price = |claim| snapshot.claims.get(claim).map_or(Price::ZERO, |claim| claim.price());
    let before = snapshot.claims.keys().map(price).sum::<Price>();
    let saved = going.iter().copied().map(price).sum::<Price>();
    let bound = timed(&anew(snapshot), SEARCH).2.lower_bound;
    let moves = |node: &windlass_core::Text| going.contains(&node);
    let moved = snapshot.pods.values().filter(|pod| pod.node().is_some_and(moves)).count();
    let of_bound = |price: Price| dollars(price) / dollars(bound).max(1.0);
    Figures {
        nodes: snapshot.claims.len(),
        pods: snapshot.pods.len(),
        gone: going.len(),
        launched: plan.launches.len(),
        moved,
        before: of_bound(before),
        after: of_bound(Price::from_micros(before.micros() - saved.micros() + plan.launch_cost().micros())),
        took,
    }
}

#[allow(clippy::cast_precision_loss, reason = "shown with three decimals")]
fn dollars(price: Price) -> f64 {
    price.micros() as f64
}
