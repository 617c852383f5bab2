//! `windlass plan --live` and `windlass explain` look at a cluster and change nothing.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;

use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use windlass_api::{NodeClaim, labels};
use windlass_testkit::objects::{PodBuilder, budget};
use windlass_testkit::{ControlPlane, eventually};

use crate::stage::{PATIENCE, Stage};

pub async fn a_plan_for_a_live_cluster_shows_what_would_happen_and_changes_nothing(plane: Arc<ControlPlane>) {
    let stage = Stage::on(plane, "looks").await;
    stage.provider(&json!({})).await;
    stage.pool(&json!({})).await;
    stage.pods(0..2).await;
    let ids = ["p-0", "p-1"].map(|name| format!("{}/{name}", stage.namespace));
    let plan = eventually("both pods get machines in the plan", PATIENCE, async || {
        let (_, out, err) = look(&stage, &["plan", "--live", "-o", "json"], "");
        let plan: Value = serde_json::from_str(&out).map_err(|_| err)?;
        if ids.iter().all(|id| launch_of(&plan, id).is_some()) { Ok(plan) } else { Err(out) }
    })
    .await;
    let launch = launch_of(&plan, &ids[0]).unwrap();
    assert_eq!((&launch["pool"], &launch["instanceType"]), (&json!(stage.named("pool")), &json!("four")));

    // What if there were one more that is too large, and a smaller one in place of the first?
    let pod = |name: &str, cpu: u32, more: Value| {
        let mut spec = json!({"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let metadata = json!({"name": name, "namespace": stage.namespace});
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}).to_string()
    };
    let selector = json!({"nodeSelector": {"stage": stage.name}});
    let files = format!("{}\n{}", pod("large", 64, selector.clone()), pod("p-0", 1, selector));
    let (code, out, err) = look(&stage, &["plan", "--live", "-f", "-", "-o", "json"], &files);
    assert_eq!(code, 2, "{err}");
    let plan: Value = serde_json::from_str(&out).unwrap();
    let both = launch_of(&plan, &ids[0]).unwrap();
    assert_eq!(Some(both), launch_of(&plan, &ids[1]), "1 and 3 cores fit on one machine of 4");
    let large = format!("{}/large", stage.namespace);
    assert!(
        plan["unschedulable"].as_array().unwrap().iter().any(|each| each["pod"] == json!(large)),
        "{out}"
    );

    let (code, words, err) = look(&stage, &["explain", "pod", &ids[0]], "");
    assert_eq!(code, 0, "{err}");
    let expected =
        format!("a machine is to be launched for it: pool {}, four in zone-a", stage.named("pool"));
    assert!(words.contains(&expected), "{words}");
    let (code, _, err) = look(&stage, &["explain", "pod", &format!("{}/p-9", stage.namespace)], "");
    assert_eq!(code, 1);
    assert!(
        err.contains(&format!("there is no pod p-9 in namespace {}; there is p-0, p-1", stage.namespace)),
        "{err}"
    );

    assert_eq!(stage.claims().await.unwrap().len(), 0, "nothing was launched");
    assert_eq!(stage.machines().await.unwrap().len(), 0);
    stage.finish().await;
}

