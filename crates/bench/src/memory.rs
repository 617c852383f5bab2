//! What the controller's index of a large cluster takes.

use std::fs;

use anyhow::{Context, Result};
use serde_json::json;
use windlass_control::adapt;
use windlass_control::index::Index;
use windlass_core::model::Settings;

use crate::cluster::now;
use crate::scenario::{NODES, PODS_PER_NODE};

/// Fills an index with the objects of a large cluster as they come from the API server, takes a snapshot and plans; says
/// how many pods and nodes there are and how many bytes of memory the process then uses and has used at most.
pub fn of_large_cluster() -> Result<(usize, usize, u64, u64)> {
    let mut index = Index::default();
    for number in 0..NODES {
        index.saw_node(adapt::seen_node(&node(number)?));
    }
    for number in 0..NODES * PODS_PER_NODE {
        let pod = adapt::pod(&pod(number)?).context("a pod that runs is taken in")?;
        index.saw_pod(pod, now());
    }
    let snapshot = index.snapshot(&Settings::default());
    let (plan, _) = windlass_core::plan(&snapshot, now());
    let (resident, peak) = (usage("VmRSS")?, usage("VmHWM")?);
    drop((plan, index));
    Ok((snapshot.pods.len(), snapshot.nodes.len(), resident, peak))
}

fn node(number: usize) -> Result<k8s_openapi::api::core::v1::Node> {
    let name = format!("ip-10-{}-{}.eu-west-1.compute.internal", number / 250, number % 250);
    Ok(serde_json::from_value(json!({
        "metadata": {
            "name": name, "uid": format!("8d2f7b1e-0000-4000-8000-{number:012}"), "resourceVersion": "1",
            "labels": {
                "kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": "m7i.2xlarge",
                "topology.kubernetes.io/zone": format!("eu-west-1{}", ["a", "b", "c"][number % 3]),
                "topology.kubernetes.io/region": "eu-west-1", "windlass.dev/pool": "general",
            },
        },
        "spec": {"providerID": format!("aws:///eu-west-1/i-{number:017x}")},
        "status": {
            "allocatable": {"cpu": "7910m", "memory": "30Gi", "pods": "58"},
            "capacity": {"cpu": "8", "memory": "32Gi", "pods": "58"},
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        },
    }))?)
}

/// A pod of one of two thousand services, as a deployment makes it.
fn pod(number: usize) -> Result<k8s_openapi::api::core::v1::Pod> {
    let (service, node) = (number % 2_000, number / PODS_PER_NODE);
    let (app, hash) = (format!("service-{service}"), format!("{:010x}", service * 7919));
    let selector = json!({"matchLabels": {"app": app}});
    Ok(serde_json::from_value(json!({
        "metadata": {
            "name": format!("{app}-{hash}-{number:05}"), "namespace": format!("team-{}", service % 50),
            "uid": format!("5b6e1c0a-0000-4000-8000-{number:012}"),
            "labels": {"app": app, "pod-template-hash": hash, "team": format!("team-{}", service % 50)},
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{app}-{hash}"), "uid": "u",
                "controller": true,
            }],
        },
        "spec": {
            "nodeName": format!("ip-10-{}-{}.eu-west-1.compute.internal", node / 250, node % 250),
            "containers": [
                {"name": "main", "resources": {"requests": {"cpu": format!("{}m", 100 + service % 40 * 10), "memory": "512Mi"}}},
                {"name": "proxy", "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}}},
            ],
            "topologySpreadConstraints": [{
                "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": selector,
            }],
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            ],
        },
        "status": {"phase": "Running"},
    }))?)
}

fn usage(what: &str) -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with(what)).context("the kernel does not say")?;
    let kib: u64 = line.split_whitespace().nth(1).context("the kernel does not say")?.parse()?;
    Ok(kib << 10)
}
