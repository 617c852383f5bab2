//! Prints tables of how quick and how good plans are, in Markdown.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command")]

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use windlass_bench::bridge::{self, Round};
use windlass_bench::measure::{Figures, measure};
use windlass_bench::scenario::{self, Scenario, UNTAINTED};
use windlass_bench::simulation::{Scoring, batch_jobs, daily_wave, declining_churn, play};
use windlass_bench::{consolidation, memory, scenario::packing};
use windlass_core::model::Consolidation;

/// Measure planning, and print what was measured in Markdown.
#[derive(Debug, Parser)]
struct Arguments {
    /// A folder with `aws_instance_types.json`, `karpenter_kwok_linux_amd64.csv` and `openb_pod_list_default.csv`.
    #[arg(long)]
    data: Option<PathBuf>,
    /// Only the memory that the index of a large cluster takes.
    #[arg(long)]
    memory: bool,
    /// Only what comes of plans over simulated days.
    #[arg(long)]
    simulation: bool,
    /// Only tables whose title contains this.
    #[arg(long)]
    only: Option<String>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if arguments.memory {
        let (pods, nodes, resident, peak) = memory::of_large_cluster()?;
        let mb = |bytes: u64| bytes.div_ceil(1_000_000);
        println!("| what | figure |\n|---|---|");
        println!("| pods, nodes in the index and a snapshot | {pods}, {nodes} |");
        println!("| resident memory (now, peak) | {} MB, {} MB |", mb(resident), mb(peak));
        return Ok(());
    }
    if arguments.simulation {
        print_simulation();
        return Ok(());
    }
    let wanted = |title: &str| arguments.only.as_ref().is_none_or(|only| title.contains(only.as_str()));
    let table = |title: &str, scenarios: &mut dyn Iterator<Item = Scenario>| {
        if wanted(title) {
            print(title, scenarios);
        }
    };
    table("Karpenter's scheduling benchmark: 400 types, five kinds of pods", &mut scenario::karpenter());
    table("Few classes: thirty sizes, 400 types", &mut scenario::few_classes());
    table("5,000 nodes with 100,000 pods, 400 types", &mut scenario::large().into_iter());
    table("Many classes, all with topology constraints, 400 types", &mut scenario::many_classes());
    let title = "Nodes that can go";
    if wanted(title) {
        print_consolidation(title);
    }
    let title = "What one loop of Cluster Autoscaler asks";
    if wanted(title) {
        print_bridge(title)?;
    }
    if let Some(data) = &arguments.data {
        table("Workloads on priced catalogues", &mut packing(data)?.into_iter());
        table("10,000 pods where machines run out", &mut scenario::shortage(data)?.into_iter());
    }
    Ok(())
}

fn print_simulation() {
    println!(
        "| workload | scheduler | policy | cost | of the bound | pods moved | nodes launched | mean wait | longest wait of a \
         moved pod | saved |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let day = Duration::from_hours(24);
    for script in [daily_wave(40, day), batch_jobs(400, day), declining_churn(100, day)] {
        for scoring in [Scoring::LeastAllocated, Scoring::MostAllocated] {
            let policies = [
                (Consolidation::Empty, "WhenEmpty"),
                (Consolidation::Underutilized, "WhenEmptyOrUnderutilized"),
            ];
            let mut first = None;
            for (policy, name) in policies {
                let outcome = play(&script, policy, scoring);
                let before = *first.get_or_insert(outcome.cost);
                for flaw in &outcome.flaws {
                    eprintln!("{}: {flaw}", script.name);
                }
                println!(
                    "| {}, at most {} pods | {scoring:?} | {name} | {:.0} $ | {:.3} | {} | {} | {:.0} s | {} s | {:.1} % |",
                    script.name,
                    outcome.peak,
                    outcome.cost,
                    outcome.cost / outcome.bound,
                    outcome.moved,
                    outcome.launched,
                    outcome.mean_wait.as_secs_f64(),
                    outcome.longest_wait_moved.as_secs(),
                    100.0 * (1.0 - outcome.cost / before)
                );
            }
        }
    }
    println!();
}

fn print_consolidation(title: &str) {
    println!("### {title}\n");
    println!(
        "| nodes | pods | nodes that go | launched | pods that move | cost before, after, of the bound | time |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (nodes, pods) in [(60, 1_200), (500, 10_000), (2_000, 40_000)] {
        let figures = consolidation::measure(&consolidation::half_empty(nodes, pods));
        println!(
            "| {} | {} | {} | {} | {} | {:.3}, {:.3} | {:.0} ms |",
            figures.nodes,
            figures.pods,
            figures.gone,
            figures.launched,
            figures.moved,
            figures.before,
            figures.after,
            figures.took.as_secs_f64() * 1000.0
        );
    }
    println!();
}

fn print_bridge(title: &str) -> Result<()> {
    let Round { groups, nodes, calls, took } = bridge::round()?;
    println!("### {title}\n");
    println!("| groups | nodes | calls | time | for each call |\n|---|---|---|---|---|");
    let micros = took.as_secs_f64() * 1e6;
    let each = micros / f64::from(u32::try_from(calls)?.max(1));
    println!("| {groups} | {nodes} | {calls} | {:.0} ms | {each:.0} µs |\n", micros / 1000.0);
    Ok(())
}

fn print(title: &str, scenarios: &mut dyn Iterator<Item = Scenario>) {
    println!("### {title}\n");
    println!("| what | pods | nodes | first answer | of the bound | with search | of the bound |");
    println!("|---|---|---|---|---|---|---|");
    let (mut logs, mut worst, mut cases) = (0.0_f64, 1.0_f64, 0_u32);
    for Scenario { name, snapshot } in scenarios {
        let Figures { pods, unplaced, launches, gap, first_gap, first, whole } = measure(&snapshot);
        let millis = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1000.0);
        let left = if unplaced > 0 { format!(" ({unplaced} left over)") } else { String::new() };
        println!(
            "| {name} | {pods}{left} | {launches} | {} | {first_gap:.4} | {} | {gap:.4} |",
            millis(first),
            millis(whole)
        );
        eprintln!("{title}: {name}");
        logs += gap.ln();
        cases += 1;
        if !name.starts_with(UNTAINTED) {
            worst = worst.max(gap);
        }
    }
    println!(
        "\nGeometric mean {:.4}, largest {worst:.4} of the bound.\n",
        (logs / f64::from(cases.max(1))).exp()
    );
}
