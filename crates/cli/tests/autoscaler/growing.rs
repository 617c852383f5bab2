use std::sync::Arc;

use serde_json::json;
use windlass_testkit::objects::PodBuilder;
use windlass_testkit::{ControlPlane, eventually};

use crate::stage::PATIENCE;
use crate::windlass::Dice;
use crate::yard::Yard;

pub async fn nodes_are_spread_evenly_over_zones(plane: Arc<ControlPlane>) {
    let zones = ["zone-a", "zone-b", "zone-c"].map(|zone| json!({"zone": zone, "price": "0.10"}));
    let kind = json!({"name": "four", "capacity": {"cpu": 4, "memory": "16Gi"}, "offerings": zones});
    let yard = Yard::new(plane, "zones", &json!({"instanceTypes": [kind]}), &json!({})).await;
    yard.stage.pods(0..6).await;
    let balance = ["--balance-similar-node-groups", "--balancing-ignore-label=windlass.dev/group"];
    let autoscaler = yard.driven(&balance).await;
    let each = |count| ["zone-a", "zone-b", "zone-c"].map(|zone| ("four", zone, count));
    yard.has(&each(2)).await;
    yard.stage.grown(6).await;

    // Now that there are nodes, these are compared and not what new ones would be.
    yard.stage.pods(6..9).await;
    yard.has(&each(3)).await;
    yard.stage.grown(9).await;
    yard.finish(autoscaler).await;
}

pub async fn a_minimum_is_reached_and_kept(plane: Arc<ControlPlane>) {
    let yard = Yard::new(plane, "least", &json!({}), &json!({"minNodes": 2})).await;
    let autoscaler = yard.driven(&["--enforce-node-group-min-size"]).await;
    yard.has(&[("four", "zone-a", 2)]).await;
    yard.stage.pods(0..3).await;
    yard.stage.grown(3).await;
    yard.stage.delete_pods(0..3).await;
    yard.has(&[("four", "zone-a", 2)]).await;
    let words = "min size reached";
    eventually("Cluster Autoscaler says why the others stay", PATIENCE, async || {
        autoscaler.log().contains(words).then_some(())
    })
    .await;
    yard.has(&[("four", "zone-a", 2)]).await;
    yard.finish(autoscaler).await;
}

pub async fn pods_that_ask_for_gpus_get_machines_that_have_them(plane: Arc<ControlPlane>) {
    let kinds = json!([
        crate::yard::machine("plain", 4, "0.10"),
        {
            "name": "fast", "capacity": {"cpu": 4, "memory": "16Gi", "nvidia.com/gpu": 2},
            "offerings": [{"zone": "zone-a", "price": "2.00"}],
        },
    ]);
    let yard = Yard::new(plane, "gpus", &json!({"instanceTypes": kinds}), &json!({})).await;
    let autoscaler = yard.driven(&["--expander=price"]).await;
    for name in ["p-0", "p-1"] {
        yard.pod(PodBuilder::new(name).cpu("1").resource("nvidia.com/gpu", "1")).await;
    }
    yard.has(&[("fast", "zone-a", 1)]).await;
    yard.pod(PodBuilder::new("p-2").cpu("3")).await;
    yard.has(&[("fast", "zone-a", 1), ("plain", "zone-a", 1)]).await;
    yard.stage.delete_pods(0..3).await;
    yard.stage.gone().await;
    yard.finish(autoscaler).await;
}

pub async fn a_windlass_killed_while_cluster_autoscaler_grows_a_group_makes_each_machine_once(
    plane: Arc<ControlPlane>,
) {
    let mut yard = Yard::new(plane, "killed", &json!({"bootDelay": "3s"}), &json!({})).await;
    let autoscaler = yard.driven(&[]).await;
    let mut dice = Dice::new(6);
    for round in 0..3 {
        yard.stage.pods(round * 3..round * 3 + 3).await;
        eventually("a claim is made for the new pods", PATIENCE, async || {
            let claims = yard.stage.claims().await?.len();
            if claims > round * 3 { Ok(()) } else { Err(crate::sights::Instead(claims.to_string())) }
        })
        .await;
        dice.moment(0..1500).await;
        yard.windlass.restart().await;
        yard.stage.grown(round * 3 + 3).await;
        let targets = yard.targets().await.unwrap();
        assert_eq!(targets.values().sum::<i32>(), i32::try_from(round * 3 + 3).unwrap(), "{targets:?}");
    }
    yard.stage.delete_pods(0..9).await;
    yard.stage.gone().await;
    yard.finish(autoscaler).await;
}
