//! Playing many seeds.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use windlass_sim::Outcome;

use crate::apart::Apart;
use crate::expected;

/// How often progress is reported.
const REPORT: Duration = Duration::from_secs(10);
/// How many failing seeds are described; of the others only the number is told.
const DESCRIBED: usize = 20;

/// Seeds to play, one after another.
pub(crate) struct Series {
    pub(crate) first: u64,
    pub(crate) seeds: u64,
    pub(crate) jobs: usize,
    pub(crate) budget: Option<Duration>,
}

/// What came of those played so far.
#[derive(Default)]
struct Tally {
    played: u64,
    simulated: Duration,
    counts: BTreeMap<String, u64>,
    failed: Vec<(u64, String)>,
    reported: Duration,
}

impl Tally {
    fn add(&mut self, seed: u64, outcome: &Outcome) {
        self.played += 1;
        self.simulated += outcome.simulated;
        for (what, count) in &outcome.counts {
            *self.counts.entry(what.clone()).or_default() += count;
        }
        if let Some(finding) = outcome.findings.first() {
            if self.failed.len() < DESCRIBED {
                println!("seed {seed}: VIOLATION of {}: {}", finding.rule, finding.message);
            }
            self.failed.push((seed, finding.rule.clone()));
        }
    }

    fn pace(&self, passed: Duration) -> String {
        let (seconds, hours) = (passed.as_secs_f64().max(0.001), self.simulated.as_secs_f64() / 3600.0);
        let runs = f64::from(u32::try_from(self.played).unwrap_or(u32::MAX)) / seconds;
        format!("{runs:.1} runs/s, {:.0} simulated hours a minute", hours / seconds * 60.0)
    }

    fn summarise(&self) {
        println!("what occurred:");
        for (what, count) in &self.counts {
            println!("  {count:>9} {what}");
        }
        let mut rules: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (seed, rule) in &self.failed {
            rules.entry(rule).or_default().push(*seed);
        }
        for (rule, seeds) in rules {
            let some: Vec<String> = seeds.iter().take(8).map(ToString::to_string).collect();
            println!("{} times {rule}: seeds {}", seeds.len(), some.join(", "));
        }
    }
}

impl Series {
    /// Plays them; whether all went well, and whatever can occur did.
    #[expect(clippy::disallowed_methods, reason = "how fast simulations are is measured in true time")]
    pub(crate) fn play(&self) -> Result<bool> {
        let (next, started) = (AtomicU64::new(self.first), Instant::now());
        let (tally, apart) = (Mutex::new(Tally::default()), Apart::new());
        let work = || -> Result<()> {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                let late = self.budget.is_some_and(|budget| started.elapsed() >= budget);
                if seed >= self.first.saturating_add(self.seeds) || late {
                    return Ok(());
                }
                let outcome = apart.play_seed(seed)?;
                let mut tally = tally.lock().map_err(|_| anyhow!("another run broke off"))?;
                tally.add(seed, &outcome);
                if started.elapsed() >= tally.reported + REPORT {
                    tally.reported = started.elapsed();
                    let (played, failed) = (tally.played, tally.failed.len());
                    println!("{played} seeds, {failed} violations, {}", tally.pace(started.elapsed()));
                }
            }
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..self.jobs.max(1)).map(|_| scope.spawn(work)).collect();
            workers
                .into_iter()
                .try_for_each(|worker| worker.join().map_err(|_| anyhow!("a run broke off"))?)
        })?;
        let tally = tally.into_inner().map_err(|_| anyhow!("a run broke off"))?;
        tally.summarise();
        let missing = expected::missing(&tally.counts, tally.played);
        for what in &missing {
            println!("never occurred: {what}");
        }
        println!("{} at a time: {}", self.jobs.max(1), tally.pace(started.elapsed()));
        println!("sim: {} seeds, {} violations", tally.played, tally.failed.len());
        Ok(tally.failed.is_empty() && missing.is_empty())
    }
}
