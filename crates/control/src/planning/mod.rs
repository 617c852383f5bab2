//! The planning loop: waits for something to change, lets things settle, asks the pure planner, and hands its decision to
//! the executor, which makes no choices of its own.

mod claim;
mod executor;
mod futile;
mod room;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use jiff::Timestamp;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tracing::{debug, info, warn};
use windlass_core::Text;
use windlass_core::model::{PodId, PodState, Snapshot};
use windlass_core::pack::Budget;
use windlass_core::plan::Target;
use windlass_core::plan::plan_within;
use windlass_core::{Plan, Report, plan};
use windlass_providers::Clock;

pub(crate) use claim::{adopted_claim, asked_claim};
pub(crate) use executor::Executor;
pub(crate) use room::Room;
pub(crate) use write::Still;

use crate::Settings;
use crate::controller::Bus;
use crate::events::{Note, about_ours, about_pod};
use crate::index::Index;
use crate::lifecycle::{nominate, waits_for};
use futile::futile;

/// Plans, and has plans carried out.
pub(crate) struct Planner {
    pub(crate) bus: Arc<Bus>,
    pub(crate) executor: Arc<Executor>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: Arc<Settings>,
}

impl Planner {
    /// Plans, for ever.
    pub(crate) async fn run(&self) {
        let mut next = Instant::now();
        let mut creations = JoinSet::new();
        let mut nominations = JoinSet::new();
        let mut last = Instant::now();
        loop {
            if let Some(first_change) = self.change(last, next).await {
                self.let_settle(first_change).await;
            }
            last = Instant::now();
            next = last + self.settings.plan_interval;
            let Some(decision) = self.decide() else { continue };
            if let Some(wake_at) = decision.wake_at {
                next = next.min(Instant::now() + until(wake_at, self.clock.now()));
            }
            self.executor.carry_out(&decision, &mut creations).await;
            while nominations.try_join_next().is_some() {}
            if self.settings.nominates && nominations.is_empty() {
                nominations.spawn(self.nominations(&decision));
            }
        }
    }

