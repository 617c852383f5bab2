//! The controller is killed while it replaces nodes that are not what their pool would launch today.

use std::sync::Arc;

use kube::ResourceExt;
use serde_json::json;
use windlass_testkit::ControlPlane;

use crate::killed::{End, Kills, Scenario, fill, one_may_go, play, protect_all_but_one};
use crate::lab::Lab;
use crate::trap::Side;

/// Two full nodes whose pool's template changes.
struct BothDrift;

impl Scenario for BothDrift {
    async fn prepare(&self, lab: &mut Lab) {
        lab.plain_provider(&json!({"bootDelay": "0s"})).await;
        protect_all_but_one(lab, "web", 2).await;
    }

    async fn build(&self, lab: &Lab) {
        fill(lab, 2, &json!({})).await;
        one_may_go(lab, "web").await;
    }

    async fn begin(&self, lab: &Lab) -> Vec<String> {
        let old = lab.claims().await.iter().map(ResourceExt::name_any).collect();
        lab.pool("pool", &json!({"template": {"metadata": {"labels": {"generation": "2"}}}})).await;
        old
    }

    fn end(&self) -> End {
        End { types: vec!["four"; 2], pods: 4 }
    }
}

pub async fn a_controller_killed_before_any_effect_of_a_rotation_ends_it_all_the_same(
    plane: Arc<ControlPlane>,
) {
    play(plane, "turn-before", BothDrift, Kills::Once { side: Side::Before, first: 1, step: 5 }, 7).await;
}

pub async fn a_controller_killed_after_any_effect_of_a_rotation_ends_it_all_the_same(
    plane: Arc<ControlPlane>,
) {
    play(plane, "turn-after", BothDrift, Kills::Once { side: Side::After, first: 3, step: 5 }, 7).await;
}

pub async fn a_controller_that_dies_all_the_time_still_gets_through_a_rotation(plane: Arc<ControlPlane>) {
    play(plane, "turn-always", BothDrift, Kills::AllTheTime { most: 4 }, 10).await;
}
