//! Several controllers of one scope: only the leader acts, and another takes over.

use std::sync::Arc;

use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use windlass_control::Settings;
use windlass_testkit::{ControlPlane, eventually};

use crate::diary::{Diary, Kind};
use crate::hands::{events, leads, lease_api, lease_name, new_lab, now, told};
use crate::lab::PATIENCE;

pub async fn of_two_controllers_one_acts_and_the_other_takes_over_when_it_crashes(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "rivals").await;
    lab.plain_provider(&json!({"bootDelay": "12s"})).await;
    lab.pool("pool", &json!({})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    let first = lab.settings.identity.clone();
    leads(&lab, &first).await;
    let second = lab.named("2");
    let settings = Settings { identity: second.clone(), ..lab.settings.clone() };
    let rival = lab.spawn(settings, lab.controller_client(), |factory| Arc::new(factory));
    lab.pods("p", 3, "3").await;
    // The leader ends while its machines boot.
    eventually("three machines", PATIENCE, async || (diary.made(Kind::Machine).len() == 3).then_some(()))
        .await;
    for claim in lab.claims().await {
        told(&lab, "NodeClaim", &claim.name_any(), "Launched", &[]).await;
    }
    lab.crash().await;
    leads(&lab, &second).await;
    lab.all_pods_run().await;
    let claims = lab.ready_claims(3).await;
    assert_eq!((diary.made(Kind::Claim).len(), diary.made(Kind::Machine).len()), (3, 3));
    for claim in claims {
        told(&lab, "NodeClaim", &claim.name_any(), "Initialized", &[]).await;
        let about = events(&lab, "NodeClaim", &claim.name_any()).await;
        let by = |reason: &str| {
            let event = about.iter().find(|event| event.reason.as_deref() == Some(reason));
            event.and_then(|event| event.reporting_instance.clone())
        };
        assert_eq!((by("Launched"), by("Initialized")), (Some(first.clone()), Some(second.clone())));
    }
    crate::hands::delete_pods(&lab).await;
    lab.everything_is_gone().await;
    rival.crash().await;
    lab.finish().await;
}

pub async fn a_leader_that_loses_the_lease_and_gets_it_back_goes_on_with_what_it_was_at(
    plane: Arc<ControlPlane>,
) {
    let mut lab = new_lab(plane, "regains").await;
    // The leader waits for the answer to its launch while it loses the lease.
    let slow = json!({"effect": "SlowAnswer", "calls": ["Launch"], "after": "8s"});
    lab.plain_provider(&json!({"faults": [slow]})).await;
    lab.pool("pool", &json!({})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    lab.pods("p", 1, "3").await;
    diary.first("the machine", |entry| entry.kind == Kind::Machine && entry.added).await;
    let stolen = json!({"spec": {
        "holderIdentity": "thief", "leaseDurationSeconds": 1, "renewTime": jiff_micro(),
    }});
    let parameters = PatchParams::default();
    lease_api(&lab).patch(&lease_name(&lab), &parameters, &Patch::Merge(stolen)).await.unwrap();
    leads(&lab, &lab.settings.identity).await;
    lab.plain_provider(&json!({})).await;
    lab.all_pods_run().await;
    lab.ready_claims(1).await;
    assert_eq!((diary.made(Kind::Claim).len(), diary.made(Kind::Machine).len()), (1, 1));
    lab.finish().await;
}

/// The time now, as leases have it.
fn jiff_micro() -> serde_json::Value {
    json!(k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime(now()))
}

pub async fn controllers_of_different_scopes_leave_each_other_alone(plane: Arc<ControlPlane>) {
    let mut one = new_lab(plane.clone(), "scopeone").await;
    let mut two = new_lab(plane, "scopetwo").await;
    for lab in [&mut one, &mut two] {
        lab.plain_provider(&json!({})).await;
        lab.pool("pool", &json!({})).await;
        lab.start().await;
        lab.pods("p", 1, "3").await;
    }
    let mut claims = Vec::new();
    for lab in [&one, &two] {
        lab.all_pods_run().await;
        claims.extend(lab.ready_claims(1).await);
    }
    assert_ne!(claims[0].spec.pool_ref, claims[1].spec.pool_ref);
    one.crash().await;
    crate::hands::delete_pods(&one).await;
    crate::hands::delete_pods(&two).await;
    two.everything_is_gone().await;
    assert_eq!(one.claims().await.len(), 1, "nobody else touches what is the first's");
    one.start().await;
    one.everything_is_gone().await;
    two.finish().await;
    one.finish().await;
}
