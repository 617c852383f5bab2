//! What the controller knows is old: its own writes have not come back yet, a watch is held up, or it was not there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Method;
use k8s_openapi::api::core::v1::Toleration;
use kube::ResourceExt;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;
use windlass_testkit::invariants::{Invariant, Kind, ObjectName};
use windlass_testkit::objects::NodeBuilder;
use windlass_testkit::{ControlPlane, eventually};

use crate::faults::{Fate, Faults, Sent};
use crate::lab::PATIENCE;
use crate::steps::{
    all_stay, calm_lab, force_away, kept_pod, lab_for_two, leads, release_pod, remove_taint, set_ready,
    start, throughout,
};

pub async fn pods_that_come_in_waves_get_one_claim_each_while_the_claim_watch_is_silent(
    plane: Arc<ControlPlane>,
) {
    let lab = calm_lab(plane, "unseen").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({"limits": {"nodes": 3}})).await;
    let faults = Faults::default();
    faults.silence("nodeclaims", true);
    let running = start(&lab, &faults);
    leads(&running).await;
    lab.pods("first", 2, "3").await;
    eventually("two claims", PATIENCE, async || (lab.claims().await.len() == 2).then_some(())).await;
    lab.pods("second", 3, "3").await;
    lab.ready_claims(3).await;
    throughout("three claims at a limit of three", Duration::from_secs(8), async || all_stay(&lab, 3).await)
        .await;
    assert_eq!(faults.count(&Method::POST, "nodeclaims"), 3, "no claim was made in vain");
    faults.silence("nodeclaims", false);
    throughout("three claims", Duration::from_secs(2), async || all_stay(&lab, 3).await).await;
    running.crash().await;
    lab.finish().await;
}

/// What the executor asks before it deletes the claim of an empty node.
fn asks_what_is_on_a_node(sent: &Sent) -> bool {
    sent.path == "/api/v1/pods" && sent.query.contains("spec.nodeName") && !sent.is_watch()
}

pub async fn a_node_that_only_the_cache_thinks_empty_is_kept(plane: Arc<ControlPlane>) {
    let lab = calm_lab(plane, "not-empty").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({})).await;
    let faults = Faults::default();
    let running = start(&lab, &faults);
    lab.create_pod(lab.pod("first", "1")).await;
    lab.all_pods_run().await;
    let claim = lab.ready_claims(1).await.remove(0);
    let node = claim.status.as_ref().unwrap().node_name.clone().unwrap();

    // At the last moment a pod comes to the node, and the watch does not tell.
    let late = lab.pod("late", "1").spec(|spec| spec.node_name = Some(node)).build();
    let (api, valve, asked) = (lab.pod_api(), faults.clone(), Arc::new(AtomicBool::new(false)));
    let mut late = Some(late);
    let tell = asked.clone();
    faults.decide(move |sent| {
        if !asks_what_is_on_a_node(sent) {
            return Fate::Passes;
        }
        let Some(late) = late.take() else { return Fate::Passes };
        valve.silence("pods", true);
        let (api, tell) = (api.clone(), tell.clone());
        Fate::SentAfter(Box::pin(async move {
            api.create(&PostParams::default(), &late).await.unwrap();
            tell.store(true, Ordering::SeqCst);
        }))
    });
    lab.pod_api().delete("first", &DeleteParams::default().grace_period(0)).await.unwrap();
    eventually("the node is thought empty", PATIENCE, async || asked.load(Ordering::SeqCst).then_some(()))
        .await;
    throughout("the claim stays", Duration::from_secs(4), async || all_stay(&lab, 1).await).await;
    assert_eq!(faults.count(&Method::DELETE, "nodeclaims"), 0);
    faults.silence("pods", false);
    lab.all_pods_run().await;
    running.crash().await;
    lab.finish().await;
}

