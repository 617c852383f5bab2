//! The API server goes and comes back while the process works.

use std::sync::Arc;

use serde_json::json;
use windlass_testkit::ControlPlane;

use crate::stage::Stage;
use crate::windlass::Dice;

pub async fn a_process_whose_api_server_restarts_three_times_makes_each_machine_once_and_loses_none(
    _: Arc<ControlPlane>,
) {
    let stage = Stage::alone("restarts").await;
    let mut dice = Dice::new(5);
    stage.provider(&json!({})).await;
    stage.pool(&json!({})).await;
    let mut windlass = stage.start();
    stage.led_by(&mut windlass).await;
    for restart in 0..3 {
        stage.pods(10 * restart..10 * restart + 10).await;
        dice.moment(50..1500).await;
        stage.plane.restart_apiserver().await.unwrap();
    }
    stage.pods(30..40).await;
    stage.grown_despite_double_booking(40).await;

    stage.delete_pods(0..40).await;
    dice.moment(50..3000).await;
    stage.plane.restart_apiserver().await.unwrap();
    stage.gone().await;
    windlass.must_run();
    stage.finish().await;
}
