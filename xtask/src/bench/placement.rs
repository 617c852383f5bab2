//! A tight plan is worth only what comes of it: if the scheduler spreads the pods its own way, some find no room and need
//! further machines. So the same pods are planned and left to the scheduler, with nominations and without.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client};
use windlass_api::{NodeClaim, labels};
use windlass_core::Quantity;
use windlass_testkit::objects::PodBuilder;
use windlass_testkit::{ControlPlane, Placements};

use super::{apply, pools, until};
use crate::windlass;

const PLANS: u64 = 20;
const PODS: usize = 400;
const NAMESPACE: &str = "placement";

/// What became of one plan.
struct Outcome {
    /// The share of the nodes' cores that the pods ask for.
    fill: f64,
    placements: Placements,
}

/// The title and the text of what comes of plans that are carried out with nominations and without.
pub(super) async fn section() -> Result<(String, String)> {
    let figures = measure().await?;
    let text = format!(
        "{PLANS} batches of {PODS} pods of many sizes, planned tightly onto machines of three sizes on the test control \
         plane.\n\n{figures}"
    );
    Ok(("Whether plans are what happens".to_owned(), text))
}

async fn measure() -> Result<String> {
    let mut table =
        "| nominations | fill of the cores (least, mean) | pods where planned (least, mean) | pods \
                     planned again (most, sum) | plans that held |\n|---|---|---|---|---|\n"
            .to_owned();
    println!("building windlass (release) and the control plane ...");
    let program = windlass::build(true)?;
    for nominations in ["auto", "never"] {
        let outcomes = carry_out(&program, nominations).await?;
        table.push_str(&row(nominations, &outcomes));
    }
    print!("{table}");
    Ok(table)
}

#[allow(clippy::cast_precision_loss, reason = "a few hundred pods")]
fn row(nominations: &str, outcomes: &[Outcome]) -> String {
    let percent = |part: f64| format!("{:.1} %", 100.0 * part);
    let least_and_mean = |shares: Vec<f64>| {
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        format!("{}, {}", percent(least), percent(shares.iter().sum::<f64>() / shares.len() as f64))
    };
    let fill = least_and_mean(outcomes.iter().map(|each| each.fill).collect());
    let placed =
        least_and_mean(outcomes.iter().map(|each| each.placements.kept as f64 / PODS as f64).collect());
    let again = outcomes.iter().map(|each| each.placements.again);
    let (most, sum) = (again.clone().max().unwrap_or(0), again.clone().sum::<usize>());
    let held = again.filter(|again| *again == 0).count();
    format!("| {nominations} | {fill} | {placed} | {most}, {sum} | {held} of {} |\n", outcomes.len())
}

async fn carry_out(program: &Path, nominations: &str) -> Result<Vec<Outcome>> {
    let plane = ControlPlane::start().await.context("the control plane does not start")?;
    // The scheduler needs a while for so many pods; they are all to be in one plan.
    let arguments = ["--nominations", nominations, "--batch-idle", "5s", "--batch-max", "2m"];
    let _process = windlass::start(&plane, program, &arguments).await?;
    let client = plane.client()?;
    let machines = [("four", 4, "0.10"), ("eight", 8, "0.20"), ("sixteen", 16, "0.39")];
    apply(&plane, "pools.yaml", &pools(NAMESPACE, &machines, "1s"))?;
    let mut outcomes = Vec::new();
    for seed in 0..PLANS {
        make_pods(&client, seed).await?;
        until(&client, NAMESPACE, |view| view.running == PODS).await?;
        let outcome = Outcome::look(&client).await?;
        println!(
            "plan {seed}, nominations {nominations}: fill {:.3}, {} of {PODS} pods where planned, {} planned again",
            outcome.fill, outcome.placements.kept, outcome.placements.again
        );
        outcomes.push(outcome);
        let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        Api::<Pod>::namespaced(client.clone(), NAMESPACE)
            .delete_collection(&at_once, &ListParams::default())
            .await?;
        until(&client, NAMESPACE, |view| (view.pods, view.claims, view.nodes) == (0, 0, 0)).await?;
    }
    Ok(outcomes)
}

/// Pods of a tenth of a core to four, small ones more often.
async fn make_pods(client: &Client, seed: u64) -> Result<()> {
    let mut dice = fastrand::Rng::with_seed(seed);
    let api: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let pods = (0..PODS).map(|number| {
        let most = dice.u32(2..=40);
        let tenths = dice.u32(1..=most);
        let pod = PodBuilder::new(&format!("pod-{number}")).cpu(&format!("{}m", 100 * tenths));
        pod.memory(&format!("{}Mi", 128 * tenths)).build()
    });
    let pods: Vec<Pod> = pods.collect();
    let created = stream::iter(&pods).map(async |pod| api.create(&PostParams::default(), pod).await);
    created.buffer_unordered(8).try_for_each(async |_| Ok(())).await?;
    Ok(())
}

impl Outcome {
    async fn look(client: &Client) -> Result<Self> {
        let all = ListParams::default();
        let pods = Api::<Pod>::namespaced(client.clone(), NAMESPACE).list(&all).await?.items;
        let claims = Api::<NodeClaim>::all(client.clone()).list(&all).await?.items;
        let nodes = Api::<Node>::all(client.clone()).list(&all.labels(labels::POOL)).await?.items;
        let placements = Placements::of(&pods, &claims);
        ensure!(placements.planned == PODS, "claims were made for {} of {PODS} pods", placements.planned);
        Ok(Self { fill: asked(&pods)? / offered(&nodes)?, placements })
    }
}

/// The cores that pods ask for.
fn asked(pods: &[Pod]) -> Result<f64> {
    let containers = pods.iter().filter_map(|pod| pod.spec.as_ref()).flat_map(|spec| &spec.containers);
    let requests = containers.filter_map(|each| each.resources.as_ref()?.requests.as_ref()?.get("cpu"));
    cores(requests.map(|quantity| quantity.0.as_str()))
}

/// The cores that nodes have.
fn offered(nodes: &[Node]) -> Result<f64> {
    let amounts = nodes.iter().filter_map(|node| node.status.as_ref()?.allocatable.as_ref()?.get("cpu"));
    cores(amounts.map(|quantity| quantity.0.as_str()))
}

#[allow(clippy::cast_precision_loss, reason = "a few hundred cores")]
fn cores<'a>(mut amounts: impl Iterator<Item = &'a str>) -> Result<f64> {
    let milli = amounts.try_fold(0, |sum, text| text.parse::<Quantity>().map(|each| sum + each.milli()))?;
    Ok(milli as f64 / 1000.0)
}
