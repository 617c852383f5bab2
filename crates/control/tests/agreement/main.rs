//! Does the real kube-scheduler do what the planner says it will? Clusters are made up from a seed, with everything mixed
//! that scheduling looks at; they are planned, the planned nodes are made, and then the scheduler has the word.
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
#![allow(clippy::panic, reason = "a panic fails the test")]

mod made_up;
mod pods;
mod stage;

use std::sync::Arc;

use windlass_testkit::{ControlPlane, plane_tests};

/// How many clusters each test tries, one after another.
const EACH: u64 = 25;

plane_tests![
    the_scheduler_agrees_on_the_first_clusters,
    the_scheduler_agrees_on_the_second_clusters,
    the_scheduler_agrees_on_the_third_clusters,
    the_scheduler_agrees_on_the_fourth_clusters,
    the_scheduler_agrees_on_the_fifth_clusters,
    the_scheduler_agrees_on_the_sixth_clusters,
    the_scheduler_agrees_on_the_seventh_clusters,
    the_scheduler_agrees_on_the_eighth_clusters,
];

async fn agrees(plane: Arc<ControlPlane>, part: u64) {
    let first = match std::env::var("WINDLASS_TEST_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => part * EACH,
    };
    let mut disagreements = Vec::new();
    for seed in first..first + EACH {
        if let Err(disagreement) = stage::play(&plane, seed).await {
            disagreements.push(format!("seed {seed}: {disagreement}"));
        }
    }
    assert!(
        disagreements.is_empty(),
        "{} of {EACH} clusters:\n{}",
        disagreements.len(),
        disagreements.join("\n")
    );
}

async fn the_scheduler_agrees_on_the_first_clusters(plane: Arc<ControlPlane>) {
    agrees(plane, 0).await;
}

async fn the_scheduler_agrees_on_the_second_clusters(plane: Arc<ControlPlane>) {
    agrees(plane, 1).await;
}

async fn the_scheduler_agrees_on_the_third_clusters(plane: Arc<ControlPlane>) {
    agrees(plane, 2).await;
}

async fn the_scheduler_agrees_on_the_fourth_clusters(plane: Arc<ControlPlane>) {
    agrees(plane, 3).await;
}

async fn the_scheduler_agrees_on_the_fifth_clusters(plane: Arc<ControlPlane>) {
    agrees(plane, 4).await;
}

async fn the_scheduler_agrees_on_the_sixth_clusters(plane: Arc<ControlPlane>) {
    agrees(plane, 5).await;
}

async fn the_scheduler_agrees_on_the_seventh_clusters(plane: Arc<ControlPlane>) {
    agrees(plane, 6).await;
}

async fn the_scheduler_agrees_on_the_eighth_clusters(plane: Arc<ControlPlane>) {
    agrees(plane, 7).await;
}
