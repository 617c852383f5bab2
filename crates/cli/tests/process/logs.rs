//! What the process writes down, and what it does not.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_testkit::ControlPlane;

use crate::stage::Stage;

/// Lets a node come and go while everything is logged, and returns the log.
async fn everything_said(stage: &Stage, format: &str) -> String {
    let mut windlass = stage.start_with(&[("--log", "trace"), ("--log-format", format)]);
    stage.led_by(&mut windlass).await;
    stage.pods(0..1).await;
    stage.grown(1).await;
    stage.delete_pods(0..1).await;
    stage.gone().await;
    windlass.stop(Duration::from_secs(20)).await
}

fn token(stage: &Stage) -> String {
    let kubeconfig = std::fs::read_to_string(stage.plane.kubeconfig_path()).unwrap();
    let kubeconfig: Value = serde_json::from_str(&kubeconfig).unwrap();
    kubeconfig["users"][0]["user"]["token"].as_str().unwrap().to_owned()
}

pub async fn a_log_for_programs_is_one_object_a_line_and_no_log_has_the_token(plane: Arc<ControlPlane>) {
    let stage = Stage::on(plane, "logs").await;
    stage.provider(&json!({"bootDelay": "1s"})).await;
    stage.pool(&json!({})).await;
    let token = token(&stage);
    assert_eq!(token.len(), 32);

    let log = everything_said(&stage, "json").await;
    let mut messages = Vec::new();
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(line["timestamp"].is_string() && line["level"].is_string(), "{line}");
        messages.push(line["fields"]["message"].as_str().unwrap_or_default().to_owned());
    }
    for said in ["windlass starts", "claim made", "claim deleted", "shutting down"] {
        assert!(messages.iter().any(|message| message == said), "{said:?} is missing");
    }
    assert!(!log.contains(&token) && !log.to_lowercase().contains("bearer"), "the token is in the log");

    let log = everything_said(&stage, "text").await;
    assert!(log.contains("TRACE") && log.contains("claim made"));
    assert!(!log.contains('\u{1b}'), "there are colours although this is no terminal");
    assert!(!log.contains(&token) && !log.to_lowercase().contains("bearer"), "the token is in the log");
    stage.finish().await;
}
