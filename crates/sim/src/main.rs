//! Plays histories: many, to see whether any goes wrong, or one, to see how.

#![expect(clippy::print_stdout, reason = "a command that reports")]

mod apart;
mod expected;
#[cfg(feature = "planted")]
mod planted;
mod series;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use windlass_sim::{History, Manner, Outcome, generate, play, shrink};

use crate::apart::Apart;
use crate::series::Series;

/// With the C library's allocator, three in ten of a run's instructions go into small pieces of memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Play the whole controller in simulated worlds.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many seeds to play.
    #[arg(long, value_name = "COUNT", default_value_t = 1000)]
    seeds: u64,
    /// The first of them.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    first: u64,
    /// Stop after this many seconds, however many seeds have been played.
    #[arg(long, value_name = "SECONDS")]
    budget: Option<u64>,
    /// How many to play at the same time.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    jobs: usize,
    /// Play this seed alone, and say what came of it.
    #[arg(long, value_name = "SEED", conflicts_with_all = ["seeds", "first"])]
    seed: Option<u64>,
    /// Play the history in this file alone, and say what came of it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "first", "seed"])]
    history: Option<PathBuf>,
    /// Print everything that happens; with `RUST_LOG` set, also what the controller logs.
    #[arg(long)]
    trace: bool,
    /// Leave out of a failing history what is not needed, and write the rest into this file.
    #[arg(long, value_name = "FILE")]
    shrink: Option<PathBuf>,
    /// Say what came of it in JSON.
    #[arg(long)]
    json: bool,
    /// Plant mistakes into the controller, one at a time, and see whether each is caught.
    #[cfg(feature = "planted")]
    #[arg(long)]
    planted: bool,
    /// Plant this mistake into the controller.
    #[cfg(feature = "planted")]
    #[arg(long, value_name = "NAME", value_parser = planted::named)]
    mistake: Option<windlass_control::planted::Mistake>,
}

impl Arguments {
    fn manner(&self) -> Manner {
        Manner {
            traced: self.trace,
            #[cfg(feature = "planted")]
            mistake: self.mistake,
        }
    }
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if arguments.trace && std::env::var_os("RUST_LOG").is_some() {
        let filter = tracing_subscriber::EnvFilter::from_default_env();
        tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).without_time().init();
    }
    let history = match (&arguments.history, arguments.seed) {
        (Some(file), _) => Some(read(file)?),
        (None, Some(seed)) => Some(generate(seed)),
        (None, None) => None,
    };
    let went_well = match history {
        Some(history) => play_one(&history, &arguments)?,
        None => play_many(&arguments)?,
    };
    Ok(if went_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read(file: &Path) -> Result<History> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not a history", file.display()))
}

fn play_many(arguments: &Arguments) -> Result<bool> {
    #[cfg(feature = "planted")]
    if arguments.planted {
        return planted::all_caught(arguments.first, arguments.jobs);
    }
    let budget = arguments.budget.map(Duration::from_secs);
    let Arguments { first, seeds, jobs, .. } = *arguments;
    Series { first, seeds, jobs, budget }.play()
}

fn play_one(history: &History, arguments: &Arguments) -> Result<bool> {
    let outcome = play(history, arguments.manner());
    if arguments.json {
        println!("{}", serde_json::to_string(&outcome)?);
        return Ok(outcome.findings.is_empty());
    }
    report(history, &outcome);
    if let (Some(file), Some(finding)) = (&arguments.shrink, outcome.findings.first()) {
        let rule = finding.rule.clone();
        let smallest = shrink(history, |candidate| {
            let outcome = Apart::new().play_history(candidate);
            outcome.is_ok_and(|outcome| outcome.findings.first().is_some_and(|finding| finding.rule == rule))
        });
        println!("{} of {} events are needed", smallest.events.len(), history.events.len());
        let text = serde_json::to_string_pretty(&smallest)?;
        fs::write(file, text + "\n").with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(outcome.findings.is_empty())
}

/// Says what came of a history, at length where it went wrong.
fn report(history: &History, outcome: &Outcome) {
    println!("seed {}: hash {:016x}, {:?} simulated", history.seed, outcome.hash, outcome.simulated);
    if outcome.findings.is_empty() {
        println!("nothing went wrong");
        return;
    }
    println!("setting: {:?}", history.setting);
    for event in &history.events {
        println!("  {:>8.3}s {:?}", f64::from(event.at) / 1000.0, event.what);
    }
    println!("the last that happened:");
    outcome.last.iter().for_each(|line| println!("  {line}"));
    for finding in &outcome.findings {
        println!("VIOLATION of {}: {}", finding.rule, finding.message);
    }
}
