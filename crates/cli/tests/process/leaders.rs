//! Of several processes one leads, and what happens when it stops, dies or freezes.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::LeaseSpec;
use serde_json::json;
use tokio::time::Instant;
use windlass_testkit::{ControlPlane, eventually};

use crate::sights::Instead;
use crate::stage::{PATIENCE, Stage};

const SOON: Duration = Duration::from_secs(10);

async fn spec(stage: &Stage) -> LeaseSpec {
    stage.lease().await.unwrap().unwrap().spec.unwrap()
}

/// Waits until the claims that are leaving, or those that stay, are so many at least.
async fn claims(stage: &Stage, leaving: bool, count: usize) {
    eventually("claims are made or removed", PATIENCE, async || {
        let claims = stage.claims().await?;
        let found =
            claims.iter().filter(|claim| claim.metadata.deletion_timestamp.is_some() == leaving).count();
        if found >= count { Ok(()) } else { Err(Instead(format!("{found}"))) }
    })
    .await;
}

pub async fn a_process_asked_to_stop_hands_over_at_once_and_loses_nothing(plane: Arc<ControlPlane>) {
    let stage = Stage::on(plane, "stops").await;
    stage.provider(&json!({})).await;
    stage.pool(&json!({})).await;
    // Who waits for such a lease to run out waits too long.
    let patient = [("--lease-duration", "80s"), ("--renew-deadline", "60s")];
    let first = stage.start_with(&patient);
    stage.pods(0..8).await;
    claims(&stage, false, 1).await;
    let log = first.stop(SOON).await;
    assert!(log.contains("the lease is released"), "{log}");
    assert_eq!(spec(&stage).await.holder_identity.as_deref(), Some(""));

    let (mut second, started) = (stage.start_with(&patient), Instant::now());
    stage.led_by(&mut second).await;
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    stage.grown(8).await;

    stage.delete_pods(0..8).await;
    claims(&stage, true, 1).await;
    second.stop(SOON).await;
    let mut third = stage.start_with(&patient);
    stage.gone().await;
    assert_eq!(spec(&stage).await.lease_transitions, Some(2));
    third.must_run();
    stage.finish().await;
}

pub async fn the_second_of_two_processes_finishes_what_the_first_was_killed_at(plane: Arc<ControlPlane>) {
    let stage = Stage::on(plane, "pair").await;
    stage.provider(&json!({})).await;
    stage.pool(&json!({})).await;
    let mut first = stage.start();
    stage.led_by(&mut first).await;
    let mut second = stage.start();
    eventually("the second is ready", SOON, async || {
        let (status, body) = second.get("/readyz").await;
        if status == 200 { Ok(()) } else { Err(body) }
    })
    .await;
    stage.pods(0..8).await;
    claims(&stage, false, 1).await;
    assert_eq!((first.metric("windlass_leader").await, second.metric("windlass_leader").await), (1.0, 0.0));
    assert_eq!(spec(&stage).await.lease_transitions, Some(0));
    first.kill().await;

    stage.led_by(&mut second).await;
    assert_eq!(spec(&stage).await.lease_transitions, Some(1));
    stage.grown(8).await;
    assert_eq!(second.metric("windlass_leader").await, 1.0);
    stage.delete_pods(0..8).await;
    stage.gone().await;
    stage.finish().await;
}

pub async fn a_leader_that_was_frozen_follows_once_it_thaws(plane: Arc<ControlPlane>) {
    let stage = Stage::on(plane, "frozen").await;
    stage.provider(&json!({})).await;
    stage.pool(&json!({})).await;
    let mut first = stage.start();
    stage.led_by(&mut first).await;
    stage.pods(0..6).await;
    claims(&stage, false, 1).await;
    first.freeze();
    let mut second = stage.start();
    stage.led_by(&mut second).await;
    stage.grown(6).await;

    first.thaw();
    first.says("this process leads no more").await;
    stage.pods(6..10).await;
    stage.grown(10).await;
    assert_eq!((first.metric("windlass_leader").await, second.metric("windlass_leader").await), (0.0, 1.0));
    assert_eq!(spec(&stage).await.holder_identity, Some(second.identity.clone()));

    // Whoever led before can lead again, and attends to all claims.
    second.kill().await;
    stage.led_by(&mut first).await;
    stage.delete_pods(0..10).await;
    stage.gone().await;
    stage.finish().await;
}

pub async fn a_lease_is_never_written_as_shorter_than_it_is(plane: Arc<ControlPlane>) {
    let stage = Stage::on(plane, "fraction").await;
    let mut windlass = stage.start_with(&[("--lease-duration", "1500ms"), ("--renew-deadline", "1400ms")]);
    stage.led_by(&mut windlass).await;
    assert_eq!(spec(&stage).await.lease_duration_seconds, Some(2));
    stage.finish().await;
}
