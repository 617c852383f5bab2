//! The test control plane itself.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;
use windlass_testkit::objects::{LINGER, NodeBuilder, PodBuilder, UNREADY, budget, deployment, namespace};
use windlass_testkit::{Component, ControlPlane, eventually, plane_tests};

const SOON: Duration = Duration::from_secs(30);

plane_tests![
    a_posted_node_becomes_ready_and_runs_the_pods_of_a_deployment,
    a_deleted_pod_goes_away_unless_it_is_to_linger,
    a_jobs_pod_succeeds,
    a_budget_refuses_the_eviction_of_the_last_pod,
    a_node_annotated_unready_stays_so_until_the_annotation_goes,
    a_node_whose_lease_somebody_else_holds_becomes_unknown_and_comes_back,
    kubectl_knows_the_servers_version_and_its_nodes,
    a_restarted_api_server_has_its_data_and_its_address,
    nothing_outlives_a_killed_process,
    the_folder_of_a_dropped_plane_is_gone,
];

async fn a_posted_node_becomes_ready_and_runs_the_pods_of_a_deployment(plane: Arc<ControlPlane>) {
    let client = plane.client().unwrap();
    let pods = scene(&client, "runs").await;
    let web = deployment("web", 3, on("runs", PodBuilder::new("web").cpu("500m").memory("1Gi")));
    let deployments: Api<Deployment> = Api::namespaced(client, pods.namespace().unwrap());
    deployments.create(&PostParams::default(), &web).await.unwrap();
    eventually("three running pods", SOON, async || {
        let phases =
            pods.list(&ListParams::default()).await.unwrap().items.iter().map(phase).collect::<Vec<_>>();
        if phases == ["Running"; 3] { Ok(()) } else { Err(format!("{phases:?}")) }
    })
    .await;
}

async fn a_deleted_pod_goes_away_unless_it_is_to_linger(plane: Arc<ControlPlane>) {
    let client = plane.client().unwrap();
    let pods = scene(&client, "deletes").await;
    for pod in [PodBuilder::new("brief"), PodBuilder::new("lingering").annotation(LINGER, "true")] {
        let pod = pods.create(&PostParams::default(), &on("deletes", pod).build()).await.unwrap();
        running(&pods, &pod.name_any()).await;
        pods.delete(&pod.name_any(), &DeleteParams::default()).await.unwrap();
    }
    gone(&pods, "brief").await;
    assert!(pods.get("lingering").await.unwrap().metadata.deletion_timestamp.is_some());

    let without = json!({ "metadata": { "annotations": { LINGER: null } } });
    pods.patch("lingering", &PatchParams::default(), &Patch::Merge(without)).await.unwrap();
    gone(&pods, "lingering").await;
}

async fn a_jobs_pod_succeeds(plane: Arc<ControlPlane>) {
    let client = plane.client().unwrap();
    let pods = scene(&client, "jobs").await;
    let pod =
        on("jobs", PodBuilder::new("unused")).spec(|spec| spec.restart_policy = Some("Never".to_owned()));
    let job = json!({ "metadata": { "name": "once" }, "spec": { "template": { "spec": pod.build().spec } } });
    let jobs: Api<Job> = Api::namespaced(client, pods.namespace().unwrap());
    jobs.create(&PostParams::default(), &serde_json::from_value(job).unwrap()).await.unwrap();
    eventually("a complete job", SOON, async || {
        jobs.get("once").await.unwrap().status.unwrap().succeeded.filter(|succeeded| *succeeded == 1)
    })
    .await;
}

async fn a_budget_refuses_the_eviction_of_the_last_pod(plane: Arc<ControlPlane>) {
    let client = plane.client().unwrap();
    let pods = scene(&client, "budget").await;
    let pod = on("budget", PodBuilder::new("guarded").label("app", "guarded")).build();
    pods.create(&PostParams::default(), &pod).await.unwrap();
    running(&pods, "guarded").await;
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(client, pods.namespace().unwrap());
    budgets.create(&PostParams::default(), &budget("guarded", 1)).await.unwrap();
    eventually("the budget to count its pod", SOON, async || {
        budgets.get("guarded").await.unwrap().status.filter(|status| status.current_healthy == Some(1))
    })
    .await;
    let refusal = pods.evict("guarded", &kube::api::EvictParams::default()).await.unwrap_err();
    assert!(matches!(&refusal, kube::Error::Api(status) if status.code == 429), "{refusal}");
}

async fn a_node_annotated_unready_stays_so_until_the_annotation_goes(plane: Arc<ControlPlane>) {
    let nodes: Api<Node> = Api::all(plane.client().unwrap());
    let node = NodeBuilder::new("held-back").annotation(UNREADY, "true").build();
    nodes.create(&PostParams::default(), &node).await.unwrap();
    // KWOK has seen the node once it has taken its lease.
    let leases: Api<Lease> = Api::namespaced(plane.client().unwrap(), "kube-node-lease");
    eventually("the node's lease", SOON, async || leases.get("held-back").await).await;
    assert_eq!(readiness(&nodes, "held-back").await, "False");

    let without = json!({ "metadata": { "annotations": { UNREADY: null } } });
    nodes.patch("held-back", &PatchParams::default(), &Patch::Merge(without)).await.unwrap();
    until_ready_is(&nodes, "held-back", "True").await;
    nodes.delete("held-back", &DeleteParams::default()).await.unwrap();
}

