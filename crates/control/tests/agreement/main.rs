//! Does the real kube-scheduler do what the planner says it will? Clusters are made up from a seed, with everything mixed
//! that scheduling looks at; they are planned, the planned nodes are made, and then the scheduler has the word.
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
#![allow(clippy::panic, reason = "a panic fails the test")]

mod machines;
mod made_up;
mod provisioner;
mod scenery;
mod sight;
mod stage;
mod turns;
mod watch;

use std::sync::Arc;

use futures::stream::{self, StreamExt};
use windlass_testkit::{ControlPlane, plane_tests};

use crate::turns::Order;

/// How many clusters are played at the same time: most of it is waiting for the control plane.
const AT_ONCE: usize = 12;

plane_tests![the_scheduler_binds_every_pod_that_a_plan_placed];

async fn the_scheduler_binds_every_pod_that_a_plan_placed(plane: Arc<ControlPlane>) {
    let (first, clusters) = (number("WINDLASS_TEST_SEED", 0), number("WINDLASS_TEST_CLUSTERS", 200));
    let client = plane.client().unwrap();
    scenery::prepare(&client).await;
    let plays = (first..first + clusters).map(|seed| {
        let client = client.clone();
        async move {
            // The scheduler takes one pod after another and no step back. Where pods must be spread, one that comes before those
            // that keep the balance is put elsewhere, in another's place; so a plan counts as right if one of two orders works.
            let Err(first) = stage::play(&client, seed, Order::ByName).await else { return Ok(()) };
            let second = stage::play(&client, seed, Order::OneToEach).await;
            second.map_err(|second| format!("seed {seed}: {first}\nand one to each node: {second}"))
        }
    });
    let outcomes: Vec<Result<(), String>> = stream::iter(plays).buffer_unordered(AT_ONCE).collect().await;
    let disagreements: Vec<String> = outcomes.into_iter().filter_map(Result::err).collect();
    assert!(
        disagreements.is_empty(),
        "{} of {clusters} clusters:\n{}",
        disagreements.len(),
        disagreements.join("\n")
    );
}

/// A number from the environment.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |value| value.parse().unwrap())
}