    /// Tells the scheduler of the pods that fit on nodes that are there: it tries again by itself only when it sees a
    /// reason to, and may give their room to others. There may be thousands, and new pods must not wait for that, so this
    /// is done beside planning.
    fn nominations(&self, decision: &Plan) -> impl Future<Output = ()> + Send + 'static {
        let mut by_node: BTreeMap<Text, Vec<PodId>> = BTreeMap::new();
        {
            let index = self.bus.index.lock();
            for placement in &decision.placements {
                let Target::Node(node) = &placement.target else { continue };
                let given_up_on = index.pod(&placement.pod).filter(|pod| {
                    matches!(pod.state, PodState::Unschedulable { .. }) && waits_for(&index, pod, node)
                });
                if given_up_on.is_some() {
                    by_node.entry(node.clone()).or_default().push(placement.pod.clone());
                }
            }
        }
        let (client, bus, clock) = (self.executor.client.clone(), self.bus.clone(), self.clock.clone());
        async move {
            for (node, pods) in by_node {
                nominate(&client, &bus, &*clock, &pods, &node).await;
            }
        }
    }

    /// Waits for a change until then; when it came. What changed while the last plan was carried out counts from that
    /// plan on: its pods have waited since then, for all that is known.
    async fn change(&self, last_plan: Instant, until: Instant) -> Option<Instant> {
        if self.bus.plan.notified().now_or_never().is_some() {
            return Some(last_plan);
        }
        tokio::select! {
            () = self.bus.plan.notified() => Some(Instant::now()),
            () = sleep_until(until) => None,
        }
    }

    /// Waits until nothing has changed for a while, but not for ever.
    async fn let_settle(&self, first_change: Instant) {
        let (longest, shortest) = (self.settings.batch_max, self.settings.batch_idle);
        let latest = (first_change + longest).max(Instant::now() + shortest);
        loop {
            tokio::select! {
                () = sleep(self.settings.batch_idle) => return,
                again = timeout_at(latest, self.bus.plan.notified()) => {
                    if again.is_err() {
                        return;
                    }
                }
            }
        }
    }

    fn decide(&self) -> Option<Plan> {
        let snapshot = {
            let index = self.bus.index.lock();
            index.is_synced().then(|| index.snapshot(&self.plan_settings(&index)))?
        };
        let started = Instant::now();
        let now = self.clock.now();
        let (mut decision, mut report) = self.ask(&snapshot, now);
        let futile = futile(&snapshot, &decision);
        if !futile.is_empty() {
            warn!(pods = futile.len(), "pods do not run on the empty nodes that were launched for them");
            let snapshot = {
                let mut index = self.bus.index.lock();
                for pod in &futile {
                    index.hold_pod(pod, &self.settings, now);
                }
                index.snapshot(&self.plan_settings(&index))
            };
            (decision, report) = self.ask(&snapshot, now);
        }
        let took = started.elapsed();
        let unplaced = report.unplaced.iter().map(|group| group.pods.len()).sum();
        self.bus.metrics.planned(unplaced, took);
        if decision.is_empty() {
            debug!(unplaced, ?took, "nothing to do");
        } else {
            info!(
                launches = decision.launches.len(),
                disruptions = decision.disruptions.len(),
                removals = decision.removals.len(),
                cost = %decision.launch_cost(),
                bound = %report.lower_bound,
                unplaced,
                ?took,
                "planned"
            );
        }
        {
            let mut index = self.bus.index.lock();
            index.expect(&decision.placements);
            index.saw_reserved(report.reserves.clone());
        }
        self.tell(&decision, &report);
        Some(decision)
    }

    fn plan_settings(&self, index: &Index) -> windlass_core::model::Settings {
        let paused = index.paused(&self.settings.namespace);
        windlass_core::model::Settings { paused, ..self.settings.plan.clone() }
    }

    fn ask(&self, snapshot: &Snapshot, now: Timestamp) -> (Plan, Report) {
        match self.settings.search_time {
            Some(limit) => plan_within(snapshot, now, &mut Stopwatch { limit, started: None }),
            None => plan(snapshot, now),
        }
    }

    /// Tells pods and pools what was decided and why.
    fn tell(&self, decision: &Plan, report: &Report) {
        let index = self.bus.index.lock();
        for placement in &decision.placements {
            let Target::Launch(number) = placement.target else { continue };
            let launch = decision.launches.get(number);
            let offering = launch.and_then(|launch| Some((launch, launch.offerings.first()?)));
            if let (Some(pod), Some((launch, offering))) = (index.pod(&placement.pod), offering) {
                let message = format!(
                    "pool {} launches {} in {} for {}/h, which has room for this pod",
                    launch.pool, offering.key.instance_type, offering.key.zone, offering.price
                );
                self.bus.events.say(Note {
                    about: about_pod(pod),
                    warning: false,
                    reason: "ScaleUp",
                    message,
                });
            }
        }
        for group in &report.unplaced {
            for id in &group.pods {
                let Some(pod) = index.pod(id) else { continue };
                let message = group.summary();
                self.bus.events.say(Note {
                    about: about_pod(pod),
                    warning: true,
                    reason: "NoCapacity",
                    message,
                });
            }
        }
        for short in &report.short_pools {
            let Some(definition) = index.definition(&short.pool) else { continue };
            let message = format!("fewer nodes than the pool is to keep: {}", short.exclusion);
            let about = about_ours("NodePool", &short.pool, &definition.uid);
            self.bus.events.say(Note { about, warning: true, reason: "BelowMinimum", message });
        }
    }
}

/// A search that is bound by time, from its first step.
struct Stopwatch {
    limit: Duration,
    started: Option<Instant>,
}

impl Budget for Stopwatch {
    fn left(&mut self) -> f64 {
        let passed = self.started.get_or_insert_with(Instant::now).elapsed();
        (1.0 - passed.as_secs_f64() / self.limit.as_secs_f64()).max(0.0)
    }
}

fn until(time: Timestamp, now: Timestamp) -> Duration {
    let wait = time.duration_since(now);
    // A little later, so that the time has surely come.
    if wait.is_negative() { Duration::ZERO } else { wait.unsigned_abs() + Duration::from_millis(50) }
}
