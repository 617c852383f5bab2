//! What people are told: events, status, and the columns of `kubectl get`.

use std::sync::Arc;

use kube::ResourceExt;
use serde_json::json;
use windlass_api::conditions;
use windlass_testkit::{ControlPlane, eventually};

use crate::hands::{delete_pods, events, new_lab, node_of, told, two_types};
use crate::lab::{Lab, PATIENCE};

pub async fn events_say_what_was_decided_about_pods_pools_and_claims(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "events").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({})).await;
    lab.start().await;
    lab.pods("p", 1, "3").await;
    lab.create_pod(lab.pod("huge", "64")).await;
    eventually("the small pod runs", PATIENCE, async || {
        let pod = lab.pod_api().get("p-0").await.ok()?;
        (pod.status?.phase? == "Running").then_some(())
    })
    .await;
    let claim = lab.ready_claims(1).await.remove(0);
    let (pool, name) = (lab.named("pool"), claim.name_any());
    told(&lab, "Pod", "p-0", "ScaleUp", &[&pool, "four", "zone-a", "0.1"]).await;
    told(&lab, "Pod", "huge", "NoCapacity", &[&pool, "cpu"]).await;
    told(&lab, "NodePool", &pool, "ScaleUp", &[&name, "p-0"]).await;
    for (reason, words) in
        [("Launched", "four in zone-a"), ("Registered", "is node"), ("Initialized", "takes pods")]
    {
        told(&lab, "NodeClaim", &name, reason, &[words]).await;
    }
    delete_pods(&lab).await;
    lab.everything_is_gone().await;
    told(&lab, "NodeClaim", &name, "ScaleDown", &["Empty", "empty for"]).await;
    told(&lab, "NodeClaim", &name, "Drained", &[&node_of(&claim)]).await;
    let all = events(&lab, "NodeClaim", &name).await;
    let mut said: Vec<_> = all.iter().map(|event| (event.reason.clone(), event.note.clone())).collect();
    said.sort();
    said.dedup();
    assert_eq!(said.len(), all.len(), "nothing is said twice: {said:?}");
    lab.finish().await;
}

pub async fn pools_and_providers_say_what_they_have_and_cost(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "status").await;
    lab.plain_provider(&json!({"instanceTypes": two_types()})).await;
    lab.pool("pool", &json!({})).await;
    lab.start().await;
    lab.pods("p", 2, "3").await;
    lab.all_pods_run().await;
    let claims = lab.ready_claims(2).await;
    eventually("the pool's status", PATIENCE, async || {
        let pool = lab.pool_api().get(&lab.named("pool")).await.map_err(|error| error.to_string())?;
        let status = pool.status.clone().unwrap_or_default();
        let ready = conditions::is_true(&status.conditions, conditions::READY);
        let cpu = status.resources.get("cpu").map(|cpu| cpu.as_str().to_owned());
        let found = (status.nodes, status.cost_per_hour.as_deref(), cpu.as_deref(), ready);
        if found == (2, Some("0.20"), Some("8"), true) { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
    eventually("the provider's status", PATIENCE, async || {
        let provider = lab.provider_api().get(&lab.named("sim")).await.map_err(|error| error.to_string())?;
        let status = provider.status.clone().unwrap_or_default();
        let all = [conditions::REACHABLE, conditions::AUTHENTICATED, conditions::READY];
        let good = all.iter().all(|kind| conditions::is_true(&status.conditions, kind));
        let found = (status.kind.as_deref(), status.instance_types, status.machines, good);
        if found == (Some("simulated"), 2, 2, true) { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
    let shown = columns(&lab, &["get", "nodepools", &lab.named("pool"), "-o", "wide"]);
    assert!(
        shown[0].starts_with("NAME PROVIDER NODES READY COST/H CPU MEMORY DRIVER WEIGHT MIN REASON"),
        "{shown:?}"
    );
    let row = format!("{} {} 2 True 0.20 8 32Gi Windlass 0 0", lab.named("pool"), lab.named("sim"));
    assert!(shown[1].starts_with(&row), "{shown:?}");
    let claim = &claims[0];
    let shown = columns(&lab, &["get", "nodeclaims", &claim.name_any()]);
    assert_eq!(shown[0], "NAME POOL TYPE ZONE CAPACITY PRICE/H NODE READY STATE AGE");
    let row = format!("{} first zone-a on-demand 0.10 {} True Ready", lab.named("pool"), node_of(claim));
    assert!(shown[1].starts_with(&format!("{} {row}", claim.name_any())), "{shown:?}");
    let shown = columns(&lab, &["get", "nodeproviders", &lab.named("sim")]);
    assert!(shown[1].starts_with(&format!("{} simulated True 2 2", lab.named("sim"))), "{shown:?}");
    delete_pods(&lab).await;
    lab.everything_is_gone().await;
    eventually("the pool's status to be empty again", PATIENCE, async || {
        let status = lab.pool_api().get(&lab.named("pool")).await.ok()?.status?;
        (status.nodes == 0 && status.cost_per_hour.as_deref() == Some("0.00") && status.resources.is_empty())
            .then_some(())
    })
    .await;
    lab.finish().await;
}

/// The rows that `kubectl` prints, with single spaces.
fn columns(lab: &Lab, args: &[&str]) -> Vec<String> {
    let answer = lab.plane.kubectl(args).unwrap();
    assert!(answer.status.success(), "{answer:?}");
    let text = String::from_utf8(answer.stdout).unwrap();
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}
