use std::sync::Arc;

use serde_json::json;
use windlass_testkit::ControlPlane;

use crate::yard::Yard;

pub async fn a_group_grows_from_nothing_and_shrinks_when_its_nodes_are_not_needed(plane: Arc<ControlPlane>) {
    let yard = Yard::new(plane, "updown", &json!({}), &json!({})).await;
    let autoscaler = yard.driven(&[]).await;
    yard.stage.pods(0..3).await;
    yard.stage.grown(3).await;
    yard.stage.delete_pods(0..2).await;
    yard.has(&[("four", "zone-a", 1)]).await;
    yard.stage.grown(1).await;
    yard.stage.delete_pods(2..3).await;
    yard.stage.gone().await;
    assert_eq!(yard.targets().await.unwrap().values().sum::<i32>(), 0);
    yard.finish(autoscaler).await;
}
