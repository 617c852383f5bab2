//! What the process tells those who watch over it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use windlass_testkit::{ControlPlane, eventually};

use crate::stage::{PATIENCE, Stage, create_namespace, own_plane_turn};
use crate::windlass::Windlass;

async fn readiness(windlass: &mut Windlass, status: u16, words: &str) {
    eventually(&format!("/readyz answers {status} {words}"), Duration::from_secs(45), async || {
        let answer = windlass.get("/readyz").await;
        if answer.0 == status && answer.1.contains(words) { Ok(()) } else { Err(format!("{answer:?}")) }
    })
    .await;
}

pub async fn in_a_bare_cluster_it_waits_and_says_what_is_missing(_: Arc<ControlPlane>) {
    let _turn = own_plane_turn().await;
    let plane = ControlPlane::builder().kwok(false).start().await.unwrap();
    let kubeconfig = plane.kubeconfig_path().display().to_string();
    let flags = [("--listen", "127.0.0.1:0"), ("--kubeconfig", &kubeconfig), ("--lease-retry", "100ms")];
    let mut windlass = Windlass::start(&plane, "bare", &["run"], &flags);
    assert_eq!(windlass.get("/healthz").await.0, 200);
    readiness(&mut windlass, 503, "have not all been listed").await;
    windlass.says("windlass crds | kubectl apply --server-side -f -").await;
    let advice = "kubectl create namespace windlass-system";
    windlass.says(advice).await;

    // What it says to do helps, also when it is done twice.
    let file = plane.folder().join("crds.yaml");
    let printed = std::process::Command::new(env!("CARGO_BIN_EXE_windlass")).arg("crds").output().unwrap();
    std::fs::write(&file, printed.stdout).unwrap();
    for _ in 0..2 {
        let applied = plane.kubectl(&["apply", "--server-side", "-f", file.to_str().unwrap()]).unwrap();
        assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
        assert_eq!(String::from_utf8_lossy(&applied.stdout).matches("serverside-applied").count(), 3);
    }
    readiness(&mut windlass, 503, advice).await;
    let log = windlass.log();
    assert_eq!(log.matches(advice).count(), 1, "this is said at each try: {log}");
    create_namespace(&plane.client().unwrap(), "windlass-system").await;
    readiness(&mut windlass, 200, "ok").await;
    windlass.says("this process leads now").await;
    windlass.must_run();
}

pub async fn probes_and_metrics_tell_what_happens(plane: Arc<ControlPlane>) {
    let stage = Stage::on(plane, "probes").await;
    stage.provider(&json!({})).await;
    stage.pool(&json!({})).await;
    let mut windlass = stage.start();
    assert_eq!(windlass.get("/healthz").await, (200, "ok\n".to_owned()));
    readiness(&mut windlass, 200, "ok").await;
    assert_eq!(windlass.get("/secrets").await.0, 404);
    stage.pods(0..3).await;
    stage.grown(3).await;
    assert_eq!(windlass.metric("windlass_claims_created_total").await, 3.0);
    assert_eq!(windlass.metric("windlass_claims_removed_total").await, 0.0);
    assert_eq!(windlass.metric("windlass_leader").await, 1.0);
    assert!(windlass.metric("windlass_plans_total").await >= 1.0);
    assert!(windlass.metric("windlass_plan_duration_seconds_count").await >= 1.0);
    metric(&mut windlass, "windlass_claims", 3.0).await;
    metric(&mut windlass, "windlass_cost_dollars_per_hour", 0.3).await;

    stage.delete_pods(0..3).await;
    stage.gone().await;
    assert_eq!(windlass.metric("windlass_claims_removed_total").await, 3.0);
    metric(&mut windlass, "windlass_claims", 0.0).await;
    metric(&mut windlass, "windlass_cost_dollars_per_hour", 0.0).await;
    let (status, page) = windlass.get("/metrics").await;
    assert!(status == 200 && page.ends_with("# EOF\n"), "{page}");
    stage.finish().await;
}

async fn metric(windlass: &mut Windlass, name: &str, value: f64) {
    eventually(&format!("{name} is {value}"), PATIENCE, async || {
        let found = windlass.metric(name).await;
        if (found - value).abs() < 1e-9 { Ok(()) } else { Err(format!("{found}")) }
    })
    .await;
}
