//! The controller is killed while it replaces a node that has fallen ill.

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use serde_json::json;
use windlass_testkit::ControlPlane;

use crate::killed::{End, Kills, Scenario, fill, one_may_go, play, protect_all_but_one};
use crate::lab::Lab;
use crate::steps::set_ready;
use crate::trap::Side;

/// Two full nodes, one of which is no longer ready.
struct OneOfTwoSick;

impl Scenario for OneOfTwoSick {
    async fn prepare(&self, lab: &mut Lab) {
        lab.settings.repair_after = Duration::from_secs(1);
        lab.plain_provider(&json!({"bootDelay": "0s"})).await;
        protect_all_but_one(lab, "web", 2).await;
    }

    async fn build(&self, lab: &Lab) {
        fill(lab, 2, &json!({})).await;
        one_may_go(lab, "web").await;
    }

    async fn begin(&self, lab: &Lab) -> Vec<String> {
        let sick = lab.claims().await.remove(0);
        lab.pool("pool", &json!({})).await;
        set_ready(lab, sick.status.as_ref().unwrap().node_name.as_deref().unwrap(), false).await;
        vec![sick.name_any()]
    }

    fn end(&self) -> End {
        End { types: vec!["four"; 2], pods: 4 }
    }
}

pub async fn a_controller_killed_before_any_effect_of_a_repair_ends_it_all_the_same(
    plane: Arc<ControlPlane>,
) {
    play(plane, "heal-before", OneOfTwoSick, Kills::Once { side: Side::Before, first: 1, step: 4 }, 5).await;
}

pub async fn a_controller_killed_after_any_effect_of_a_repair_ends_it_all_the_same(plane: Arc<ControlPlane>) {
    play(plane, "heal-after", OneOfTwoSick, Kills::Once { side: Side::After, first: 3, step: 4 }, 5).await;
}

pub async fn a_controller_that_dies_all_the_time_still_gets_through_a_repair(plane: Arc<ControlPlane>) {
    play(plane, "heal-always", OneOfTwoSick, Kills::AllTheTime { most: 3 }, 10).await;
}
