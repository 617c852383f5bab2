use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use futures::{StreamExt, pin_mut};
use jiff::Zoned;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::time::{Instant, sleep};
use windlass_api::NodeClaim;
use windlass_testkit::ControlPlane;

use crate::view::View;
use crate::windlass::{self, kubectl};
use crate::{cargo, machine, root};

const NODES: usize = 100;
const PODS: usize = 1000;
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
    /// Only measure planning, with criterion's statistics.
    #[arg(long)]
    criterion: bool,
    /// Only measure a scale-up on a control plane, and print what was measured.
    #[arg(long, conflicts_with_all = ["data", "criterion"])]
    live: bool,
}

/// When each pod was first seen to be unschedulable and each claim to exist, and which became of which.
#[derive(Debug, Default)]
struct Sightings {
    unschedulable: BTreeMap<String, Instant>,
    claimed: BTreeMap<String, Instant>,
    node_of_pod: BTreeMap<String, String>,
    claim_of_node: BTreeMap<String, String>,
}

impl Bench {
    pub(crate) async fn run(self) -> Result<()> {
        if self.criterion {
            return statistics();
        }
        if self.live {
            return live().await.map(drop);
        }
        let planning = self.planning()?;
        let memory = planning_bench(&["--memory"])?;
        let live = live().await?;
        if !self.dry_run {
            write(&planning, &memory, &live)?;
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

/// Measures a scale-up on a real control plane; what was measured, in Markdown.
async fn live() -> Result<String> {
    println!("building windlass (release) and the control plane ...");
    let program = windlass::build(true)?;
    let plane = ControlPlane::start().await.context("the control plane does not start")?;
    let process = windlass::start(&plane, &program, &[]).await?;
    let client = plane.client()?;
    kubectl(&plane, &["apply", "-f", &file(&plane, "pools.yaml", POOLS)?])?;
    let sightings = Arc::new(Mutex::new(Sightings::default()));
    let watching = tokio::spawn(watch(client.clone(), sightings.clone()));
    // A first pod, so that what is measured is not the start of the controller.
    kubectl(&plane, &["apply", "-f", &file(&plane, "workload.yaml", &workload(1))?])?;
    until(&client, |view| view.running == 1).await?;

    let started = Instant::now();
    kubectl(&plane, &["apply", "-f", &file(&plane, "workload.yaml", &workload(PODS))?])?;
    let grown = until(&client, |view| view.running == PODS).await?;
    let took = started.elapsed();
    let memory = process.memory()?;
    watching.abort();

    let waits = sightings.lock().unwrap_or_else(PoisonError::into_inner).waits();
    ensure!(!waits.is_empty(), "no pod was seen to wait for a claim");
    let seconds = |part: usize| waits[(waits.len() - 1) * part / 100].as_secs_f64();
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    let rows = [
        ("pods, nodes".to_owned(), format!("{PODS}, {}", grown.nodes)),
        (
            "a pod's claim after the pod became unschedulable (median, 99th percentile, longest)".to_owned(),
            format!("{:.2} s, {:.2} s, {:.2} s", seconds(50), seconds(99), seconds(100)),
        ),
        ("all pods running after".to_owned(), format!("{:.1} s", took.as_secs_f64())),
        (
            "resident memory of `windlass run` (now, peak)".to_owned(),
            format!("{} MiB, {} MiB", mib(memory.resident), mib(memory.peak)),
        ),
    ];
    let lines: Vec<String> = rows.iter().map(|(what, figure)| format!("| {what} | {figure} |")).collect();
    let table = format!("| what | figure |\n|---|---|\n{}\n", lines.join("\n"));
    print!("{table}");
    Ok(table)
}

impl Sightings {
    /// For each pod how long it was unschedulable before the claim existed that gave it the node it runs on, shortest
    /// first. None at all if the claim was there already, with room for it.
    fn waits(&self) -> Vec<Duration> {
        let claimed = |pod| self.claimed.get(self.claim_of_node.get(self.node_of_pod.get(pod)?)?);
        let both = self.unschedulable.iter().filter_map(|(pod, at)| Some((at, claimed(pod)?)));
        let mut waits: Vec<Duration> = both.map(|(from, to)| to.saturating_duration_since(*from)).collect();
        waits.sort();
        waits
    }
}

async fn watch(client: Client, sightings: Arc<Mutex<Sightings>>) {
    let sightings = || sightings.lock().unwrap_or_else(PoisonError::into_inner);
    let pods = async {
        let api: Api<Pod> = Api::namespaced(client.clone(), "bench");
        let events = watcher(api, watcher::Config::default()).default_backoff().applied_objects();
        pin_mut!(events);
        while let Some(event) = events.next().await {
            let Ok(pod) = event else { continue };
            let name = pod.name_any();
            let mut sightings = sightings();
            let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
            if conditions.into_iter().any(|condition| condition.reason.as_deref() == Some("Unschedulable")) {
                sightings.unschedulable.entry(name.clone()).or_insert_with(Instant::now);
            }
            if let Some(node) = pod.spec.and_then(|spec| spec.node_name) {
                sightings.node_of_pod.insert(name, node);
            }
        }
    };
    let claims = async {
        let api: Api<NodeClaim> = Api::all(client.clone());
        let events = watcher(api, watcher::Config::default()).default_backoff().applied_objects();
        pin_mut!(events);
        while let Some(event) = events.next().await {
            let Ok(claim) = event else { continue };
            let name = claim.name_any();
            let mut sightings = sightings();
            sightings.claimed.entry(name.clone()).or_insert_with(Instant::now);
            if let Some(node) = claim.status.and_then(|status| status.node_name) {
                sightings.claim_of_node.insert(node, name);
            }
        }
    };
    tokio::join!(pods, claims);
}

async fn until(client: &Client, done: impl Fn(&View) -> bool) -> Result<View> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let view = View::take(client, "bench").await?;
        if done(&view) {
            return Ok(view);
        }
        ensure!(Instant::now() < deadline, "not within {} s; at the end {view:?}", PATIENCE.as_secs());
        sleep(Duration::from_millis(500)).await;
    }
}

fn file(plane: &ControlPlane, name: &str, content: &str) -> Result<String> {
    let path = plane.folder().join(name);
    fs::write(&path, content)?;
    Ok(path.display().to_string())
}

fn write(planning: &str, memory: &str, live: &str) -> Result<()> {
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
         ## A scale-up of {PODS} pods onto {NODES} nodes\n\n\
         On the test control plane with simulated machines that boot in a second, and everything on one machine: the \
         control plane takes most of its time. A pod's claim is the one whose node the pod runs on in the end; it counts from the moment \
         the watch shows that it exists.\n\n\
         {live}",
        Zoned::now().date(),
        machine::description(),
        planning.trim(),
        memory.trim(),
    );
    fs::write(&path, text)?;
    println!("wrote docs/benchmarks.md");
    Ok(())
}

const POOLS: &str = "
apiVersion: windlass.dev/v1alpha1
kind: NodeProvider
metadata: {name: bench}
spec:
  simulated:
    bootDelay: 1s
    instanceTypes:
      - name: four
        capacity: {cpu: 4, memory: 16Gi}
        offerings: [{zone: zone-a, price: '0.10'}]
---
apiVersion: windlass.dev/v1alpha1
kind: NodePool
metadata: {name: bench}
spec:
  providerRef: {name: bench}
";

fn workload(replicas: usize) -> String {
    format!(
        "
apiVersion: v1
kind: Namespace
metadata: {{name: bench}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: bench, namespace: bench}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: bench}}}}
  template:
    metadata: {{labels: {{app: bench}}}}
    spec:
      containers:
        - name: bench
          image: registry.k8s.io/pause:3.10
          resources: {{requests: {{cpu: 400m, memory: 1Gi}}}}
"
    )
}
