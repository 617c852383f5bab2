//! Others that write the same objects, an API server that falls silent, and a second controller.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Method;
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::sleep;
use windlass_api::labels;
use windlass_testkit::{ControlPlane, eventually};

use crate::faults::{Fate, Faults, Sent};
use crate::lab::{Lab, PATIENCE, Running};
use crate::steps::{calm_lab, lab_for_two, leads, recreate, throughout};

fn start(lab: &Lab, faults: &Faults) -> Running {
    lab.spawn(lab.settings.clone(), faults.around(lab.controller_client()), |factory| Arc::new(factory))
}

/// Writes to every claim and node of the test, again and again, for ever.
async fn rival(lab: &Lab) {
    for number in 0_u64.. {
        let patch =
            Patch::Merge(json!({"metadata": {"annotations": {"example.com/rival": number.to_string()}}}));
        let parameters = PatchParams::default();
        for claim in lab.claims().await {
            let _ = lab.claim_api().patch(&claim.name_any(), &parameters, &patch).await;
        }
        for node in lab.nodes().await {
            let _ = lab.node_api().patch(&node.name_any(), &parameters, &patch).await;
        }
        sleep(Duration::from_millis(10)).await;
    }
}

pub async fn a_rival_that_keeps_writing_cannot_keep_a_claim_from_getting_on(plane: Arc<ControlPlane>) {
    let mut lab = calm_lab(plane, "rival").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({"disruption": {"consolidateAfter": "Never"}})).await;
    lab.start().await;
    lab.create_pod(lab.pod("p", "3")).await;
    let get_on = async {
        lab.all_pods_run().await;
        let claim = lab.ready_claims(1).await.remove(0);
        // One that a user wrote, too, which has yet to get our finalizer.
        let mut second = claim.clone();
        second.metadata.name = Some(lab.named("by-hand"));
        let second = recreate(&lab, &second, &json!(["example.com/theirs"])).await;
        let both = lab.ready_claims(2).await;
        for claim in &both {
            assert!(claim.finalizers().iter().any(|finalizer| finalizer == labels::FINALIZER));
            lab.claim_api().delete(&claim.name_any(), &DeleteParams::default()).await.unwrap();
        }
        eventually("only their finalizer is left", PATIENCE, async || {
            let left = lab.claim_api().get_opt(&second.name_any()).await.ok()??;
            (left.finalizers() == ["example.com/theirs"]).then_some(())
        })
        .await;
        let released = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        lab.claim_api().patch(&second.name_any(), &PatchParams::default(), &released).await.unwrap();
        lab.everything_is_gone().await;
    };
    tokio::select! {
        () = rival(&lab) => {}
        () = get_on => {}
    }
    lab.finish().await;
}

pub async fn every_request_of_a_claims_life_says_which_object_it_means(plane: Arc<ControlPlane>) {
    let lab = calm_lab(plane, "requests").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({"disruption": {"consolidateAfter": "Never"}})).await;
    let faults = Faults::default();
    let running = start(&lab, &faults);
    lab.pods("p", 2, "3").await;
    lab.all_pods_run().await;
    for claim in lab.ready_claims(2).await {
        lab.claim_api().delete(&claim.name_any(), &DeleteParams::default()).await.unwrap();
    }
    lab.everything_is_gone().await;
    running.crash().await;
    let log = faults.log();
    let wrong: Vec<String> =
        log.iter().filter_map(|sent| wrong_with(sent).map(|what| format!("{what}: {sent:?}"))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    for (method, kind) in [
        (Method::PUT, "leases"),
        (Method::DELETE, "configmaps"),
        (Method::DELETE, "nodes"),
        (Method::POST, "eviction"),
        (Method::PATCH, "nodeclaims"),
    ] {
        assert!(faults.count(&method, kind) > 0, "there was no {method} of {kind}");
    }
    lab.finish().await;
}

/// A leader that is frozen just when it has been allowed to write sends what it has when it thaws, whoever leads by then.
pub async fn a_status_that_arrives_after_a_newer_one_changes_nothing(plane: Arc<ControlPlane>) {
    let lab = calm_lab(plane, "late-status").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({"disruption": {"consolidateAfter": "Never"}})).await;
    let faults = Faults::default();
    let running = start(&lab, &faults);
    lab.create_pod(lab.pod("p", "3")).await;
    lab.all_pods_run().await;
    let claim = lab.ready_claims(1).await.remove(0);
    running.crash().await;
    let is_status = |sent: &&Sent| sent.method == Method::PATCH && sent.path.ends_with("/status");
    let log = faults.log();
    let written: Vec<&Sent> =
        log.iter().filter(is_status).filter(|sent| sent.concerns("nodeclaims")).collect();
    assert!(written.len() > 2, "launching, registering and getting ready are written down: {written:?}");
    let status = lab.claim_api().get(&claim.name_any()).await.unwrap().status;
    for late in written {
        let patch = Patch::<()>::Json(serde_json::from_value(late.body.clone()).unwrap());
        let parameters = PatchParams::default();
        let answer = lab.claim_api().patch_status(&claim.name_any(), &parameters, &patch).await;
        assert!(matches!(&answer, Err(kube::Error::Api(refusal)) if refusal.code == 422), "{answer:?}");
    }
    assert_eq!(lab.claim_api().get(&claim.name_any()).await.unwrap().status, status);
    lab.finish().await;
}

