//! Hours of a cluster's life in seconds: pods come and go by a script, and what the planner decides is carried out.
//!
//! Time is virtual and nothing is drawn that is not seeded, so that the same script gives the same figures each time. The
//! script (`script`) says what is to run, whatever becomes of the nodes; `agenda` what happens next; `cluster` what there
//! is, with its machines (`machines`) and where pods go (`scheduler`); `conduct` carries plans out as the controller does;
//! and `ledger` keeps account. The workloads are in `wave`, `batch` and `churn`.

mod agenda;
mod batch;
mod churn;
mod cluster;
mod conduct;
mod ledger;
mod machines;
mod scheduler;
mod script;
mod wave;

use std::time::Duration;

use jiff::Timestamp;
use windlass_core::model::Consolidation;
use windlass_core::plan;

pub use batch::batch_jobs;
pub use churn::declining_churn;
pub use ledger::Outcome;
pub use scheduler::Scoring;
pub use script::{Replica, Script, Task};
pub use wave::daily_wave;

use agenda::{Agenda, Event};
use cluster::Cluster;
use ledger::Ledger;

/// How long a machine takes until its node can take pods.
const START_UP: Duration = Duration::from_secs(90);
/// How long a node takes to be drained and its machine to be given back, which is paid for.
const DRAIN: Duration = Duration::from_secs(30);
/// How soon the planner looks again after it has done something, and at the latest, as in the controller.
const SOON: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_secs(60);
/// How often it is found out what the pods would cost at least.
const SAMPLE: Duration = Duration::from_mins(5);

/// Plays a script with nodes given back by a policy and pods bound as the scheduler scores nodes.
pub fn play(script: &Script, policy: Consolidation, scoring: Scoring) -> Outcome {
    let begin = crate::cluster::now();
    let end = begin + script.lasts;
    let mut agenda = Agenda::of(script, begin);
    let mut cluster = Cluster::new(script.machines.clone(), policy, scoring);
    let mut ledger = Ledger::new(begin);
    let mut wake = begin;
    loop {
        let now = agenda.next_at().map_or(wake, |next| next.min(wake));
        if now >= end {
            break;
        }
        ledger.pass(&cluster, now);
        while let Some(event) = agenda.due(now) {
            happen(event, &mut cluster, &mut agenda, &mut ledger, now);
        }
        cluster.bind(&mut agenda, &mut ledger, now);
        let (decided, report) = plan(&cluster.snapshot, now);
        ledger.planned(&cluster, &decided, &report);
        cluster.carry_out(&decided, &mut agenda, &mut ledger, now);
        cluster.bind(&mut agenda, &mut ledger, now);
        let idle = if decided.is_empty() { INTERVAL } else { SOON };
        let asked = decided.wake_at.filter(|at| *at > now).unwrap_or(Timestamp::MAX);
        wake = asked.min(now + idle);
    }
    ledger.pass(&cluster, end);
    ledger.close(&cluster, end)
}

fn happen(event: Event, cluster: &mut Cluster, agenda: &mut Agenda, ledger: &mut Ledger, now: Timestamp) {
    match event {
        Event::Starts(replica, task) => cluster.start(replica, task, now),
        Event::Ends(replica) => cluster.end(replica, now),
        Event::Done(pod) => cluster.finish(&pod, now),
        Event::Ready(claim) => cluster.stand(&claim, now),
        Event::Drained(claim) => cluster.give_back(&claim, now),
        Event::Sample => {
            ledger.sample(cluster, now);
            agenda.add(now + SAMPLE, Event::Sample);
        }
    }
}
