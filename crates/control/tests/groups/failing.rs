//! Machines that do not come.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use windlass_api::conditions;
use windlass_control::groups::{InstanceState, NodeGroups as _};
use windlass_testkit::{ControlPlane, eventually};

use crate::hands::at_work_for;
use crate::lab::{PATIENCE, reason};
use crate::station::{A_WHILE, Station};
use crate::steps::calm_lab;

async fn with_failing_launches(
    plane: Arc<ControlPlane>,
    name: &str,
    error: &str,
    shown: Duration,
) -> Station {
    let mut lab = calm_lab(plane, name).await;
    lab.settings.failure_shown = shown;
    let fault = json!({"effect": "Error", "calls": ["Launch"], "error": error});
    Station::with(lab, &json!({"faults": [fault]}), &json!({})).await
}

pub async fn a_launch_without_capacity_is_shown_until_it_is_given_back(plane: Arc<ControlPlane>) {
    let station = with_failing_launches(plane, "nocapacity", "InsufficientCapacity", PATIENCE).await;
    station.increase(1).await.unwrap();
    let failed = station.failed().await;
    let error = failed.error.unwrap();
    assert_eq!((failed.state, error.code.as_str()), (InstanceState::Creating, "InsufficientCapacity"));
    assert!(error.out_of_resources && error.message.contains("simulated fault"), "{error:?}");
    assert!(failed.id.starts_with("windlass://claim/"), "{}", failed.id);
    at_work_for(&station.lab, A_WHILE).await;
    assert_eq!((station.target(), station.lab.claims().await.len()), (1, 1), "it waits to be seen");
    station.give_back(&failed.id).await.unwrap();
    assert_eq!(station.target(), 0);
    station.lab.everything_is_gone().await;
    assert!(station.instances().is_empty());
    // Nothing is left of it: the next one is tried.
    station.lab.plain_provider(&json!({"bootDelay": "0s"})).await;
    station.groups_are_there().await;
    station.increase(1).await.unwrap();
    station.nodes_run(1).await;
    station.finish().await;
}

pub async fn a_launch_that_makes_no_sense_is_shown_as_another_error(plane: Arc<ControlPlane>) {
    let station = with_failing_launches(plane, "senseless", "InvalidConfiguration", PATIENCE).await;
    station.increase(1).await.unwrap();
    let error = station.failed().await.error.unwrap();
    assert_eq!((error.code.as_str(), error.out_of_resources), ("InvalidConfiguration", false));
    station.groups().decrease_target(&station.four(), 1).await.unwrap();
    assert_eq!(station.target(), 0);
    station.lab.everything_is_gone().await;
    station.finish().await;
}

pub async fn what_failed_goes_by_itself_in_the_end(plane: Arc<ControlPlane>) {
    let station = with_failing_launches(plane, "unseen", "Quota", Duration::from_secs(3)).await;
    station.increase(1).await.unwrap();
    let error = station.failed().await.error.unwrap();
    assert_eq!((error.code.as_str(), error.out_of_resources), ("Quota", true));
    station.lab.everything_is_gone().await;
    assert_eq!(station.target(), 0);
    station.finish().await;
}

pub async fn a_machine_that_never_joins_is_shown_and_can_be_given_back(plane: Arc<ControlPlane>) {
    let mut lab = calm_lab(plane, "neverjoins").await;
    lab.settings.registration_deadline = Duration::from_secs(3);
    let faults = json!({"faults": [{"effect": "NeverRegister"}]});
    let station = Station::with(lab, &faults, &json!({})).await;
    station.increase(1).await.unwrap();
    let launched = eventually("the machine is launched", PATIENCE, async || {
        let instances = station.instances();
        instances.into_iter().find(|instance| instance.id.starts_with("simulated://"))
    })
    .await;
    assert_eq!((launched.state, launched.error), (InstanceState::Creating, None));
    let failed = station.failed().await;
    let error = failed.error.unwrap();
    assert_eq!((failed.id.as_str(), error.code.as_str()), (launched.id.as_str(), "RegistrationTimeout"));
    assert!(!error.out_of_resources);
    let claims = station.lab.claims().await;
    assert!(reason(&claims[0], conditions::REGISTERED).unwrap().1.contains("did not become a node"));
    station.give_back(&failed.id).await.unwrap();
    station.lab.everything_is_gone().await;
    station.finish().await;
}
