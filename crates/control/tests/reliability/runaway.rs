//! Circumstances in which a naive controller makes claims without end.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use windlass_testkit::{ControlPlane, eventually};

use crate::faults::{Fate, Faults};
use crate::lab::{Lab, PATIENCE, Running, instance_type};
use crate::steps::{add_taint, all_stay, calm_lab, remove_taint, throughout};

fn start(lab: &Lab, faults: &Faults) -> Running {
    lab.spawn(lab.settings.clone(), faults.around(lab.controller_client()), |factory| Arc::new(factory))
}

/// Fails if the controller has made more claims than this, of all pools or of the one with this suffix.
fn at_most(faults: &Faults, pool: &str, most: usize) -> Result<(), String> {
    let made = claims_made(faults, pool);
    if made <= most { Ok(()) } else { Err(format!("{made} claims were made for {pool}")) }
}

fn claims_made(faults: &Faults, pool: &str) -> usize {
    let log = faults.log();
    let creations =
        log.iter().filter(|sent| sent.method == Method::POST && sent.path.ends_with("/nodeclaims"));
    creations.filter(|sent| sent.body["spec"]["poolRef"]["name"].as_str().unwrap().ends_with(pool)).count()
}

pub async fn a_ready_node_that_does_not_take_pods_yet_is_waited_for(plane: Arc<ControlPlane>) {
    const NETWORK: &str = "example.com/network-unavailable";
    const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";
    let lab = calm_lab(plane, "no-network").await;
    lab.plain_provider(&json!({})).await;
    let startup = json!([{"key": NETWORK, "effect": "NoSchedule"}]);
    lab.pool("pool", &json!({"template": {"spec": {"startupTaints": startup}}})).await;
    let (faults, api) = (Faults::default(), lab.node_api());
    let mut first = true;
    faults.decide(move |sent| {
        // Before pods are let in, the cloud's own controller keeps them out too.
        let opens = sent.method == Method::PATCH
            && sent.path.starts_with("/api/v1/nodes/")
            && sent.body.to_string().contains("/spec/taints");
        if !(opens && first) {
            return Fate::Passes;
        }
        first = false;
        let (api, name) = (api.clone(), sent.path.rsplit('/').next().unwrap().to_owned());
        Fate::SentAfter(Box::pin(async move { add_taint(&api, &name, UNINITIALIZED).await }))
    });
    let running = start(&lab, &faults);
    lab.pods("p", 2, "1500m").await;
    let node = eventually("a ready node", PATIENCE, async || {
        let node = lab.nodes().await.pop()?;
        let ready = node
            .status
            .as_ref()?
            .conditions
            .iter()
            .flatten()
            .any(|condition| condition.type_ == "Ready" && condition.status == "True");
        ready.then_some(node.name_any())
    })
    .await;
    throughout("one claim", Duration::from_secs(5), async || at_most(&faults, "pool", 1)).await;
    remove_taint(&lab.node_api(), &node, UNINITIALIZED).await;
    throughout("one claim", Duration::from_secs(2), async || at_most(&faults, "pool", 1)).await;
    remove_taint(&lab.node_api(), &node, NETWORK).await;
    lab.all_pods_run().await;
    lab.ready_claims(1).await;
    assert_eq!(claims_made(&faults, "pool"), 1);
    running.crash().await;
    lab.finish().await;
}

/// Tried at 0, 7, 16 and 29 seconds: five to register, then twice as long a pause each time.
pub async fn machines_that_never_join_are_tried_ever_less_often_while_others_progress(
    plane: Arc<ControlPlane>,
) {
    let mut lab = calm_lab(plane, "never-joins").await;
    let seconds = Duration::from_secs;
    (lab.settings.registration_deadline, lab.settings.avoid_base) = (seconds(5), seconds(2));
    let only =
        |kind: &str| json!([{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [kind]}]);
    lab.plain_provider(&json!({
        "instanceTypes": [instance_type("bad", 4, "0.10", &json!({})), instance_type("good", 4, "0.20", &json!({}))],
        "faults": [{"effect": "NeverRegister", "instanceTypes": ["bad"]}],
    }))
    .await;
    lab.pool("bad", &json!({"minNodes": 1, "template": {"spec": {"requirements": only("bad")}}})).await;
    lab.pool("good", &json!({"template": {"spec": {"requirements": only("good")}}})).await;
    let faults = Faults::default();
    let running = start(&lab, &faults);
    eventually("a first try", PATIENCE, async || (claims_made(&faults, "bad") > 0).then_some(())).await;
    lab.create_pod(lab.pod("p", "3")).await;
    lab.all_pods_run().await;
    throughout("few tries", seconds(17), async || at_most(&faults, "bad", 4)).await;
    assert!(claims_made(&faults, "bad") >= 2, "it is tried again");
    assert_eq!(claims_made(&faults, "good"), 1);
    running.crash().await;
    lab.finish().await;
}

