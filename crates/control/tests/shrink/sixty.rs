//! Sixty nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::ResourceExt;
use serde_json::Value;
use windlass_api::{NodeClaim, labels};
use windlass_core::Price;
use windlass_testkit::{ControlPlane, eventually};

use crate::bound;
use crate::budgets::fewest_healthy;
use crate::cluster::Cluster;
use crate::diary::{Diary, Entry, Kind};
use crate::hands::{PATIENCE, now};
use crate::plans;
use crate::waits::{self, Wait};

/// How many plans are made with nothing to do before the shrinking counts as over, and how many are watched then.
const QUIET_PLANS: u64 = 8;

pub async fn sixty_half_empty_nodes_shrink_to_what_their_pods_need(plane: Arc<ControlPlane>) {
    let seed = std::env::var("WINDLASS_TEST_SEED").map_or(7, |seed| seed.parse().unwrap());
    let mut cluster = Cluster::filled(plane, "sixty", seed).await;
    cluster.thin_out().await;
    cluster.keep_still().await;
    let (before, busy) = (cluster.lab.claims().await, cluster.busy().await);
    let bound_before = bound::from_nothing(&cluster.lab, &cluster.pods().await).await;
    let diary = Diary::of(&cluster.lab).await;
    let at_first: Vec<Value> =
        cluster.pods().await.iter().map(|pod| serde_json::to_value(pod).unwrap()).collect();
    let started = now();
    cluster.let_it_shrink().await;
    let took = eventually("the cluster to shrink", 2 * PATIENCE, async || {
        let version = latest(&diary);
        is_at_rest(&cluster).await?;
        let took = now().duration_since(started);
        plans::further(&cluster.running.metrics, QUIET_PLANS).await;
        let is_over = latest(&diary) == version && cluster.lab.claims().await.len() < before.len();
        if is_over { Ok(took) } else { Err("at rest, but not for long".to_owned()) }
    })
    .await;

    let (entries, after, pods) = (diary.entries(), cluster.lab.claims().await, cluster.pods().await);
    let report = bound::from_nothing(&cluster.lab, &pods).await;
    let waits = waits::of_new_pods(&entries);
    let longest = waits.iter().map(|wait| wait.time).max().unwrap_or_default();
    let refused = waits.iter().filter(|wait| wait.refused).count();
    let boots = waits::of_new_nodes(&entries);
    let fewest = fewest_healthy(&at_first, &entries, &cluster.replicas);
    let decided = plans_decided(&entries);
    println!(
        "{} nodes at {busy} % for {} (from nothing {}, bound {}) became {} at {} % for {} (from nothing {}, bound {}) \
         in {took:#} and plans {decided:?}; {} pods moved, {refused} of which were refused at first, the longest wait \
         was {longest:?}; {} new nodes took up to {:?}; fewest healthy {fewest:?} of {:?}",
        before.len(),
        cost(&before),
        bound_before.cost,
        bound_before.lower_bound,
        after.len(),
        cluster.busy().await,
        cost(&after),
        report.cost,
        report.lower_bound,
        waits.len(),
        boots.len(),
        boots.values().max(),
        cluster.replicas,
    );
    assert!(
        cost(&after).micros() * 10 <= report.lower_bound.micros() * 11,
        "more than a tenth above the bound"
    );
    assert!(decided.len() <= 2, "{decided:?}");
    // What was refused has to wait for a machine of its own: to be planned, which takes less than to start, and to start.
    let slowest = boots.values().max().copied().unwrap_or_default();
    let late: Vec<&Wait> = waits.iter().filter(|wait| wait.refused && wait.time > 2 * slowest).collect();
    assert!(late.is_empty(), "longer than a new node took: {late:?}");

    let version = latest(&diary);
    plans::further(&cluster.running.metrics, QUIET_PLANS).await;
    let disturbed: Vec<Entry> =
        diary.entries().into_iter().filter(|entry| entry.version > version).filter(is_disturbance).collect();
    assert!(disturbed.is_empty(), "{disturbed:#?}");
    let Cluster { lab, running, .. } = cluster;
    running.crash().await;
    lab.finish().await;
}

/// All pods run, and nothing is on its way in or out.
async fn is_at_rest(cluster: &Cluster) -> Result<(), String> {
    let claims = cluster.lab.claims().await;
    let leaving = claims.iter().filter(|claim| claim.metadata.deletion_timestamp.is_some()).count();
    let decided = claims.iter().filter(|claim| claim.annotations().contains_key(labels::DISRUPTION)).count();
    let ready = claims.iter().filter(|claim| crate::lab::is(claim, windlass_api::conditions::READY)).count();
    let nodes = cluster.lab.nodes().await.len();
    let pods = cluster.pods().await;
    let phase = |phase: &Option<String>| phase.as_deref() == Some("Running");
    let running = pods
        .iter()
        .filter(|pod| {
            pod.metadata.deletion_timestamp.is_none()
                && pod.status.as_ref().is_some_and(|status| phase(&status.phase))
        })
        .count();
    let wanted = usize::try_from(cluster.replicas.values().sum::<i32>()).unwrap();
    let at_rest = leaving + decided == 0
        && ready == claims.len()
        && nodes == claims.len()
        && (running, pods.len()) == (wanted, wanted);
    if at_rest {
        return Ok(());
    }
    Err(format!(
        "{} claims, {ready} ready, {decided} decided, {leaving} leaving, {nodes} nodes, {running} of {} pods run, {wanted} \
         wanted",
        claims.len(),
        pods.len()
    ))
}

fn latest(diary: &Diary) -> u64 {
    diary.entries().iter().filter(|entry| is_disturbance(entry)).map(|entry| entry.version).max().unwrap_or(0)
}

/// What nobody should see happen while nothing changes.
fn is_disturbance(entry: &Entry) -> bool {
    let annotated = !entry.object["metadata"]["annotations"][labels::DISRUPTION].is_null();
    let closed = entry.object["spec"]["unschedulable"] == true;
    match entry.kind {
        Kind::Claim => annotated || entry.added || entry.deleted || entry.is_leaving(),
        Kind::Node => closed || entry.added || entry.deleted,
        Kind::Pod => entry.added || entry.deleted || entry.is_leaving(),
        Kind::Machine => entry.added || entry.deleted,
    }
}

/// When it was decided that nodes go because their pods can run for less, each with the number of claims.
fn plans_decided(entries: &[Entry]) -> BTreeMap<String, usize> {
    let mut plans: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.kind == Kind::Claim) {
        let annotations = &entry.object["metadata"]["annotations"];
        let why = annotations[labels::DISRUPTION].as_str().unwrap_or_default();
        if let Some(at) =
            annotations[labels::DISRUPTED_AT].as_str().filter(|_| why.starts_with("Underutilized"))
        {
            plans.entry(at.to_owned()).or_default().insert(&entry.name);
        }
    }
    plans.into_iter().map(|(at, claims)| (at, claims.len())).collect()
}

fn cost(claims: &[NodeClaim]) -> Price {
    let prices = claims.iter().map(|claim| claim.status.as_ref().unwrap().price.as_deref().unwrap());
    prices.map(|price| price.parse::<Price>().unwrap()).sum()
}
