//! From a claim to a machine: to launch, booting, never joined, and every way in which a launch fails.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use windlass_api::{conditions, labels};
use windlass_testkit::{ControlPlane, eventually};

use crate::diary::{Diary, Entry, Kind};
use crate::hands::{claim_says, new_lab, only_claim, told, two_types};
use crate::lab::PATIENCE;

pub async fn pending_pods_get_a_machine_and_an_empty_node_is_given_back(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "basic").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({})).await;
    lab.start().await;
    lab.pods("p", 5, "1500m").await;
    lab.all_pods_run().await;
    lab.ready_claims(3).await;
    crate::hands::delete_pods(&lab).await;
    lab.everything_is_gone().await;
    lab.finish().await;
}

pub async fn a_claim_and_its_launch_are_written_down_before_there_is_a_machine(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "first").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    lab.pods("p", 1, "3").await;
    lab.all_pods_run().await;
    let claim = diary.first("the claim", |entry| entry.kind == Kind::Claim && entry.added).await;
    let launching = diary
        .first("the launch in the claim", |entry| {
            entry.kind == Kind::Claim && !entry.object["status"]["launch"]["startedAt"].is_null()
        })
        .await;
    let machine = diary.first("the machine", |entry| entry.kind == Kind::Machine && entry.added).await;
    assert!(claim.version < launching.version && launching.version < machine.version);
    assert_eq!(claim.object["metadata"]["finalizers"], json!([labels::FINALIZER]));
    assert_eq!(
        machine.object["metadata"]["labels"][labels::CLAIM_UID],
        claim.object["metadata"]["uid"],
        "the machine is tagged with the claim's UID"
    );
    lab.finish().await;
}

pub async fn a_booting_machine_is_waited_for(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "boots").await;
    lab.plain_provider(&json!({"bootDelay": "6s"})).await;
    lab.pool("pool", &json!({})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    lab.pods("p", 1, "3").await;
    let claim = only_claim(&lab).await.metadata.name.unwrap();
    let message = claim_says(&lab, &claim, conditions::READY, "False", "Booting").await;
    assert_eq!(message, "the machine has not become a node yet");
    lab.all_pods_run().await;
    assert_eq!(diary.made(Kind::Claim), [claim], "several sweeps and plans have made no second claim");
    assert_eq!(diary.made(Kind::Machine).len(), 1);
    lab.finish().await;
}

