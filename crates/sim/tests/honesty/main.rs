//! Does the simulated API server answer as the real one does? Sequences of requests are made up from a seed, many of them
//! wrong on purpose, and sent to both. It is a disagreement when the answers differ, or what a watch tells of the whole.
//!
//! Which versions, UIDs and moments objects have is each server's own affair: they are named in the order in which they
//! appear, so that what is compared is whether they are the same as before. Of our own kinds everything else has to be the
//! same. Of the built-in ones, what the simulated object has: the real one has many defaults more. The words of errors are
//! compared where someone reads them.
//!
//! `WINDLASS_TEST_SEQUENCES=1000` plays as many, `WINDLASS_TEST_SEED` sets the first seed.
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
#![allow(clippy::panic, reason = "a panic fails the test")]
#![allow(clippy::print_stdout, reason = "how much was compared is of interest")]

mod bodies;
mod compare;
mod generate;
mod generic;
mod named;
mod play;
mod request;
mod servers;
mod special;
mod specs;

use std::sync::Arc;

use futures::stream::{self, StreamExt};
use windlass_testkit::{Component, ControlPlane, install_crds, plane_tests};

/// How many sequences are played at the same time: most of it is waiting for the API server.
const AT_ONCE: usize = 12;

plane_tests![the_simulated_api_server_answers_as_the_real_one];

async fn the_simulated_api_server_answers_as_the_real_one(plane: Arc<ControlPlane>) {
    let (first, sequences) = (number("WINDLASS_TEST_SEED", 0), number("WINDLASS_TEST_SEQUENCES", 300));
    let client = plane.client().unwrap();
    install_crds(&client).await.unwrap();
    silence(&plane);
    play::warm_up(&client).await;
    let plays = (first..first + sequences).map(|seed| {
        let client = client.clone();
        async move { play::play(client, seed).await.map_err(|why| format!("seed {seed}: {why}")) }
    });
    let outcomes: Vec<Result<usize, String>> = stream::iter(plays).buffer_unordered(AT_ONCE).collect().await;
    let requests: usize = outcomes.iter().flatten().sum();
    let disagreements: Vec<String> = outcomes.into_iter().filter_map(Result::err).collect();
    assert!(
        disagreements.is_empty(),
        "{} of {sequences} sequences:\n{}",
        disagreements.len(),
        disagreements.join("\n")
    );
    println!("{sequences} sequences of {requests} requests in all were answered the same way");
}

/// Ends everyone who would write to the API server besides this test. It is the only one of this plane.
fn silence(plane: &ControlPlane) {
    plane.stop_scheduler();
    plane.stop_kwok();
    let manager = plane.process_ids()[&Component::ControllerManager];
    let manager = rustix::process::Pid::from_raw(manager.try_into().unwrap()).unwrap();
    rustix::process::kill_process(manager, rustix::process::Signal::KILL).unwrap();
}

/// A number from the environment.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |value| value.parse().unwrap())
}
