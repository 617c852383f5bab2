//! The controller is killed at any instruction, requests and answers get lost: nothing is launched twice or lost.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use http::Method;
use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::json;
use tokio::sync::Notify;
use windlass_api::labels;
use windlass_providers::{LaunchRequest, Machine, MachineTag, Provider, ProviderError, Termination};
use windlass_testkit::invariants::{Invariant, Kind, ObjectName};
use windlass_testkit::{ControlPlane, eventually};

use crate::faults::{Fate, Faults};
use crate::lab::{Lab, PATIENCE};
use crate::steps::{calm_lab, force_away, leads, pool_counts, start};
use crate::trap::{Side, Trap};
use crate::twist::{Twist, twisted};

async fn prepared(plane: Arc<ControlPlane>, name: &str) -> Lab {
    let lab = calm_lab(plane, name).await;
    lab.plain_provider(&json!({"bootDelay": "0s"})).await;
    lab.pool("pool", &json!({"disruption": {"consolidateAfter": "0s"}})).await;
    // Each of many processes and lives says a few things about the pool, and that is no storm.
    lab.watcher().excuse(Invariant::NoWriteStorm, ObjectName::new(Kind::NodePool, lab.named("pool")));
    lab
}

/// One pod comes, is run, and goes again: its claim, machine and node come and go.
async fn life(lab: &Lab, pod: &str) {
    lab.create_pod(lab.pod(pod, "3")).await;
    lab.all_pods_run().await;
    lab.ready_claims(1).await;
    assert_eq!((lab.machines().await.len(), lab.nodes().await.len()), (1, 1));
    lab.pod_api().delete(pod, &DeleteParams::default().grace_period(0)).await.unwrap();
    lab.everything_is_gone().await;
}

/// Lives, each with a crash at its k-th effect, until one has fewer effects than that.
async fn crash_at_each(plane: Arc<ControlPlane>, name: &str, first: usize, side: Side) {
    let lab = prepared(plane, name).await;
    let mut at = first;
    loop {
        let (faults, trap) = (Faults::default(), Trap::default());
        trap.set(&faults, at, side);
        let mut running = start(&lab, &faults);
        let pod = format!("p-{at}");
        let crashed = {
            let mut whole_life = std::pin::pin!(life(&lab, &pod));
            tokio::select! {
                () = &mut whole_life => false,
                () = trap.sprung.notified() => {
                    running.crash().await;
                    faults.heal();
                    running = start(&lab, &faults);
                    whole_life.await;
                    true
                }
            }
        };
        running.crash().await;
        if !crashed {
            break;
        }
        at += 2;
    }
    assert!(at > 14, "a life has more effects than {at}");
    lab.finish().await;
}

pub async fn a_crash_before_any_odd_effect_leaves_one_machine_per_claim(plane: Arc<ControlPlane>) {
    crash_at_each(plane, "odd-before", 1, Side::Before).await;
}

pub async fn a_crash_before_any_even_effect_leaves_one_machine_per_claim(plane: Arc<ControlPlane>) {
    crash_at_each(plane, "even-before", 2, Side::Before).await;
}

pub async fn a_crash_between_any_odd_effect_and_its_answer_leaves_one_machine_per_claim(
    plane: Arc<ControlPlane>,
) {
    crash_at_each(plane, "odd-after", 1, Side::After).await;
}

pub async fn a_crash_between_any_even_effect_and_its_answer_leaves_one_machine_per_claim(
    plane: Arc<ControlPlane>,
) {
    crash_at_each(plane, "even-after", 2, Side::After).await;
}

/// Each process gets one, two or three effects done and dies before it hears of the last.
pub async fn a_controller_that_dies_after_every_few_effects_still_gets_through_a_claims_life(
    plane: Arc<ControlPlane>,
) {
    let lab = prepared(plane, "every").await;
    let (faults, trap) = (Faults::default(), Trap::default());
    let mut crashes = 0;
    trap.set(&faults, 1, Side::After);
    let mut running = start(&lab, &faults);
    {
        let mut whole_life = std::pin::pin!(life(&lab, "p"));
        loop {
            tokio::select! {
                () = &mut whole_life => break,
                () = trap.sprung.notified() => {
                    running.crash().await;
                    crashes += 1;
                    // What has no effect when it is done again takes a second one to get past.
                    trap.set(&faults, 1 + crashes % 3, Side::After);
                    running = start(&lab, &faults);
                }
            }
        }
    }
    running.crash().await;
    assert!(crashes > 8, "{crashes}");
    lab.finish().await;
}

/// Both the launch and the end of a machine take effect, and the controller hears of a timeout, twice each.
#[derive(Debug, Default)]
struct LosesAnswers {
    launches: AtomicUsize,
    ends: AtomicUsize,
}

#[async_trait]
impl Twist for LosesAnswers {
    async fn launch(&self, truth: &dyn Provider, request: &LaunchRequest) -> Result<Machine, ProviderError> {
        let answer = truth.launch(request).await;
        let number = self.launches.fetch_add(1, Ordering::SeqCst);
        if number < 2 { Err(ProviderError::transient("timed out")) } else { answer }
    }

