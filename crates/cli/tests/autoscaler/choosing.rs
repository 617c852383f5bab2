use std::sync::Arc;

use serde_json::{Value, json};
use windlass_testkit::ControlPlane;

use crate::yard::{Yard, machine};

/// The one that fits a pod best is dear, and the cheap one is large.
fn kinds() -> Value {
    json!({"instanceTypes": [machine("fitting", 4, "0.90"), machine("cheap", 8, "0.10")]})
}

pub async fn by_waste_the_machine_comes_that_fits_best(plane: Arc<ControlPlane>) {
    let yard = Yard::new(plane, "waste", &kinds(), &json!({})).await;
    let autoscaler = yard.driven(&["--expander=least-waste"]).await;
    yard.stage.pods(0..1).await;
    yard.has(&[("fitting", "zone-a", 1)]).await;
    yard.stage.grown(1).await;
    yard.finish(autoscaler).await;
}

pub async fn by_price_the_cheapest_machine_comes(plane: Arc<ControlPlane>) {
    let yard = Yard::new(plane, "price", &kinds(), &json!({})).await;
    let autoscaler = yard.driven(&["--expander=price"]).await;
    yard.stage.pods(0..1).await;
    yard.has(&[("cheap", "zone-a", 1)]).await;
    yard.stage.grown(1).await;
    yard.finish(autoscaler).await;
}
