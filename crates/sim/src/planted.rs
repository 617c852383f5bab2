//! Planting mistakes into the controller, one at a time, to see whether histories bring them to light.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Result, anyhow};
use windlass_control::planted::Mistake;
use windlass_sim::Finding;

use crate::apart::Apart;

/// In how many histories each mistake has to show.
const SEEDS: u64 = 1000;

/// The mistake of this name.
pub(crate) fn named(name: &str) -> Result<Mistake, String> {
    let found = Mistake::ALL.into_iter().find(|mistake| format!("{mistake:?}") == name);
    found.ok_or_else(|| format!("there is no mistake {name}; there are {:?}", Mistake::ALL))
}

/// Plants every mistake, each until it is caught; whether all were.
pub(crate) fn all_caught(first: u64, jobs: usize) -> Result<bool> {
    let (next, missed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || -> Result<()> {
        while let Some(mistake) = Mistake::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Some((seed, finding)) = caught(*mistake, first)? {
                let message = finding.message.lines().next().unwrap_or_default();
                println!("{mistake:?}: caught by seed {seed}: {}: {message}", finding.rule);
            } else {
                missed.fetch_add(1, Ordering::Relaxed);
                println!("{mistake:?}: NOT caught within {SEEDS} seeds");
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| anyhow!("a run broke off"))?)
    })?;
    let missed = missed.into_inner();
    println!("planted: {} mistakes, {missed} missed", Mistake::ALL.len());
    Ok(missed == 0)
}

/// The first seed whose history goes wrong with the mistake and well without it, and how.
fn caught(mistake: Mistake, first: u64) -> Result<Option<(u64, Finding)>> {
    let (with, without) = (Apart::with_mistake(mistake), Apart::new());
    for seed in first..first + SEEDS {
        if let Some(finding) = with.play_seed(seed)?.findings.into_iter().next()
            && without.play_seed(seed)?.findings.is_empty()
        {
            return Ok(Some((seed, finding)));
        }
    }
    Ok(None)
}