pub async fn a_plan_for_a_live_cluster_shows_what_would_be_removed_and_why_others_stay(
    plane: Arc<ControlPlane>,
) {
    let stage = Stage::on(plane, "goes").await;
    stage.provider(&json!({})).await;
    stage.pool(&json!({"disruption": {"consolidateAfter": "10m"}})).await;
    let windlass = stage.start();
    stage.pods(0..2).await;
    stage.grown(2).await;
    windlass.stop(PATIENCE).await;
    stage.delete_pods(0..1).await;
    stage.pool(&json!({"disruption": {"consolidateAfter": "0s"}})).await;
    let plan = eventually("the empty node to go in the plan", PATIENCE, async || {
        let (_, out, err) = look(&stage, &["plan", "--live", "-o", "json"], "");
        let plan: Value = serde_json::from_str(&out).map_err(|_| err)?;
        if plan["remove"].as_array().is_some_and(|gone| gone.len() == 1) { Ok(plan) } else { Err(out) }
    })
    .await;
    let gone = &plan["remove"][0];
    assert_eq!(gone["reason"], json!("Empty"), "{gone}");
    let claims = stage.claims().await.unwrap();
    let stays = claims.iter().find(|claim| json!(claim.name_any()) != gone["claim"]).unwrap();
    let (code, words, err) = look(&stage, &["explain", "node", &stays.name_any()], "");
    assert_eq!(code, 0, "{err}");
    assert!(
        words.contains("stays: runs 1 pod.") && words.contains("It is not given back to save money:"),
        "{words}"
    );
    let (_, words, _) = look(&stage, &["explain", "node", gone["node"].as_str().unwrap()], "");
    assert!(words.contains("goes: empty for"), "{words}");
    assert_eq!(stage.claims().await.unwrap().len(), 2, "nothing was changed");
    let windlass = stage.start();
    stage.delete_pods(1..2).await;
    stage.gone().await;
    windlass.stop(PATIENCE).await;
    stage.finish().await;
}

pub async fn a_node_that_a_budget_keeps_says_so(plane: Arc<ControlPlane>) {
    let stage = Stage::on(plane, "kept").await;
    stage.provider(&json!({})).await;
    stage.pool(&json!({})).await;
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(stage.client.clone(), &stage.namespace);
    budgets.create(&PostParams::default(), &budget("db", 1)).await.unwrap();
    let pod = PodBuilder::new("db").cpu("3").node_selector("stage", &stage.name).label("app", "db");
    let pod = pod.annotation("cluster-autoscaler.kubernetes.io/safe-to-evict", "true");
    stage.pod_api().create(&PostParams::default(), &pod.build()).await.unwrap();
    let windlass = stage.start();
    stage.grown(1).await;
    let claim = stage.claims().await.unwrap().remove(0).name_any();
    let kept = format!("PodDisruptionBudget {0}/db lets pod {0}/db not go just now", stage.namespace);
    eventually("the budget to be named", PATIENCE, async || {
        let (_, words, err) = look(&stage, &["explain", "node", &claim], "");
        if words.contains(&kept) { Ok(()) } else { Err(format!("{words}{err}")) }
    })
    .await;
    let asked = Patch::Merge(json!({"metadata": {"annotations": {labels::REPLACE: "true"}}}));
    let claims: Api<NodeClaim> = Api::all(stage.client.clone());
    windlass.stop(PATIENCE).await;
    claims.patch(&claim, &PatchParams::default(), &asked).await.unwrap();
    let (_, words, _) = look(&stage, &["explain", "node", &claim], "");
    assert!(
        words.contains(&format!("manual: somebody asked for another in its place, but {kept}")),
        "{words}"
    );
    let goes = || {
        let (_, out, err) = look(&stage, &["plan", "--live", "-o", "json"], "");
        let plan: Value = serde_json::from_str(&out).map_err(|_| err)?;
        Ok::<bool, String>(plan["remove"].as_array().is_some_and(|gone| gone[0]["claim"] == json!(claim)))
    };
    assert_eq!(goes(), Ok(false));
    budgets.delete("db", &DeleteParams::default()).await.unwrap();
    eventually("the node to go in the plan", PATIENCE, async || {
        if goes()? { Ok(()) } else { Err("it stays".to_owned()) }
    })
    .await;
    let windlass = stage.start();
    stage.pod_api().delete("db", &DeleteParams::default()).await.unwrap();
    stage.gone().await;
    windlass.stop(PATIENCE).await;
    stage.finish().await;
}

fn launch_of<'p>(plan: &'p Value, pod: &str) -> Option<&'p Value> {
    let has = |launch: &&Value| launch["pods"].as_array().is_some_and(|pods| pods.contains(&json!(pod)));
    plan["launch"].as_array()?.iter().find(has)
}

/// Runs the binary on the stage: its exit code and what it says.
fn look(stage: &Stage, arguments: &[&str], input: &str) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(arguments).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.arg("--kubeconfig").arg(stage.plane.kubeconfig_path());
    command.args(["--namespace", &stage.namespace, "--scope", &stage.name, "--cluster-id", "stage"]);
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}