fn wrong_with(sent: &Sent) -> Option<&'static str> {
    let version = sent.query.split('&').find_map(|pair| pair.strip_prefix("resourceVersion="));
    let uid = |pointer: &str| {
        sent.body.pointer(pointer).is_some_and(|uid| uid.as_str().is_some_and(|uid| !uid.is_empty()))
    };
    let named =
        |kind: &str| sent.path.rsplit('/').nth(1) == Some(kind) || sent.path.rsplit('/').nth(2) == Some(kind);
    match sent.method {
        Method::GET if version == Some("0") => Some("a read that any old answer satisfies"),
        Method::GET if !sent.is_watch() && sent.query.contains("resourceVersionMatch") => {
            Some("a read of an old state")
        }
        Method::PUT if !uid("/metadata/resourceVersion") => Some("an update whatever happened in between"),
        Method::DELETE if !uid("/preconditions/uid") => Some("a deletion by name"),
        Method::POST if sent.path.ends_with("/eviction") && !uid("/deleteOptions/preconditions/uid") => {
            Some("an eviction by name")
        }
        Method::PATCH if named("nodes") || named("nodeclaims") || named("configmaps") => {
            let tests = sent.body.as_array().is_some_and(|steps| {
                steps.iter().any(|step| {
                    step["op"] == "test" && step["path"] == "/metadata/uid" && step["value"].is_string()
                })
            });
            (!tests && !uid("/metadata/uid")).then_some("a patch by name")
        }
        _ => None,
    }
}

pub async fn a_controller_whose_connections_all_died_is_back_within_a_minute(plane: Arc<ControlPlane>) {
    let mut lab = lab_for_two(plane, "wedged").await;
    lab.settings.watch_timeout = Duration::from_secs(5);
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({})).await;
    let faults = Faults::default();
    let running = start(&lab, &faults);
    leads(&running).await;
    lab.create_pod(lab.pod("before", "3")).await;
    lab.all_pods_run().await;
    faults.kill_open_watches();
    faults.decide(|sent| if sent.changes() || sent.concerns("leases") { Fate::Broken } else { Fate::Passes });
    eventually("it leads no more", PATIENCE, async || (!running.health.leads()).then_some(())).await;
    lab.pods("after", 2, "3").await;
    faults.heal();
    lab.all_pods_run().await;
    lab.ready_claims(3).await;
    running.crash().await;
    lab.finish().await;
}

fn writes(faults: &Faults) -> usize {
    faults.log().iter().filter(|sent| sent.changes() && !sent.concerns("leases")).count()
}

pub async fn a_leader_that_cannot_renew_its_lease_stops_before_its_successor_starts(
    plane: Arc<ControlPlane>,
) {
    let lab = lab_for_two(plane, "two").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({})).await;
    let (faults, cut, answer) =
        (Faults::default(), Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
    let first = start(&lab, &faults);
    leads(&first).await;
    let mut settings = lab.settings.clone();
    settings.identity = lab.named("2");
    let (second_faults, second_client) = (Faults::default(), lab.controller_client());
    let second = lab.spawn(settings, second_faults.around(second_client), |factory| Arc::new(factory));
    eventually("the standby is ready", PATIENCE, async || second.health.unready().is_none().then_some(()))
        .await;

    // From the launch on the first hears nothing of its lease, and of the launch only when it is too late.
    let (is_cut, late) = (cut.clone(), answer.clone());
    faults.decide(move |sent| {
        if sent.method == Method::POST
            && sent.path.ends_with("/configmaps")
            && !is_cut.swap(true, Ordering::SeqCst)
        {
            let late = late.clone();
            return Fate::AnsweredAfter(Box::pin(async move { late.notified().await }));
        }
        if is_cut.load(Ordering::SeqCst) && sent.concerns("leases") { Fate::Broken } else { Fate::Passes }
    });
    lab.create_pod(lab.pod("p", "3")).await;
    eventually("the successor leads, and never both", PATIENCE, async || {
        let (one, two) = (first.health.leads(), second.health.leads());
        assert!(!(one && two), "both lead");
        two.then_some(())
    })
    .await;
    let written = writes(&faults);
    answer.notify_one();
    lab.all_pods_run().await;
    lab.ready_claims(1).await;
    throughout("the first writes nothing", Duration::from_secs(3), async || match writes(&faults) {
        now if now == written => Ok(()),
        now => Err(format!("{} writes", now - written)),
    })
    .await;
    assert_eq!(lab.machines().await.len(), 1);
    assert!(writes(&second_faults) > 0);
    first.crash().await;
    second.crash().await;
    lab.finish().await;
}
