//! Packs known workloads and prints for each how far the answer is from its lower bound and how long it took.
//!
//! `cargo run -p windlass-core --release --example pack_table -- --data <folder>` with a folder that holds
//! `aws_instance_types.json`, `karpenter_kwok_linux_amd64.csv` and `openb_pod_list_default.csv`. The first letters of
//! workloads can follow.

#![allow(clippy::print_stdout, reason = "a command")]

mod catalogue;
mod workloads;

use std::path::PathBuf;
use std::time::Duration;

use windlass_core::pack::{Options, Packing, Problem, greedy, solve};
use workloads::{Workload, workloads};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut data = PathBuf::from(".");
    let mut search = Duration::from_millis(300);
    let mut only: Vec<String> = Vec::new();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--data" => data = arguments.next().unwrap_or_default().into(),
            "--search-ms" => {
                let millis = arguments.next().and_then(|millis| millis.parse().ok());
                search = Duration::from_millis(millis.unwrap_or(300));
            }
            _ => only.push(argument),
        }
    }
    println!(
        "{:<44} {:>6} {:>5} {:>6} | {:>7} {:>7} | {:>7} {:>7} | rounds patterns repacks improved nodes",
        "workload", "pods", "class", "offers", "greedy", "ms", "search", "ms"
    );
    let (mut logs, mut greedy_logs, mut count) = (0.0, 0.0, 0.0);
    for Workload { name, problem } in workloads(&data) {
        if !only.is_empty() && !only.iter().any(|start| name.starts_with(start.as_str())) {
            continue;
        }
        let begin = processor_time();
        let quick = greedy(&problem, Options::default());
        let mut runs = 1;
        while since(begin) < Duration::from_millis(40) {
            let _ = greedy(&problem, Options::default());
            runs += 1;
        }
        let quick_time = since(begin) / runs;
        let begin = processor_time();
        let limit = quick_time + search;
        let mut budget = || 1.0 - since(begin).as_secs_f64() / limit.as_secs_f64();
        let best = solve(&problem, Options::default(), &mut budget);
        let time = since(begin);
        let bound = best.lower_bound.max(1);
        let (quick_gap, gap) = (ratio(&quick, bound), ratio(&best, bound));
        let statistics = best.statistics;
        println!(
            "{name:<44} {:>6} {:>5} {:>6} | {quick_gap:>7.4} {:>7.1} | {gap:>7.4} {:>7.1} | {:>6} {:>8} {:>7} {:>8} {:>5}{}",
            pods(&problem),
            problem.classes.len(),
            problem.offers.len(),
            millis(quick_time),
            millis(time),
            statistics.rounds,
            statistics.patterns,
            statistics.repacks,
            statistics.improvements,
            best.node_count(),
            if best.left.iter().any(|left| *left > 0) { " left over" } else { "" },
        );
        logs += gap.ln();
        greedy_logs += quick_gap.ln();
        count += 1.0_f64;
    }
    println!("geometric mean: greedy {:.4}, search {:.4}", (greedy_logs / count).exp(), (logs / count).exp());
}

#[allow(clippy::cast_precision_loss, reason = "shown with four decimals")]
fn ratio(packing: &Packing, bound: u64) -> f64 {
    packing.cost as f64 / bound as f64
}

fn pods(problem: &Problem) -> u64 {
    problem.classes.iter().map(|class| u64::from(class.count)).sum()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn since(begin: Duration) -> Duration {
    processor_time().saturating_sub(begin)
}

/// The processor time of this process, which other processes on a busy machine do not lengthen.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0))
}
