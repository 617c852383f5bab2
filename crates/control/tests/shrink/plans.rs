//! How many plans a controller has made.

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use windlass_control::Metrics;
use windlass_testkit::eventually;

use crate::hands::PATIENCE;

pub fn made(metrics: &Metrics) -> u64 {
    let (mut registry, mut text) = (Registry::default(), String::new());
    metrics.register(&mut registry);
    encode(&mut text, &registry).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("windlass_plans_total "));
    line.unwrap().parse().unwrap()
}

/// Waits until so many further plans have been made.
pub async fn further(metrics: &Metrics, count: u64) {
    let until = made(metrics) + count;
    eventually(&format!("{count} further plans"), PATIENCE, async || (made(metrics) >= until).then_some(()))
        .await;
}
