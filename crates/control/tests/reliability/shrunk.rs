//! The controller is killed while it consolidates nodes.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_api::labels;
use windlass_testkit::ControlPlane;

use crate::killed::{End, Kills, Scenario, fill, one_may_go, play, pods_run, protect_all_but_one, scale};
use crate::lab::{Lab, instance_type};
use crate::trap::Side;

/// Four nodes with a pod of one and a half cores each, where each has room for two.
struct FourToTwo;

impl Scenario for FourToTwo {
    async fn prepare(&self, lab: &mut Lab) {
        (lab.settings.plan.moves_apart, lab.settings.plan.start_up) = (Duration::ZERO, Duration::ZERO);
        lab.plain_provider(&json!({"bootDelay": "0s"})).await;
        protect_all_but_one(lab, "web", 4).await;
    }

    async fn build(&self, lab: &Lab) {
        half_empty(lab).await;
    }

    async fn begin(&self, lab: &Lab) -> Vec<String> {
        lab.pool("pool", &thrifty()).await;
        Vec::new()
    }

    fn end(&self) -> End {
        End { types: vec!["four"; 2], pods: 4 }
    }
}

/// The same, where all four could be replaced by one machine that costs less than two of them.
struct FourToOneNew;

impl Scenario for FourToOneNew {
    async fn prepare(&self, lab: &mut Lab) {
        (lab.settings.plan.moves_apart, lab.settings.plan.start_up) = (Duration::ZERO, Duration::ZERO);
        let types =
            [instance_type("four", 4, "0.10", &json!({})), instance_type("eight", 8, "0.15", &json!({}))];
        lab.provider(&json!({"bootDelay": "0s", "instanceTypes": types})).await;
        protect_all_but_one(lab, "web", 4).await;
    }

    async fn build(&self, lab: &Lab) {
        half_empty(lab).await;
    }

    async fn begin(&self, lab: &Lab) -> Vec<String> {
        lab.pool("pool", &thrifty()).await;
        Vec::new()
    }

    fn end(&self) -> End {
        End { types: vec!["eight"], pods: 4 }
    }
}

fn thrifty() -> Value {
    json!({"disruption": {"consolidationPolicy": "WhenEmptyOrUnderutilized", "budgets": []}})
}

async fn half_empty(lab: &Lab) {
    let only = json!([{"key": labels::INSTANCE_TYPE, "operator": "In", "values": ["four"]}]);
    let still = json!({"consolidationPolicy": "WhenEmpty"});
    fill(lab, 4, &json!({"template": {"spec": {"requirements": only}}, "disruption": still})).await;
    scale(lab, "filler", 0, "2500m").await;
    pods_run(lab, 4).await;
    one_may_go(lab, "web").await;
}

pub async fn a_controller_killed_before_any_effect_of_a_consolidation_ends_it_all_the_same(
    plane: Arc<ControlPlane>,
) {
    play(plane, "cut-before", FourToTwo, Kills::Once { side: Side::Before, first: 1, step: 5 }, 4).await;
}

pub async fn a_controller_killed_after_any_effect_of_a_consolidation_ends_it_all_the_same(
    plane: Arc<ControlPlane>,
) {
    play(plane, "cut-after", FourToTwo, Kills::Once { side: Side::After, first: 3, step: 5 }, 4).await;
}

pub async fn a_controller_killed_before_any_effect_of_a_replacement_by_a_cheaper_node_ends_it_all_the_same(
    plane: Arc<ControlPlane>,
) {
    play(plane, "swap-before", FourToOneNew, Kills::Once { side: Side::Before, first: 2, step: 11 }, 5).await;
}

pub async fn a_controller_killed_after_any_effect_of_a_replacement_by_a_cheaper_node_ends_it_all_the_same(
    plane: Arc<ControlPlane>,
) {
    play(plane, "swap-after", FourToOneNew, Kills::Once { side: Side::After, first: 5, step: 11 }, 5).await;
}

pub async fn a_controller_that_dies_all_the_time_still_gets_through_a_replacement_by_a_cheaper_node(
    plane: Arc<ControlPlane>,
) {
    play(plane, "swap-always", FourToOneNew, Kills::AllTheTime { most: 12 }, 6).await;
}
