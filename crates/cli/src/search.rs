use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use tokio::time::Instant;
use windlass_control::offline::Cluster;
use windlass_core::model::{Settings, Snapshot};
use windlass_core::pack::Steps;
use windlass_core::plan::plan_within;
use windlass_core::{Plan, Report};

use crate::duration::parse as duration;

/// How long to look for a cheaper plan.
#[derive(Debug, Args)]
#[command(next_help_heading = "Search")]
pub(crate) struct Search {
    /// How long to look for a cheaper plan once there is one.
    #[arg(long, default_value = "300ms", value_parser = duration, value_name = "TIME")]
    budget: Duration,
    /// Look for so many steps instead, which gives the same plan on every machine.
    #[arg(long, value_name = "NUMBER", conflicts_with = "budget")]
    steps: Option<u32>,
}

/// A plan, why it is what it is, and what it was made for.
pub(crate) struct Answer {
    pub(crate) snapshot: Snapshot,
    pub(crate) now: Timestamp,
    pub(crate) plan: Plan,
    pub(crate) report: Report,
    pub(crate) elapsed: Duration,
}

impl Search {
    /// Plans for a cluster.
    pub(crate) fn plan(&self, cluster: &Cluster, settings: &Settings) -> Answer {
        let snapshot = cluster.snapshot(settings);
        let started = Instant::now();
        let (plan, report) = match self.steps {
            Some(steps) => plan_within(&snapshot, cluster.now(), &mut Steps::new(steps)),
            None => plan_within(&snapshot, cluster.now(), &mut || self.left(started)),
        };
        Answer { snapshot, now: cluster.now(), plan, report, elapsed: started.elapsed() }
    }

    /// The part of the time that is left.
    fn left(&self, started: Instant) -> f64 {
        if self.budget.is_zero() {
            return 0.0;
        }
        (1.0 - started.elapsed().as_secs_f64() / self.budget.as_secs_f64()).max(0.0)
    }
}
