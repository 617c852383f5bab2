//! What is measured.

use std::path::Path;

use anyhow::Result;
use windlass_core::model::{InstanceType, Snapshot};

use crate::catalogue::{ec2, fake, general, in_five_zones, kwok, mixed, scarce, seventh, with_gpus};
use crate::cluster::{empty, run, stand, wait};
use crate::demand::{
    Demand, GPU, asking, continuous, karpenter_mix, karpenter_sizes, microservices, openb, services,
};

/// A cluster to plan for.
pub struct Scenario {
    /// What it is called.
    pub name: String,
    /// The cluster.
    pub snapshot: Snapshot,
}

fn pending(name: impl Into<String>, demands: Vec<Demand>, types: &[InstanceType]) -> Scenario {
    let mut snapshot = empty(types.to_vec());
    wait(&mut snapshot, "p", demands);
    Scenario { name: name.into(), snapshot }
}

/// Karpenter's scheduling benchmark.
pub fn karpenter() -> impl Iterator<Item = Scenario> {
    [1, 50, 100, 500, 1_000, 2_000, 5_000, 10_000, 20_000]
        .into_iter()
        .map(|count| pending(format!("{count} pods"), karpenter_mix(count), &fake()))
}

/// Many pods of the thirty sizes of Karpenter's benchmark, without constraints.
pub fn few_classes() -> impl Iterator<Item = Scenario> {
    [1_000, 5_000, 10_000, 25_000, 51_000]
        .into_iter()
        .map(|count| pending(format!("{count} pods"), karpenter_sizes(count, None), &fake()))
}

/// A large cluster, in which pods wait that want nothing special, and such that look at the pods that run.
pub fn large() -> [Scenario; 2] {
    let waiting = |name: &str, demands: Vec<Demand>| {
        let mut snapshot = large_cluster(NODES, PODS_PER_NODE);
        wait(&mut snapshot, "p", demands);
        Scenario { name: format!("{name}, 1000 pending"), snapshot }
    };
    let plain = karpenter_sizes(1_000, None);
    [waiting("no constraints", plain), waiting("with topology", services(50, 20))]
}

pub(crate) const NODES: usize = 5_000;
pub(crate) const PODS_PER_NODE: usize = 20;

/// Nodes that are nearly full of the pods of many services.
fn large_cluster(nodes: usize, pods_per_node: usize) -> Snapshot {
    let types = fake();
    let mut snapshot = empty(types.clone());
    // Eight cores each.
    if let Some(kind) = types.get(7) {
        for number in 0..nodes {
            stand(&mut snapshot, &format!("node-{number}"), kind, number % kind.offerings.len());
        }
    }
    let running: Vec<Demand> = (0..nodes * pods_per_node)
        .map(|number| {
            let service = number % 200;
            let labels = windlass_core::model::Labels::new().with("app", &format!("service-{service}"));
            let size = i64::try_from(service).unwrap_or(0);
            (asking(300 + size % 90, 600 + size, 0), labels)
        })
        .collect();
    run(&mut snapshot, "r", running, |number| format!("node-{}", number / pods_per_node).into());
    snapshot
}

/// Services of which no two are alike.
pub fn many_classes() -> impl Iterator<Item = Scenario> {
    [300, 1_000, 3_000]
        .into_iter()
        .map(|count| pending(format!("{count} services of 3 pods"), services(count, 3), &fake()))
}

/// Workloads on the catalogues of a data folder.
pub fn packing(data: &Path) -> Result<Vec<Scenario>> {
    let types = ec2(data)?;
    let (all, small, seventh) = (general(&types, i64::MAX), general(&types, 16), seventh(&types));
    let (gpus, mixed, kwok, fake) = (with_gpus(&types), mixed(&types), kwok(data)?, fake());
    let openb = openb(data)?;
    let gpu_pods: Vec<Demand> =
        openb.iter().filter(|(shape, _)| shape.requests.get(GPU) > 0).cloned().collect();
    let mut list = Vec::new();
    for count in [1_000, 5_000, 10_000] {
        let sizes = karpenter_sizes(count, None);
        let apart = karpenter_sizes(count, Some(5));
        list.extend([
            pending(format!("Karpenter's sizes, c/m/r, {count}"), sizes.clone(), &all),
            pending(format!("Karpenter's sizes, at most 16 cores, {count}"), sizes.clone(), &small),
            pending(format!("Karpenter's sizes, KWOK's types, {count}"), sizes.clone(), &kwok),
            pending(format!("Karpenter's sizes, 400 fake types, {count}"), sizes, &fake),
            pending(format!("the same, 20 % apart, at most 16 cores, {count}"), apart, &small),
            pending(format!("microservices, at most 16 cores, {count}"), microservices(count), &small),
            pending(format!("microservices, c7i/m7i/r7i, {count}"), microservices(count), &seventh),
            pending(format!("all sizes, at most 16 cores, {count}"), continuous(count, 4.0), &small),
            pending(format!("all sizes, c/m/r, {count}"), continuous(count, 4.0), &all),
        ]);
    }
    let sizes = || karpenter_sizes(10_000, None);
    list.extend([
        pending("openb, pods with GPUs, g/p", gpu_pods, &gpus),
        pending(format!("{UNTAINTED}, c/m/r and g/p"), openb, &mixed),
        pending("fine sizes, at most 16 cores, 10000", continuous(10_000, 6.5), &small),
        pending("Karpenter's sizes, c/m/r in five zones, 10000", sizes(), &in_five_zones(&all, None)),
        pending(
            "fine sizes, c/m/r in five zones, 10000",
            continuous(10_000, 6.5),
            &in_five_zones(&all, None),
        ),
    ]);
    Ok(list)
}

/// Workloads for which there are hardly enough machines. The bound knows little of that.
pub fn shortage(data: &Path) -> Result<Vec<Scenario>> {
    let types = ec2(data)?;
    let sizes = || karpenter_sizes(10_000, None);
    Ok(vec![
        pending(
            "two of each of c/m/r in five zones",
            sizes(),
            &in_five_zones(&general(&types, i64::MAX), Some(2)),
        ),
        pending("three of each with at most 16 cores", sizes(), &scarce(&general(&types, 16), 3)),
    ])
}

/// How the case begins in which pods without GPUs may take machines with GPUs.
pub const UNTAINTED: &str = "openb, all pods";