pub async fn claims_that_go_while_nobody_watches_leave_no_machine_behind(plane: Arc<ControlPlane>) {
    let mut lab = calm_lab(plane, "unobserved").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({"disruption": {"consolidateAfter": "Never"}})).await;
    lab.start().await;
    lab.pods("p", 3, "3").await;
    let claims = lab.ready_claims(3).await;
    lab.all_pods_run().await;
    lab.crash().await;
    // How long the torn-away ones last is up to this test and not to the controller; in the end they are gone.
    for machine in lab.machines().await {
        let name = format!("{}/{}", lab.namespace, machine.name_any());
        lab.watcher().excuse(Invariant::NoOrphans, ObjectName::new(Kind::Machine, name));
    }
    let all = (DeleteParams::default().grace_period(0), kube::api::ListParams::default());
    lab.pod_api().delete_collection(&all.0, &all.1).await.unwrap();
    // One is deleted as usual, one is made and deleted in between, two are torn away.
    lab.claim_api().delete(&claims[0].name_any(), &DeleteParams::default()).await.unwrap();
    force_away(&lab, &claims[1]).await;
    force_away(&lab, &claims[2]).await;
    let again = crate::steps::recreate(&lab, &claims[2], &json!(["windlass.dev/machine"])).await;
    lab.claim_api().delete(&again.name_any(), &DeleteParams::default()).await.unwrap();
    lab.start().await;
    lab.everything_is_gone().await;
    lab.finish().await;
}

/// A standby whose watch of nodes has been dead for long reads the claims afresh when it takes over: they say that they
/// have nodes it has never seen.
pub async fn a_successor_with_an_old_view_of_the_nodes_ends_none_and_drains_them_first(
    plane: Arc<ControlPlane>,
) {
    let lab = lab_for_two(plane, "old-nodes").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({})).await;
    let first = start(&lab, &Faults::default());
    leads(&first).await;
    let faults = Faults::default();
    faults.silence("nodes", true);
    let mut settings = lab.settings.clone();
    settings.identity = lab.named("2");
    let second = lab.spawn(settings, faults.around(lab.controller_client()), |factory| Arc::new(factory));
    eventually("the standby is ready", PATIENCE, async || second.health.unready().is_none().then_some(()))
        .await;
    kept_pod(&lab, "kept", "3").await;
    lab.all_pods_run().await;
    let claim = lab.ready_claims(1).await.remove(0);
    first.crash().await;
    leads(&second).await;
    throughout("the claim stays", Duration::from_secs(3), async || all_stay(&lab, 1).await).await;

    // Its node is drained before its machine goes: the budget is in the way of that.
    lab.claim_api().delete(&claim.name_any(), &DeleteParams::default()).await.unwrap();
    let node = claim.status.as_ref().unwrap().node_name.clone().unwrap();
    eventually("the node is cordoned", PATIENCE, async || {
        let spec = lab.node_api().get(&node).await.ok()?.spec?;
        spec.unschedulable.filter(|cordoned| *cordoned)
    })
    .await;
    throughout("the machine stays", Duration::from_secs(2), async || match lab.machines().await.len() {
        1 => Ok(()),
        other => Err(format!("{other} machines")),
    })
    .await;
    release_pod(&lab, "kept").await;
    lab.everything_is_gone().await;
    second.crash().await;
    lab.finish().await;
}

pub async fn a_taint_that_was_just_removed_is_not_put_back(plane: Arc<ControlPlane>) {
    const AGENT: &str = "example.com/agent-not-ready";
    let lab = calm_lab(plane, "taints").await;
    lab.plain_provider(&json!({})).await;
    let startup = json!({"template": {"spec": {"startupTaints": [{"key": AGENT, "effect": "NoSchedule"}]}}});
    lab.pool("pool", &startup).await;
    let (faults, api) = (Faults::default(), lab.node_api());
    let mut first = true;
    faults.decide(move |sent| {
        // Just before the controller writes the taints that follow from those it knows, the agent has done its work.
        let writes = sent.path.starts_with("/api/v1/nodes/") && sent.body.is_array();
        if !(writes && first) {
            return Fate::Passes;
        }
        first = false;
        let (api, name) = (api.clone(), sent.path.rsplit('/').next().unwrap().to_owned());
        Fate::SentAfter(Box::pin(async move { remove_taint(&api, &name, AGENT).await }))
    });
    let running = start(&lab, &faults);
    lab.create_pod(lab.pod("p", "3")).await;
    lab.all_pods_run().await;
    lab.ready_claims(1).await;
    running.crash().await;
    lab.finish().await;
}

