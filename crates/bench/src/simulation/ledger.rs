use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use windlass_core::model::PodId;
use windlass_core::{Plan, Price, Report, plan};

use super::cluster::{Cluster, Tenant};
use crate::cluster::anew;

/// What came of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What the machines cost, in dollars.
    pub cost: f64,
    /// What machines would have cost that fit the pods at every moment, at no notice: less is impossible.
    pub bound: f64,
    /// How many replicas there were at most.
    pub peak: usize,
    /// How many pods were evicted.
    pub moved: usize,
    /// How many machines were launched.
    pub launched: usize,
    /// How many decisions to let a node go were taken back.
    pub taken_back: usize,
    /// How often was planned.
    pub plans: usize,
    /// How long a pod waited for a node on average.
    pub mean_wait: Duration,
    /// How long one waited at most.
    pub longest_wait: Duration,
    /// How many pods found no room at once after they were moved.
    pub stranded: usize,
    /// How long one waited at most after it was moved.
    pub longest_wait_moved: Duration,
    /// For how long no pod had been moved at the end.
    pub unmoved_for: Duration,
    /// What should not have happened: pods lost or left waiting without a word, nodes overfull.
    pub flaws: Vec<String>,
}

/// Keeps account of a run. Sums are of whole numbers, so that they are exact.
pub(super) struct Ledger {
    begin: Timestamp,
    until: Timestamp,
    /// Millionths of a dollar per hour, times seconds.
    cost: i128,
    bound: i128,
    /// What the pods would cost at least as of the last sample.
    least: Price,
    peak: usize,
    moved: usize,
    launched: usize,
    taken_back: usize,
    plans: usize,
    waits: u32,
    waited: Duration,
    longest: Duration,
    stranded: usize,
    longest_moved: Duration,
    last_move: Timestamp,
    flaws: Vec<String>,
}

impl Ledger {
    pub(super) fn new(begin: Timestamp) -> Self {
        Self {
            begin,
            until: begin,
            cost: 0,
            bound: 0,
            least: Price::ZERO,
            peak: 0,
            moved: 0,
            launched: 0,
            taken_back: 0,
            plans: 0,
            waits: 0,
            waited: Duration::ZERO,
            longest: Duration::ZERO,
            stranded: 0,
            longest_moved: Duration::ZERO,
            last_move: begin,
            flaws: Vec::new(),
        }
    }

    /// Counts what the machines cost until now. A claim is paid for from when it is made until it is no more.
    pub(super) fn pass(&mut self, cluster: &Cluster, now: Timestamp) {
        let seconds = i128::from(now.duration_since(self.until).as_secs());
        let price: Price = cluster.snapshot.claims.values().map(|claim| claim.price()).sum();
        self.cost += i128::from(price.micros()) * seconds;
        self.bound += i128::from(self.least.micros()) * seconds;
        self.until = now;
        self.peak = self.peak.max(cluster.live());
    }

    /// Finds out what the pods would cost at least.
    pub(super) fn sample(&mut self, cluster: &Cluster, now: Timestamp) {
        let mut anew = anew(&cluster.snapshot);
        anew.settings.search_steps = 0;
        self.least = plan(&anew, now).1.lower_bound;
        self.flaws.extend(cluster.flaws());
    }

    /// Notes what was planned: every pod that waits must be expected somewhere, or it must be said why not.
    pub(super) fn planned(&mut self, cluster: &Cluster, plan: &Plan, report: &Report) {
        self.plans += 1;
        let placed = plan.placements.iter().map(|placement| &placement.pod);
        let explained = report.unplaced.iter().flat_map(|group| &group.pods);
        let known: BTreeSet<&PodId> = placed.chain(explained).collect();
        let silent = cluster.waiting.iter().filter(|pod| !known.contains(pod));
        self.flaws.extend(silent.map(|pod| format!("nothing is said of {pod}, which waits")));
    }

    pub(super) fn launched(&mut self) {
        self.launched += 1;
    }

    pub(super) fn taken_back(&mut self) {
        self.taken_back += 1;
    }

    pub(super) fn moved(&mut self, now: Timestamp) {
        self.moved += 1;
        self.last_move = now;
    }

    /// Notes that a pod has waited until now.
    pub(super) fn waited(&mut self, tenant: &Tenant, now: Timestamp) {
        let wait = now.duration_since(tenant.waits_since).unsigned_abs();
        self.waits += 1;
        self.waited += wait;
        self.longest = self.longest.max(wait);
        if tenant.moved {
            self.stranded += usize::from(!wait.is_zero());
            self.longest_moved = self.longest_moved.max(wait);
        }
    }

    pub(super) fn close(mut self, cluster: &Cluster, end: Timestamp) -> Outcome {
        self.flaws.extend(cluster.flaws());
        for tenant in cluster.tenants.values().filter(|tenant| tenant.runs_since.is_none()) {
            self.waited(tenant, end);
        }
        Outcome {
            cost: dollars(self.cost),
            bound: dollars(self.bound),
            peak: self.peak,
            moved: self.moved,
            launched: self.launched,
            taken_back: self.taken_back,
            plans: self.plans,
            mean_wait: self.waited / self.waits.max(1),
            longest_wait: self.longest,
            stranded: self.stranded,
            longest_wait_moved: self.longest_moved,
            unmoved_for: end.duration_since(self.last_move.max(self.begin)).unsigned_abs(),
            flaws: self.flaws,
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "shown with two decimals")]
fn dollars(micros_per_hour_for_seconds: i128) -> f64 {
    micros_per_hour_for_seconds as f64 / 3.6e9
}