/// Each of the two types is tried at 0, 2, 6, 14 and 30 seconds, each time with at most one claim per pod.
pub async fn a_stockout_is_asked_about_ever_less_often_and_ends_by_itself(plane: Arc<ControlPlane>) {
    let mut lab = calm_lab(plane, "stockout").await;
    lab.settings.avoid_base = Duration::from_secs(2);
    let stockout = json!([{"effect": "Error", "calls": ["Launch"], "error": "InsufficientCapacity"}]);
    let types =
        json!([instance_type("one", 4, "0.10", &json!({})), instance_type("two", 4, "0.20", &json!({}))]);
    lab.plain_provider(&json!({"instanceTypes": types, "faults": stockout})).await;
    lab.pool("pool", &json!({})).await;
    let faults = Faults::default();
    let running = start(&lab, &faults);
    lab.pods("p", 2, "3").await;
    throughout("few claims", Duration::from_secs(20), async || at_most(&faults, "pool", 16)).await;
    assert!(claims_made(&faults, "pool") >= 4, "it is tried again");
    lab.plain_provider(&json!({"instanceTypes": types, "faults": []})).await;
    lab.all_pods_run().await;
    lab.ready_claims(2).await;
    running.crash().await;
    lab.finish().await;
}

/// Tried again a moment after it was seen that the last node did not help, and each time twice as long after it.
pub async fn a_taint_that_somebody_puts_on_every_new_node_does_not_make_claims_without_end(
    plane: Arc<ControlPlane>,
) {
    let mut lab = calm_lab(plane, "tainter").await;
    lab.settings.poll_interval = Duration::from_secs(2);
    lab.plain_provider(&json!({"bootDelay": "0s"})).await;
    lab.pool("pool", &json!({})).await;
    let (faults, api) = (Faults::default(), lab.node_api());
    faults.decide(move |sent| {
        let opens = sent.method == Method::PATCH
            && sent.path.starts_with("/api/v1/nodes/")
            && sent.body.to_string().contains("windlass.dev/claim-uid");
        if !opens {
            return Fate::Passes;
        }
        let (api, name) = (api.clone(), sent.path.rsplit('/').next().unwrap().to_owned());
        Fate::SentAfter(Box::pin(async move { add_taint(&api, &name, "example.com/quarantine").await }))
    });
    let running = start(&lab, &faults);
    lab.create_pod(lab.pod("p", "3")).await;
    throughout("few claims", Duration::from_secs(20), async || at_most(&faults, "pool", 5)).await;
    assert!(claims_made(&faults, "pool") >= 2, "it is tried again");
    running.crash().await;
    lab.finish().await;
}

pub async fn a_node_that_is_ready_on_and_off_gets_no_replacement(plane: Arc<ControlPlane>) {
    let mut lab = calm_lab(plane, "flapping").await;
    lab.settings.repair_after = Duration::from_secs(3);
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({})).await;
    let faults = Faults::default();
    let running = start(&lab, &faults);
    lab.create_pod(lab.pod("p", "3")).await;
    lab.all_pods_run().await;
    let claim = lab.ready_claims(1).await.remove(0);
    let node = claim.status.unwrap().node_name.unwrap();
    let (nodes, mut ready) = (lab.node_api(), false);
    throughout("one claim", Duration::from_secs(8), async || {
        let status = if ready { "True" } else { "False" };
        ready = !ready;
        let now = windlass_providers::Clock::now(&windlass_providers::SystemClock).to_string();
        let condition: Value = json!([{"type": "Ready", "status": status, "reason": "Flapping", "lastTransitionTime": now, "lastHeartbeatTime": now}]);
        let patch = Patch::Strategic(json!({"status": {"conditions": condition}}));
        nodes.patch_status(&node, &PatchParams::default(), &patch).await.map_err(|error| error.to_string())?;
        at_most(&faults, "pool", 1)?;
        all_stay(&lab, 1).await
    })
    .await;
    running.crash().await;
    lab.finish().await;
}