pub async fn a_machine_that_never_joins_is_given_back_and_another_offering_is_tried(
    plane: Arc<ControlPlane>,
) {
    let mut lab = new_lab(plane, "lame").await;
    lab.settings.registration_deadline = Duration::from_secs(4);
    let faults = json!([{"effect": "NeverRegister", "instanceTypes": ["first"]}]);
    lab.plain_provider(&json!({"instanceTypes": two_types(), "faults": faults})).await;
    lab.pool("pool", &json!({})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    lab.pods("p", 1, "3").await;
    let lame = diary.first("the first machine", |entry| entry.kind == Kind::Machine && entry.added).await;
    assert_eq!(lame.object["metadata"]["labels"][labels::INSTANCE_TYPE], "first");
    lab.all_pods_run().await;
    let claims = lab.ready_claims(1).await;
    assert_eq!(claims[0].status.as_ref().unwrap().instance_type.as_deref(), Some("second"));
    diary.gone(Kind::Machine, &lame.name).await;
    let made = diary.made(Kind::Claim);
    assert_eq!(made.len(), 2, "the offering is avoided at once: {made:?}");
    diary.gone(Kind::Claim, &made[0]).await;
    told(&lab, "NodeClaim", &made[0], "RegistrationTimeout", &["did not become a node within 4s"]).await;
    assert_eq!(lab.counted("claims_removed", Some("NeverRegistered")), 1);
    lab.finish().await;
}

/// Launches of the cheaper type answer with this error, which says that asking again will not help.
async fn falls_to_the_next(plane: Arc<ControlPlane>, name: &str, error: &str) {
    let mut lab = new_lab(plane, name).await;
    let faults =
        json!([{"effect": "Error", "calls": ["Launch"], "error": error, "instanceTypes": ["first"]}]);
    lab.plain_provider(&json!({"instanceTypes": two_types(), "faults": faults})).await;
    lab.pool("pool", &json!({})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    lab.pods("p", 1, "3").await;
    lab.all_pods_run().await;
    let claims = lab.ready_claims(1).await;
    let status = claims[0].status.as_ref().unwrap();
    assert_eq!(status.instance_type.as_deref(), Some("second"));
    assert_eq!(status.launch.as_ref().unwrap().offering, 1);
    assert_eq!(diary.made(Kind::Claim).len(), 1, "the same claim takes its next choice");
    let claim = claims[0].metadata.name.as_deref().unwrap();
    told(&lab, "NodeClaim", claim, error, &["simulated fault", "the next choice is tried"]).await;
    lab.pods("q", 1, "3").await;
    lab.all_pods_run().await;
    let second = lab.ready_claims(2).await;
    let tried = |claim: &windlass_api::NodeClaim| claim.spec.offerings[0].instance_type == "second";
    assert!(second.iter().any(tried), "what could not be had is not asked for again so soon");
    lab.finish().await;
}

pub async fn an_offering_that_is_sold_out_gives_way_to_the_next(plane: Arc<ControlPlane>) {
    falls_to_the_next(plane, "soldout", "InsufficientCapacity").await;
}

pub async fn an_offering_beyond_the_quota_gives_way_to_the_next(plane: Arc<ControlPlane>) {
    falls_to_the_next(plane, "quota", "Quota").await;
}

pub async fn a_launch_that_makes_no_sense_is_given_up(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "nonsense").await;
    let fault = json!({"effect": "Error", "calls": ["Launch"], "error": "InvalidConfiguration"});
    lab.plain_provider(&json!({"faults": [fault]})).await;
    lab.pool("pool", &json!({})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    lab.pods("p", 1, "3").await;
    let claim = diary.first("the claim", |entry| entry.kind == Kind::Claim && entry.added).await.name;
    diary.gone(Kind::Claim, &claim).await;
    told(&lab, "NodeClaim", &claim, "InvalidConfiguration", &["simulated fault"]).await;
    told(&lab, "Pod", "p-0", "NoCapacity", &[&lab.named("pool")]).await;
    crate::hands::at_work_for(&lab, Duration::from_secs(3)).await;
    assert_eq!(diary.made(Kind::Claim), [claim], "it is not tried again and again");
    assert!(diary.made(Kind::Machine).is_empty());
    lab.finish().await;
}

/// Launches answer with this error, which may pass, until they do not.
async fn tried_again(plane: Arc<ControlPlane>, name: &str, error: &str) {
    let mut lab = new_lab(plane, name).await;
    let fault = json!({"effect": "Error", "calls": ["Launch"], "error": error});
    lab.plain_provider(&json!({"faults": [fault]})).await;
    lab.pool("pool", &json!({})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    lab.pods("p", 1, "3").await;
    let claim = only_claim(&lab).await.metadata.name.unwrap();
    let message = claim_says(&lab, &claim, conditions::LAUNCHED, "Unknown", error).await;
    assert!(message.contains("simulated fault"), "{message}");
    told(&lab, "NodeClaim", &claim, error, &["simulated fault"]).await;
    lab.plain_provider(&json!({})).await;
    lab.all_pods_run().await;
    lab.ready_claims(1).await;
    assert_eq!(diary.made(Kind::Claim), [claim], "the claim was not given up");
    lab.finish().await;
}

pub async fn a_throttled_launch_is_tried_again(plane: Arc<ControlPlane>) {
    tried_again(plane, "throttled", "Throttled").await;
}

pub async fn a_launch_that_failed_for_now_is_tried_again(plane: Arc<ControlPlane>) {
    tried_again(plane, "transient", "Transient").await;
}

pub async fn a_launch_without_permission_says_so_and_is_tried_again(plane: Arc<ControlPlane>) {
    tried_again(plane, "forbidden", "Unauthorized").await;
}

pub async fn a_launch_whose_answer_was_lost_makes_no_second_machine(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "lostanswer").await;
    let fault = json!({"effect": "ErrorAfterEffect", "calls": ["Launch"], "error": "Transient"});
    lab.plain_provider(&json!({"faults": [fault]})).await;
    lab.pool("pool", &json!({})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    lab.pods("p", 1, "3").await;
    let claim = only_claim(&lab).await.metadata.name.unwrap();
    claim_says(&lab, &claim, conditions::LAUNCHED, "Unknown", "Transient").await;
    let is_ready = |entry: &Entry| entry.kind == Kind::Node && entry.condition("Ready") == "True";
    diary.first("the machine to be a node before its claim knows of it", is_ready).await;
    lab.plain_provider(&json!({})).await;
    lab.all_pods_run().await;
    assert_eq!((diary.made(Kind::Claim).len(), diary.made(Kind::Machine).len()), (1, 1));
    lab.finish().await;
}

pub async fn a_claim_without_a_machine_after_the_deadline_is_given_up_and_replaced(plane: Arc<ControlPlane>) {
    let mut lab = new_lab(plane, "late").await;
    lab.settings.launch_deadline = Duration::from_secs(3);
    let fault = json!({"effect": "Error", "calls": ["Launch"], "error": "Transient"});
    lab.plain_provider(&json!({"faults": [fault]})).await;
    lab.pool("pool", &json!({})).await;
    let diary = Diary::of(&lab).await;
    lab.start().await;
    lab.pods("p", 1, "3").await;
    let claim = diary.first("the claim", |entry| entry.kind == Kind::Claim && entry.added).await.name;
    told(&lab, "NodeClaim", &claim, "LaunchTimeout", &["no machine after 3s"]).await;
    diary.gone(Kind::Claim, &claim).await;
    lab.plain_provider(&json!({})).await;
    lab.all_pods_run().await;
    let one = eventually("one machine", PATIENCE, async || {
        let machines = lab.machines().await;
        (machines.len() == 1).then_some(machines)
    });
    one.await;
    lab.finish().await;
}
