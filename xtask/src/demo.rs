use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use kube::Client;
use tokio::time::{Instant, sleep};
use windlass_core::Price;
use windlass_testkit::{ControlPlane, WindlassProcess};

use crate::root;
use crate::view::View;
use crate::windlass::{self, kubectl};

/// How many pods the example's workload has.
const PODS: usize = 60;
/// How long each half of the demo may take.
const PATIENCE: Duration = Duration::from_mins(3);

/// Show Windlass at work.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Leave everything running once the pods run, until interrupted, and print how to look at it.
    #[arg(long)]
    keep: bool,
}

impl Demo {
    pub(crate) async fn run(self) -> Result<()> {
        println!("building windlass and the control plane (the first time takes some minutes) ...");
        let program = windlass::build(false)?;
        let plane = ControlPlane::start().await.context("the control plane does not start")?;
        println!("a Kubernetes control plane runs at {}", plane.url());
        let mut process = windlass::start(&plane, &program, &[]).await?;
        let client = plane.client()?;
        let (pools, workload) = (example("pools.yaml"), example("workload.yaml"));
        kubectl(&plane, &["apply", "-f", &pools])?;
        println!("windlass runs with the pools cpu, memory and gpu; now {PODS} pods come");
        kubectl(&plane, &["apply", "-f", &workload])?;

        let mut show = Progress::start(&client);
        let grown = show.until("all pods run", &mut process, |view| view.running == PODS).await?;
        let (seconds, nodes, cost) = (show.seconds(), grown.nodes, grown.cost);
        println!("{}", kubectl(&plane, &["get", "nodepools"])?);
        println!("{}", kubectl(&plane, &["get", "nodeclaims"])?);
        if self.keep {
            println!("running until interrupted (Ctrl-C); in another terminal:");
            println!("export KUBECONFIG={}", plane.kubeconfig_path().display());
            tokio::signal::ctrl_c().await?;
            return Ok(());
        }
        println!("now the pods go");
        kubectl(&plane, &["delete", "-f", &workload, "--wait=false"])?;
        let is_empty = |view: &View| view.pods + view.claims + view.nodes + view.machines == 0;
        show.until("all nodes are returned", &mut process, is_empty).await?;
        process.terminate()?;
        println!(
            "demo: {PODS}/{PODS} pods ran on {nodes} nodes in {seconds:.0} s at ${cost}/h; all {nodes} nodes returned"
        );
        Ok(())
    }
}

fn example(name: &str) -> String {
    root().join("deploy/examples/demo").join(name).display().to_string()
}

/// Prints what changes, as it changes.
struct Progress<'a> {
    client: &'a Client,
    started: Instant,
    last: Option<View>,
}

impl<'a> Progress<'a> {
    fn start(client: &'a Client) -> Self {
        println!(
            "{:>6}  {:>12}  {:>12}  {:>13}  {:>5}  {:>9}",
            "time", "pods pending", "pods running", "claims (ready)", "nodes", "cost"
        );
        Self { client, started: Instant::now(), last: None }
    }

    fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    async fn until(
        &mut self,
        what: &str,
        process: &mut WindlassProcess,
        done: impl Fn(&View) -> bool,
    ) -> Result<View> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let view = View::take(self.client, "demo").await?;
            if self.last.as_ref() != Some(&view) {
                self.print(&view);
                self.last = Some(view.clone());
            }
            if done(&view) {
                return Ok(view);
            }
            if let Some(status) = process.exited()? {
                bail!("windlass ended with {status} before {what}:\n{}", process.log_tail(20));
            }
            if Instant::now() > deadline {
                bail!(
                    "not within {} s: {what}. The last lines of windlass:\n{}",
                    PATIENCE.as_secs(),
                    process.log_tail(20)
                );
            }
            sleep(Duration::from_millis(500)).await;
        }
    }

    fn print(&self, view: &View) {
        let pending = view.pods.saturating_sub(view.running);
        let claims = format!("{} ({})", view.claims, view.ready);
        let cost = if view.cost == Price::ZERO { "-".to_owned() } else { format!("${}/h", view.cost) };
        println!(
            "{:>4.0} s  {pending:>12}  {:>12}  {claims:>14}  {:>5}  {cost:>9}",
            self.seconds(),
            view.running,
            view.nodes
        );
    }
}