pub async fn a_pod_made_anew_under_the_same_name_is_not_evicted_in_the_others_place(
    plane: Arc<ControlPlane>,
) {
    let lab = calm_lab(plane, "other-pod").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({})).await;
    let elsewhere = NodeBuilder::new(&lab.named("elsewhere")).build();
    lab.node_api().create(&PostParams::default(), &elsewhere).await.unwrap();
    let (faults, api) = (Faults::default(), lab.pod_api());
    // Whatever a busy machine makes of that node, nobody but Windlass would end the pod.
    let new = lab.pod("p", "1").spec(|spec| {
        spec.node_name = Some(elsewhere.name_any());
        spec.node_selector = None;
        let all = Toleration { operator: Some("Exists".to_owned()), ..Toleration::default() };
        spec.tolerations = Some(vec![all]);
    });
    let mut new = Some(new.build());
    faults.decide(move |sent| {
        let Some(new) = new.take_if(|_| sent.path.ends_with("/eviction")) else { return Fate::Passes };
        let api = api.clone();
        Fate::SentAfter(Box::pin(async move {
            api.delete("p", &DeleteParams::default().grace_period(0)).await.unwrap();
            api.create(&PostParams::default(), &new).await.unwrap();
        }))
    });
    let running = start(&lab, &faults);
    let old = lab.create_pod(lab.pod("p", "3")).await;
    lab.all_pods_run().await;
    let claim = lab.ready_claims(1).await.remove(0);
    lab.claim_api().delete(&claim.name_any(), &DeleteParams::default()).await.unwrap();
    lab.everything_is_gone().await;
    let evicted: Vec<Sent> =
        faults.log().into_iter().filter(|sent| sent.path.ends_with("/eviction")).collect();
    assert!(!evicted.is_empty());
    for sent in &evicted {
        assert_eq!(sent.body["deleteOptions"]["preconditions"]["uid"].as_str(), old.uid().as_deref());
    }
    let left = lab.pod_api().get("p").await.unwrap();
    assert!(left.uid() != old.uid() && left.metadata.deletion_timestamp.is_none(), "{left:#?}");
    running.crash().await;
    lab.node_api().delete(&elsewhere.name_any(), &DeleteParams::default()).await.unwrap();
    lab.finish().await;
}

pub async fn a_successor_that_last_saw_a_node_sick_looks_again_before_it_replaces_it(
    plane: Arc<ControlPlane>,
) {
    let lab = lab_for_two(plane, "old-sick").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({})).await;
    let first = start(&lab, &Faults::default());
    lab.create_pod(lab.pod("p", "3")).await;
    lab.all_pods_run().await;
    let claim = lab.ready_claims(1).await.remove(0);
    let node = claim.status.unwrap().node_name.unwrap();
    set_ready(&lab, &node, false).await;
    let faults = Faults::default();
    faults.silence("nodes", true);
    let mut settings = lab.settings.clone();
    (settings.identity, settings.repair_after) = (lab.named("2"), Duration::from_secs(2));
    let second = lab.spawn(settings, faults.around(lab.controller_client()), |factory| Arc::new(factory));
    eventually("the standby is ready", PATIENCE, async || second.health.unready().is_none().then_some(()))
        .await;
    set_ready(&lab, &node, true).await;
    first.crash().await;
    leads(&second).await;
    throughout("no replacement", Duration::from_secs(6), async || all_stay(&lab, 1).await).await;
    lab.ready_claims(1).await;
    second.crash().await;
    lab.finish().await;
}
