//! The process is killed at moments of chance, again and again, also while its provider misbehaves.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_testkit::ControlPlane;

use crate::stage::Stage;
use crate::windlass::{Dice, Windlass};

/// Kills a process, mostly a while after it has begun to lead and sometimes before, and starts the next one.
async fn relieve(
    stage: &Stage,
    mut windlass: Windlass,
    dice: &mut Dice,
    within: u64,
    flags: &[(&str, &str)],
) -> Windlass {
    if !dice.one_in(5) {
        stage.led_by(&mut windlass).await;
    }
    dice.moment(50..within).await;
    windlass.kill().await;
    stage.start_with(flags)
}

pub async fn a_process_killed_thirty_times_makes_each_machine_once_and_loses_none(_: Arc<ControlPlane>) {
    let stage = Stage::alone("kills").await;
    let mut dice = Dice::new(20_261_115);
    stage.provider(&json!({})).await;
    stage.pool(&json!({})).await;
    let mut windlass = stage.start();
    // Half of the pods come at once, and one with each life, so that there is work whenever the end comes.
    stage.pods(0..20).await;
    for life in 0..20 {
        stage.pods(20 + life..21 + life).await;
        windlass = relieve(&stage, windlass, &mut dice, 900, &[]).await;
    }
    stage.grown(40).await;

    for life in 0..10 {
        stage.delete_pods(4 * life..4 * life + 4).await;
        windlass = relieve(&stage, windlass, &mut dice, 900, &[]).await;
    }
    stage.gone().await;
    windlass.must_run();
    stage.finish().await;
}

async fn ten_nodes_come_and_go(plane: Arc<ControlPlane>, name: &str, faults: Value, seed: u64) {
    let stage = Stage::on(plane, name).await;
    let mut dice = Dice::new(seed);
    stage.provider(&json!({"faults": faults})).await;
    stage.pool(&json!({})).await;
    // What fails for good is given up in time for the test.
    let flags = [("--launch-deadline", "6s")];
    let mut windlass = stage.start_with(&flags);
    stage.pods(0..10).await;
    for _ in 0..5 {
        windlass = relieve(&stage, windlass, &mut dice, 2500, &flags).await;
    }
    stage.grown(10).await;
    stage.delete_pods(0..10).await;
    windlass = relieve(&stage, windlass, &mut dice, 2500, &flags).await;
    stage.gone().await;
    windlass.must_run();
    stage.finish().await;
}

pub async fn a_killed_process_makes_each_machine_once_at_a_provider_that_answers_late(
    plane: Arc<ControlPlane>,
) {
    let faults = json!([{"effect": "SlowAnswer", "after": "2s"}]);
    ten_nodes_come_and_go(plane, "late", faults, 2).await;
}

pub async fn a_killed_process_makes_each_machine_once_at_a_provider_that_does_everything_twice(
    plane: Arc<ControlPlane>,
) {
    let faults = json!([{"effect": "DuplicateAnswer"}]);
    ten_nodes_come_and_go(plane, "twice", faults, 3).await;
}

pub async fn a_killed_process_makes_each_machine_once_at_a_provider_that_launches_and_answers_with_an_error(
    plane: Arc<ControlPlane>,
) {
    let faults = json!([
        {"effect": "ErrorAfterEffect", "error": "Transient", "calls": ["Launch", "Terminate"], "percent": 50},
    ]);
    ten_nodes_come_and_go(plane, "lying", faults, 4).await;
}
