use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::time::Instant;
use windlass_api::NodeClaim;
use windlass_testkit::ControlPlane;

use super::{apply, pools, until};
use crate::windlass;

const NODES: usize = 100;
const PODS: usize = 1000;
const NAMESPACE: &str = "bench";

/// When each pod was first seen to be unschedulable and each claim to exist, and which became of which.
#[derive(Debug, Default)]
struct Sightings {
    unschedulable: BTreeMap<String, Instant>,
    claimed: BTreeMap<String, Instant>,
    /// When there was first a claim made for the pod.
    made_for: BTreeMap<String, Instant>,
    node_of_pod: BTreeMap<String, String>,
    claim_of_node: BTreeMap<String, String>,
}

/// The title and the text of what a scale-up on a real control plane takes.
pub(super) async fn section() -> Result<(String, String)> {
    let figures = measure().await?;
    let text = format!(
        "On the test control plane with simulated machines that boot in a second, and everything on one machine: the \
         control plane takes most of its time. A claim counts from the moment the watch shows that it exists; one that was \
         there already, with room for the pod, counts as no wait.\n\n{figures}"
    );
    Ok((format!("A scale-up of {PODS} pods onto {NODES} nodes"), text))
}

async fn measure() -> Result<String> {
    println!("building windlass (release) and the control plane ...");
    let program = windlass::build(true)?;
    let plane = ControlPlane::start().await.context("the control plane does not start")?;
    let process = windlass::start(&plane, &program, &[]).await?;
    let client = plane.client()?;
    apply(&plane, "pools.yaml", &pools(NAMESPACE, &[("four", 4, "0.10")], "30s"))?;
    let sightings = Arc::new(Mutex::new(Sightings::default()));
    let watching = tokio::spawn(watch(client.clone(), sightings.clone()));
    // A first pod, so that what is measured is not the start of the controller.
    apply(&plane, "workload.yaml", &workload(1))?;
    until(&client, NAMESPACE, |view| view.running == 1).await?;

    let started = Instant::now();
    apply(&plane, "workload.yaml", &workload(PODS))?;
    let grown = until(&client, NAMESPACE, |view| view.running == PODS).await?;
    let took = started.elapsed();
    let memory = process.memory()?;
    watching.abort();

    let sightings = sightings.lock().unwrap_or_else(PoisonError::into_inner);
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    let rows = [
        ("pods, nodes".to_owned(), format!("{PODS}, {}", grown.nodes)),
        (
            "a claim for a pod after it became unschedulable (median, 99th percentile, longest)".to_owned(),
            summary(sightings.waits(|pod| sightings.first_claim(pod)))?,
        ),
        (
            "the claim of the node that it runs on in the end, likewise".to_owned(),
            summary(sightings.waits(|pod| sightings.last_claim(pod)))?,
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

/// The median, the 99th percentile and the longest.
fn summary(mut waits: Vec<Duration>) -> Result<String> {
    ensure!(!waits.is_empty(), "no pod was seen to wait for a claim");
    waits.sort();
    let seconds = |part: usize| waits[(waits.len() - 1) * part / 100].as_secs_f64();
    Ok(format!("{:.2} s, {:.2} s, {:.2} s", seconds(50), seconds(99), seconds(100)))
}

impl Sightings {
    /// For each pod how long it was unschedulable before it had a claim. None at all if the claim was there already, with
    /// room for it.
    fn waits<'a>(&'a self, claim: impl Fn(&str) -> Option<&'a Instant>) -> Vec<Duration> {
        let both = self.unschedulable.iter().filter_map(|(pod, at)| Some((at, claim(pod)?)));
        both.map(|(from, to)| to.saturating_duration_since(*from)).collect()
    }

    /// When there was a claim that the pod was planned for. A pod that took the room of another is not named by any.
    fn first_claim(&self, pod: &str) -> Option<&Instant> {
        self.made_for.get(pod).or_else(|| self.last_claim(pod))
    }

    /// When there was the claim whose node the pod runs on: later than the first if another pod took its place there.
    fn last_claim(&self, pod: &str) -> Option<&Instant> {
        self.claimed.get(self.claim_of_node.get(self.node_of_pod.get(pod)?)?)
    }
}

async fn watch(client: Client, sightings: Arc<Mutex<Sightings>>) {
    let sightings = || sightings.lock().unwrap_or_else(PoisonError::into_inner);
    let pods = async {
        let api: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
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
            let now = Instant::now();
            sightings.claimed.entry(name.clone()).or_insert(now);
            for pod in &claim.spec.reason.pods {
                let name = pod.rsplit('/').next().unwrap_or(pod);
                sightings.made_for.entry(name.to_owned()).or_insert(now);
            }
            if let Some(node) = claim.status.and_then(|status| status.node_name) {
                sightings.claim_of_node.insert(node, name);
            }
        }
    };
    tokio::join!(pods, claims);
}

fn workload(replicas: usize) -> String {
    format!(
        "
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