async fn a_node_whose_lease_somebody_else_holds_becomes_unknown_and_comes_back(_: Arc<ControlPlane>) {
    let plane = ControlPlane::builder().node_monitor_grace(Duration::from_secs(8)).start().await.unwrap();
    let client = plane.client().unwrap();
    let nodes: Api<Node> = Api::all(client.clone());
    nodes.create(&PostParams::default(), &NodeBuilder::new("lonely").build()).await.unwrap();
    until_ready_is(&nodes, "lonely", "True").await;

    let leases: Api<Lease> = Api::namespaced(client, "kube-node-lease");
    let taken = json!({ "spec": { "holderIdentity": "somebody-else", "leaseDurationSeconds": 1_000_000 } });
    leases.patch("lonely", &PatchParams::default(), &Patch::Merge(taken)).await.unwrap();
    until_ready_is(&nodes, "lonely", "Unknown").await;

    let free = json!({ "spec": { "holderIdentity": null } });
    leases.patch("lonely", &PatchParams::default(), &Patch::Merge(free)).await.unwrap();
    until_ready_is(&nodes, "lonely", "True").await;
}

async fn kubectl_knows_the_servers_version_and_its_nodes(plane: Arc<ControlPlane>) {
    let nodes: Api<Node> = Api::all(plane.client().unwrap());
    nodes.create(&PostParams::default(), &NodeBuilder::new("listed").build()).await.unwrap();
    let version = plane.kubectl(&["version"]).unwrap();
    let printed = String::from_utf8_lossy(&version.stdout);
    assert!(version.status.success() && printed.contains("Server Version: v1."), "{version:?}");
    let listed = plane.kubectl(&["get", "nodes"]).unwrap();
    assert!(String::from_utf8_lossy(&listed.stdout).contains("listed"), "{listed:?}");
    nodes.delete("listed", &DeleteParams::default()).await.unwrap();
}

async fn a_restarted_api_server_has_its_data_and_its_address(_: Arc<ControlPlane>) {
    let plane = ControlPlane::builder().kwok(false).start().await.unwrap();
    let before = plane.process_ids();
    assert!(!before.contains_key(&Component::Kwok));
    let client = plane.client().unwrap();
    let config_maps: Api<ConfigMap> = Api::namespaced(client, "default");
    let kept = serde_json::from_value(json!({ "metadata": { "name": "kept" } })).unwrap();
    config_maps.create(&PostParams::default(), &kept).await.unwrap();

    plane.restart_apiserver().await.unwrap();
    assert_ne!(plane.process_ids()[&Component::ApiServer], before[&Component::ApiServer]);
    assert_eq!(plane.process_ids()[&Component::Etcd], before[&Component::Etcd]);
    config_maps.get("kept").await.unwrap();
}

async fn nothing_outlives_a_killed_process(_: Arc<ControlPlane>) {
    let mut holder = Command::new(env!("CARGO_BIN_EXE_plane"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // A line for the kubeconfig and one for each of the five components.
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines().take(6).map(Result::unwrap);
    let values: Vec<String> = lines.map(|line| line.split_once(' ').unwrap().1.to_owned()).collect();
    let (kubeconfig, pids) = values.split_first().unwrap();
    assert_eq!(pids.len(), 5);
    assert!(pids.iter().all(|pid| runs(pid)), "{pids:?}");

    holder.kill().unwrap();
    holder.wait().unwrap();
    eventually("the components to end", SOON, async || {
        let left: Vec<&String> = pids.iter().filter(|pid| runs(pid)).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
    // Nobody was left to remove it.
    fs::remove_dir_all(Path::new(kubeconfig).parent().unwrap()).unwrap();
}

async fn the_folder_of_a_dropped_plane_is_gone(_: Arc<ControlPlane>) {
    let plane = ControlPlane::builder().kwok(false).audit_log(true).start().await.unwrap();
    let folder = plane.folder().to_owned();
    assert!(fs::metadata(plane.audit_log_path().unwrap()).unwrap().len() > 0);
    drop(plane);
    assert!(!folder.exists());
}

/// A namespace, and a node for the pods that are [`on`] it only, so that tests do not meet on each other's nodes.
async fn scene(client: &Client, name: &str) -> Api<Pod> {
    let namespace = namespace(client, name).await.unwrap();
    let nodes: Api<Node> = Api::all(client.clone());
    let node = NodeBuilder::new(name).label("scene", name).taint("scene", name, "NoSchedule").build();
    nodes.create(&PostParams::default(), &node).await.unwrap();
    Api::namespaced(client.clone(), &namespace)
}

fn on(scene: &str, pod: PodBuilder) -> PodBuilder {
    pod.node_selector("scene", scene).tolerates("scene")
}

fn phase(pod: &Pod) -> String {
    pod.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or_default()
}

async fn running(pods: &Api<Pod>, name: &str) {
    eventually("the pod to run", SOON, async || match phase(&pods.get(name).await.unwrap()).as_str() {
        "Running" => Ok(()),
        other => Err(other.to_owned()),
    })
    .await;
}

async fn gone(pods: &Api<Pod>, name: &str) {
    eventually("the pod to go", SOON, async || match pods.get_opt(name).await.unwrap() {
        None => Ok(()),
        Some(pod) => Err(format!("{:?}", pod.metadata)),
    })
    .await;
}

async fn readiness(nodes: &Api<Node>, name: &str) -> String {
    let conditions = nodes.get(name).await.unwrap().status.unwrap().conditions.unwrap();
    conditions.into_iter().find(|condition| condition.type_ == "Ready").unwrap().status
}

async fn until_ready_is(nodes: &Api<Node>, name: &str, wanted: &str) {
    eventually(&format!("Ready={wanted} of {name}"), SOON, async || {
        let status = readiness(nodes, name).await;
        if status == wanted { Ok(()) } else { Err(format!("Ready={status}")) }
    })
    .await;
}

/// Whether a process runs: one that has ended may stay listed until its parent asks how.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}
