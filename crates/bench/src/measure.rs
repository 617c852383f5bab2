//! How long a plan takes, what it costs and what it could cost at least.
#![allow(clippy::disallowed_methods, reason = "what is measured is real time")]

use std::time::{Duration, Instant};

use windlass_core::model::Snapshot;
use windlass_core::plan::plan_within;

use crate::cluster::now;

/// How long plans are searched for by default.
pub const SEARCH: Duration = Duration::from_millis(300);

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// How many pods wait.
    pub pods: usize,
    /// How many of them get no place.
    pub unplaced: usize,
    /// How many machines are launched.
    pub launches: usize,
    /// What these cost, as a multiple of the least that any plan would.
    pub gap: f64,
    /// The same without a search.
    pub first_gap: f64,
    /// How long a plan takes without a search.
    pub first: Duration,
    /// How long it takes with one.
    pub whole: Duration,
}

/// Measures planning for a cluster.
pub fn measure(snapshot: &Snapshot) -> Figures {
    let pods = snapshot.pods.values().filter(|pod| pod.node().is_none()).count();
    let (first, _, _) = timed(snapshot, Duration::ZERO);
    let (mut best, mut plan, mut report) = timed(snapshot, SEARCH);
    // The first run warms the caches; of the others the quickest is nearest to what the work takes.
    let (mut first, mut runs) = (first, 0);
    let begin = Instant::now();
    let mut first_cost = 0.0;
    while runs < 3 || (begin.elapsed() < Duration::from_millis(200) && runs < 100) {
        let (took, _, quick) = timed(snapshot, Duration::ZERO);
        first = first.min(took);
        first_cost = dollars(quick.cost);
        runs += 1;
    }
    for _ in 0..2 {
        let (took, other, words) = timed(snapshot, SEARCH);
        if took < best {
            (best, plan, report) = (took, other, words);
        }
    }
    let bound = dollars(report.lower_bound);
    let gap = |cost: f64| if bound > 0.0 { cost / bound } else { 1.0 };
    Figures {
        pods,
        unplaced: report.unplaced.iter().map(|group| group.pods.len()).sum(),
        launches: plan.launches.len(),
        gap: gap(dollars(report.cost)),
        first_gap: gap(first_cost),
        first,
        whole: best,
    }
}

/// Plans with so much time for the search.
pub fn timed(
    snapshot: &Snapshot,
    search: Duration,
) -> (Duration, windlass_core::Plan, windlass_core::Report) {
    let begin = Instant::now();
    let mut started = None;
    let mut budget = || {
        if search.is_zero() {
            return 0.0;
        }
        let started = *started.get_or_insert_with(Instant::now);
        1.0 - started.elapsed().as_secs_f64() / search.as_secs_f64()
    };
    let (plan, report) = plan_within(snapshot, now(), &mut budget);
    (begin.elapsed(), plan, report)
}

#[allow(clippy::cast_precision_loss, reason = "shown with four decimals")]
fn dollars(price: windlass_core::Price) -> f64 {
    price.micros() as f64
}
