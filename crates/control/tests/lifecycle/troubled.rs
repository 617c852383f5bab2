//! Input that admission cannot judge, and providers in trouble: said where people look, and nobody else's problem.

use std::sync::Arc;

use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::json;
use windlass_api::{conditions, labels};
use windlass_testkit::{ControlPlane, eventually};

use crate::diary::{Diary, Kind};
use crate::hands::{app_runs, claim_says, delete_claim, deploy, new_lab, pool_says, told};
use crate::lab::{Lab, PATIENCE, instance_type};

/// Waits for a provider's conditions: reachable, authenticated, ready; answers with what `Ready` says.
async fn provider_is(lab: &Lab, wanted: [&str; 3]) -> String {
    let kinds = [conditions::REACHABLE, conditions::AUTHENTICATED, conditions::READY];
    eventually(&format!("the provider to be {wanted:?}"), PATIENCE, async || {
        let provider = lab.provider_api().get(&lab.named("sim")).await.map_err(|error| error.to_string())?;
        let all = provider.status.map(|status| status.conditions).unwrap_or_default();
        let found = kinds.map(|kind| conditions::find(&all, kind));
        let truths = found.map(|condition| condition.map_or("", |condition| condition.status.as_str()));
        if truths == wanted { Ok(found[2].unwrap().message.clone()) } else { Err(format!("{all:?}")) }
    })
    .await
}

pub async fn a_pool_of_an_unknown_provider_says_so_and_others_go_on(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "unknown").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("good", &json!({})).await;
    lab.pool("bad", &json!({"weight": 50, "minNodes": 1, "providerRef": {"name": "nowhere"}})).await;
    lab.start().await;
    lab.pods("p", 1, "3").await;
    pool_says(&lab, &lab.named("bad"), "False", "provider nowhere does not exist").await;
    told(&lab, "NodePool", &lab.named("bad"), "ProviderNotReady", &["nowhere"]).await;
    lab.all_pods_run().await;
    pool_says(&lab, &lab.named("good"), "True", "").await;
    let claim = lab.ready_claims(1).await.remove(0);
    assert_eq!(claim.spec.pool_ref.name, lab.named("good"));
    lab.finish().await;
}

pub async fn wrong_credentials_are_said_and_recovered_from(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "creds").await;
    lab.plain_provider(&json!({"faults": [{"effect": "Error", "error": "Unauthorized"}]})).await;
    lab.pool("pool", &json!({})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    lab.pods("p", 1, "3").await;
    let message = provider_is(&lab, ["True", "False", "False"]).await;
    assert!(message.starts_with("not authorized: "), "{message}");
    pool_says(&lab, &lab.named("pool"), "False", "not authorized").await;
    told(&lab, "NodeProvider", &lab.named("sim"), "Unauthorized", &["not authorized"]).await;
    told(&lab, "Pod", "p-0", "NoCapacity", &["not authorized"]).await;
    assert!(diary.made(Kind::Claim).is_empty(), "nothing is claimed of a provider that cannot be used");
    lab.plain_provider(&json!({})).await;
    lab.all_pods_run().await;
    provider_is(&lab, ["True", "True", "True"]).await;
    pool_says(&lab, &lab.named("pool"), "True", "").await;
    lab.finish().await;
}

pub async fn a_provider_that_fails_later_keeps_what_it_has(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "outage").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    deploy(&lab, "web", 1, "3").await;
    app_runs(&lab, "web", 1).await;
    let claim = lab.ready_claims(1).await.remove(0).name_any();
    lab.settings.provider_calls.attempts = 1;
    lab.plain_provider(&json!({"faults": [{"effect": "Error", "error": "Unauthorized"}]})).await;
    provider_is(&lab, ["True", "False", "False"]).await;
    crate::hands::at_work_for(&lab, std::time::Duration::from_secs(3)).await;
    assert_eq!(lab.ready_claims(1).await[0].name_any(), claim, "errors are no proof that anything is gone");
    delete_claim(&lab, &claim).await;
    let message = claim_says(&lab, &claim, conditions::TERMINATED, "Unknown", "Unauthorized").await;
    assert!(message.starts_with("waiting for the provider: not authorized"), "{message}");
    lab.plain_provider(&json!({})).await;
    diary.gone(Kind::Claim, &claim).await;
    app_runs(&lab, "web", 1).await;
    lab.finish().await;
}

pub async fn a_provider_deleted_under_its_machines_is_waited_for(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "delprov").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    deploy(&lab, "web", 1, "3").await;
    app_runs(&lab, "web", 1).await;
    let claim = lab.ready_claims(1).await.remove(0).name_any();
    lab.provider_api().delete(&lab.named("sim"), &DeleteParams::default()).await.unwrap();
    pool_says(&lab, &lab.named("pool"), "False", "does not exist").await;
    delete_claim(&lab, &claim).await;
    let message = claim_says(&lab, &claim, conditions::TERMINATED, "Unknown", "Transient").await;
    assert!(message.contains(&format!("provider {} does not exist", lab.named("sim"))), "{message}");
    assert_eq!(lab.machines().await.len(), 1, "the claim holds on to its machine");
    lab.plain_provider(&json!({})).await;
    diary.gone(Kind::Claim, &claim).await;
    app_runs(&lab, "web", 1).await;
    lab.finish().await;
}

pub async fn an_instance_type_that_no_machine_can_be_of_spoils_only_its_provider(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "twins").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({})).await;
    let twin = instance_type("twin", 4, "0.1", &json!({}));
    let spec = json!({"simulated": {"instanceTypes": [twin, twin]}});
    let bad: windlass_api::NodeProvider = lab
        .apply(json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "NodeProvider",
            "metadata": {"name": lab.named("twins"), "labels": {labels::SCOPE: lab.name}}, "spec": spec,
        }))
        .await;
    lab.pool("odd", &json!({"weight": 9, "providerRef": {"name": bad.name_any()}})).await;
    lab.start().await;
    lab.pods("p", 1, "3").await;
    pool_says(&lab, &lab.named("odd"), "False", "twin").await;
    told(&lab, "NodeProvider", &bad.name_any(), "InvalidConfiguration", &["twin"]).await;
    lab.all_pods_run().await;
    assert_eq!(lab.ready_claims(1).await[0].spec.pool_ref.name, lab.named("pool"));
    lab.finish().await;
}
