mod placement;
mod scale_up;

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use jiff::Zoned;
use kube::Client;
use tokio::time::{Instant, sleep};
use windlass_testkit::ControlPlane;

use crate::view::View;
use crate::windlass::kubectl;
use crate::{cargo, machine, root};
use placement::PLANS;

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
    /// Only measure this, and print what was measured.
    #[arg(long, conflicts_with = "data")]
    only: Option<Part>,
}

/// What can be measured alone.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Part {
    /// Planning, with criterion's statistics.
    Criterion,
    /// A scale-up on a control plane.
    ScaleUp,
    /// Whether pods go where they were planned, on a control plane.
    Placement,
}

impl Bench {
    pub(crate) async fn run(self) -> Result<()> {
        match self.only {
            Some(Part::Criterion) => return statistics(),
            Some(Part::ScaleUp) => return scale_up::measure().await.map(drop),
            Some(Part::Placement) => return placement::measure().await.map(drop),
            None => {}
        }
        let planning = self.planning()?;
        let memory = planning_bench(&["--memory"])?;
        let scale_up = scale_up::measure().await?;
        let placement = placement::measure().await?;
        if !self.dry_run {
            write(&planning, &memory, &scale_up, &placement)?;
        }
        Ok(())
    }

    fn planning(&self) -> Result<String> {
        let data = self.data.as_ref().map(std::path::absolute).transpose()?;
        let data = data.as_ref().map(|folder| format!("--data={}", folder.display()));
        planning_bench(&data.iter().map(String::as_str).collect::<Vec<_>>())
    }
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

fn write(planning: &str, memory: &str, scale_up: &str, placement: &str) -> Result<()> {
    let path = root().join("docs/benchmarks.md");
    let text = format!(
        "# Benchmarks\n\n\
         Written by `cargo xtask bench` on {}, {}.\n\n\
         ## Planning\n\n\
         One thread. The first answer is a plan without a search; with search is the default of up to 300 ms more, less \
         where nothing cheaper is left to find. Costs are divided by the report's lower bound, below which no plan for \
         the same pods can be.\n\n\
         {}\n\n\
         ## Memory\n\n\
         The controller's index filled with API objects, a snapshot of it, and a plan.\n\n\
         {}\n\n\
         ## A scale-up of {} pods onto {} nodes\n\n\
         On the test control plane with simulated machines that boot in a second, and everything on one machine: the \
         control plane takes most of its time. A pod's claim is the one whose node the pod runs on in the end; it counts from the moment \
         the watch shows that it exists, and a claim that was there already, with room for the pod, counts as no wait.\n\n\
         {scale_up}\n\n\
         ## Whether plans are what happens\n\n\
         {PLANS} batches of {} pods of many sizes, planned tightly onto machines of three sizes on the test control plane.\n\n\
         {placement}",
        Zoned::now().date(),
        machine::description(),
        planning.trim(),
        memory.trim(),
        scale_up::PODS,
        scale_up::NODES,
        placement::PODS,
    );
    fs::write(&path, text)?;
    println!("wrote docs/benchmarks.md");
    Ok(())
}