    async fn terminate(
        &self,
        truth: &dyn Provider,
        id: &str,
        tag: &MachineTag,
    ) -> Result<Termination, ProviderError> {
        let answer = truth.terminate(id, tag).await;
        let number = self.ends.fetch_add(1, Ordering::SeqCst);
        if number < 2 { Err(ProviderError::transient("timed out")) } else { answer }
    }
}

pub async fn a_launch_whose_answer_is_lost_is_found_again_by_the_claims_uid(plane: Arc<ControlPlane>) {
    let mut lab = prepared(plane, "lost-launch").await;
    let twist = Arc::new(LosesAnswers::default());
    lab.start_with(twisted(&twist)).await;
    life(&lab, "p").await;
    assert!(twist.launches.load(Ordering::SeqCst) >= 3 && twist.ends.load(Ordering::SeqCst) >= 3);
    lab.finish().await;
}

/// The claim exists, the controller does not know, and its watch does not tell.
pub async fn a_claim_whose_creation_was_answered_too_late_is_not_made_a_second_time(
    plane: Arc<ControlPlane>,
) {
    let lab = prepared(plane, "lost-create").await;
    let faults = Faults::default();
    let running = start(&lab, &faults);
    leads(&running).await;
    faults.silence("nodeclaims", true);
    let mut left = 3;
    faults.decide(move |sent| {
        let creates = sent.method == Method::POST && sent.path.ends_with("/nodeclaims");
        if creates && left > 0 {
            left -= 1;
            return Fate::AnswerLost;
        }
        Fate::Passes
    });
    lab.pods("p", 2, "3").await;
    lab.all_pods_run().await;
    lab.ready_claims(2).await;
    assert_eq!(lab.machines().await.len(), 2);
    faults.silence("nodeclaims", false);
    running.crash().await;
    lab.finish().await;
}

/// Every creation of a claim of one pool fails without a definite answer, for as long as it may.
pub async fn trouble_with_one_pools_claims_keeps_nobody_else_waiting(plane: Arc<ControlPlane>) {
    let mut lab = prepared(plane, "one-pool").await;
    lab.settings.write_patience = Duration::from_secs(1);
    lab.pool("unlucky", &json!({"template": {"metadata": {"labels": {"luck": "bad"}}}})).await;
    let (faults, unlucky) = (Faults::default(), lab.named("unlucky"));
    faults.decide(move |sent| {
        let creates = sent.method == Method::POST && sent.path.ends_with("/nodeclaims");
        if creates && sent.body["spec"]["poolRef"]["name"] == *unlucky {
            return Fate::Broken;
        }
        Fate::Passes
    });
    let running = start(&lab, &faults);
    lab.create_pod(lab.pod("unlucky", "3").node_selector("luck", "bad")).await;
    eventually("a creation that fails", PATIENCE, async || {
        faults
            .log()
            .iter()
            .any(|sent| sent.body["spec"]["poolRef"]["name"] == *lab.named("unlucky"))
            .then_some(())
    })
    .await;
    lab.create_pod(lab.pod("lucky", "3")).await;
    lab.ready_claims(1).await;
    let tried =
        faults.log().into_iter().filter(|sent| sent.body["spec"]["poolRef"]["name"] == *lab.named("unlucky"));
    let names: BTreeSet<String> = tried.map(|sent| sent.body["metadata"]["name"].to_string()).collect();
    assert_eq!(names.len(), 1, "the claim in doubt counts, and no other is made in its place: {names:?}");
    faults.heal();
    lab.all_pods_run().await;
    lab.ready_claims(2).await;
    running.crash().await;
    lab.finish().await;
}

/// The claim is gone, and the watch has said so, before the answer to its creation arrives.
pub async fn a_claim_that_is_gone_before_its_creation_is_answered_is_not_remembered(
    plane: Arc<ControlPlane>,
) {
    let mut lab = prepared(plane, "overtaken").await;
    // Nobody plans before the answer is there.
    lab.settings.write_patience = PATIENCE;
    // Late enough that the pod does not run on the first claim's machine, which would then be adopted.
    lab.plain_provider(&json!({"bootDelay": "4s"})).await;
    lab.pool("pool", &json!({"disruption": {"consolidateAfter": "0s"}, "limits": {"nodes": 1}})).await;
    let (faults, removed) = (Faults::default(), Arc::new(Notify::new()));
    let (mut first, gate) = (true, removed.clone());
    faults.decide(move |sent| {
        if first && sent.method == Method::POST && sent.path.ends_with("/nodeclaims") {
            first = false;
            let gate = gate.clone();
            return Fate::AnsweredAfter(Box::pin(async move { gate.notified().await }));
        }
        Fate::Passes
    });
    let running = start(&lab, &faults);
    lab.create_pod(lab.pod("p", "3")).await;
    let claim = eventually("a claim", PATIENCE, async || lab.claims().await.pop()).await;
    pool_counts(&lab, 1).await;
    // Gone without Windlass: only its finalizer held it.
    force_away(&lab, &claim).await;
    pool_counts(&lab, 0).await;
    removed.notify_one();
    // With a limit of one, a remembered ghost would keep the pod pending for ever.
    lab.all_pods_run().await;
    let claims = lab.ready_claims(1).await;
    assert_ne!(claims[0].uid(), claim.uid());
    assert!(claims[0].finalizers().iter().any(|finalizer| finalizer == labels::FINALIZER));
    running.crash().await;
    lab.finish().await;
}
