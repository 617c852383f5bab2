mod placement;
mod report;
mod scale_up;

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use kube::Client;
use tokio::time::{Instant, sleep};
use windlass_testkit::ControlPlane;

use crate::cargo;
use crate::view::View;
use crate::windlass::kubectl;

const PATIENCE: Duration = Duration::from_mins(5);

/// Measure, and write docs/benchmarks.md.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Only print; leave docs/benchmarks.md as it is.
    #[arg(long)]
    dry_run: bool,
    /// Measure planning on the catalogues and workloads of this folder too.
    #[arg(long)]
    data: Option<PathBuf>,
    /// Only measure this, and leave the other sections of docs/benchmarks.md as they are. May be given several times.
    #[arg(long)]
    only: Vec<Part>,
}

/// What can be measured alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// How fast and how well is planned.
    Planning,
    /// What the index and a plan take.
    Memory,
    /// What comes of plans over simulated days.
    Simulation,
    /// A scale-up on a control plane.
    ScaleUp,
    /// Whether pods go where they were planned, on a control plane.
    Placement,
    /// Planning, with criterion's statistics, which are only printed.
    Criterion,
}

impl Bench {
    pub(crate) async fn run(self) -> Result<()> {
        let all = [Part::Planning, Part::Memory, Part::Simulation, Part::ScaleUp, Part::Placement];
        let parts = if self.only.is_empty() { &all[..] } else { &self.only };
        for part in parts {
            let (title, text) = match part {
                Part::Planning => ("Planning".to_owned(), self.planning()?),
                Part::Memory => ("Memory".to_owned(), memory()?),
                Part::Simulation => ("Over a day".to_owned(), simulation()?),
                Part::ScaleUp => scale_up::section().await?,
                Part::Placement => placement::section().await?,
                Part::Criterion => {
                    statistics()?;
                    continue;
                }
            };
            if !self.dry_run {
                report::write(&title, &text)?;
            }
        }
        Ok(())
    }

    fn planning(&self) -> Result<String> {
        let data = self.data.as_ref().map(std::path::absolute).transpose()?;
        let data = data.as_ref().map(|folder| format!("--data={}", folder.display()));
        let figures = planning_bench(&data.iter().map(String::as_str).collect::<Vec<_>>())?;
        Ok(format!(
            "One thread. The first answer is a plan without a search; with search is the default of up to 300 ms more, less \
             where nothing cheaper is left to find. Costs are divided by the report's lower bound, below which no plan for \
             the same pods can be.\n\n{figures}"
        ))
    }
}

fn memory() -> Result<String> {
    let figures = planning_bench(&["--memory"])?;
    Ok(format!("The controller's index filled with API objects, a snapshot of it, and a plan.\n\n{figures}"))
}

fn simulation() -> Result<String> {
    let figures = planning_bench(&["--simulation"])?;
    Ok(format!(
        "A day of pods that come and go by a script, in virtual time: services that follow the day, bursts of batch jobs of \
         which a few take hours, and services that are deployed anew, scaled, removed and added. Machines have 2 to 64 cores \
         for the same price per core, take 90 s until their nodes take pods, and are paid for from the launch until 30 s after \
         their pods were evicted; a pod that is moved is made anew, and a job goes on where it was. Pods go where the plan \
         expects them, and otherwise to the emptiest or the fullest node with room, as the scheduler scores nodes. The same \
         day is played with nodes given back only when empty and also when their pods can run for less, with the defaults in \
         all else. The bound is what machines would cost that fit the pods that there are every five minutes, without any \
         time to start; a day in which jobs wait longer has a bound of its own.\n\n{figures}"
    ))
}

fn statistics() -> Result<()> {
    let status = cargo(["bench", "--package", "windlass-bench"]).status().context("cannot run cargo")?;
    ensure!(status.success(), "the benchmark failed");
    Ok(())
}

/// What the planning benchmark prints, which is Markdown.
fn planning_bench(arguments: &[&str]) -> Result<String> {
    let mut command = cargo(["run", "--quiet", "--release", "--package", "windlass-bench", "--"]);
    let output = command.args(arguments).stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    ensure!(output.status.success(), "planning could not be measured");
    let text = String::from_utf8(output.stdout)?;
    print!("{text}");
    Ok(text)
}

/// Waits until a namespace, and everything of ours, looks as it should.
async fn until(client: &Client, namespace: &str, done: impl Fn(&View) -> bool) -> Result<View> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let view = View::take(client, namespace).await?;
        if done(&view) {
            return Ok(view);
        }
        ensure!(Instant::now() < deadline, "not within {} s; at the end {view:?}", PATIENCE.as_secs());
        sleep(Duration::from_millis(500)).await;
    }
}

/// A provider of simulated machines of so many cores, a pool whose empty nodes go after a time, and the namespace for the
/// pods.
fn pools(name: &str, machines: &[(&str, u32, &str)], consolidate_after: &str) -> String {
    let types = machines.iter().map(|(kind, cores, price)| {
        let capacity = format!("{{cpu: {cores}, memory: {}Gi}}", 4 * cores);
        let offerings = format!("[{{zone: zone-a, price: '{price}'}}]");
        format!("      - {{name: {kind}, capacity: {capacity}, offerings: {offerings}}}\n")
    });
    let types: String = types.collect();
    format!(
        "
apiVersion: v1
kind: Namespace
metadata: {{name: {name}}}
---
apiVersion: windlass.dev/v1alpha1
kind: NodeProvider
metadata: {{name: {name}}}
spec:
  simulated:
    bootDelay: 1s
    instanceTypes:
{types}---
apiVersion: windlass.dev/v1alpha1
kind: NodePool
metadata: {{name: {name}}}
spec:
  providerRef: {{name: {name}}}
  disruption: {{consolidateAfter: {consolidate_after}}}
"
    )
}

/// Applies manifests, as a user would.
fn apply(plane: &ControlPlane, name: &str, manifests: &str) -> Result<()> {
    let path = plane.folder().join(name);
    fs::write(&path, manifests)?;
    kubectl(plane, &["apply", "-f", &path.display().to_string()])?;
    Ok(())
}
