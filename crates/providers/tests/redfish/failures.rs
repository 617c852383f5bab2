//! Hosts that do not do as they are told.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use windlass_providers::redfish::Pace;
use windlass_providers::{ErrorKind, MachineState, Provider, Termination};
use windlass_testkit::{ControlPlane, eventually};

use crate::bmc::Bmc;
use crate::lab::{Lab, PATIENCE, available, end, launch, state};

pub async fn a_host_that_does_not_go_on_is_quarantined_and_another_is_taken(plane: Arc<ControlPlane>) {
    let bmc = Bmc::start(&["dead-a", "dead-b"]).await;
    bmc.change("dead-a", |system| system.inertia = usize::MAX);
    let mut lab = Lab::new(&plane, "dead", bmc.spec()).await;
    lab.pace = Pace { wait: Duration::ZERO, ..lab.pace };
    let provider = lab.provider();
    let request = lab.request("web").await;
    let error = provider.launch(&request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transient, "{error}");
    assert!(error.to_string().contains("host dead-a was told to be on"), "{error}");
    lab.later(11);
    let machine = launch(&*provider, &request).await;
    assert_eq!(machine.node_name.as_deref(), Some("dead-b"));
    let listed = provider.list().await.unwrap();
    assert_eq!(listed.len(), 2);
    assert_eq!(
        (&listed[0], listed[1].state),
        (&machine, MachineState::Terminating),
        "what it has comes first"
    );
    assert_eq!(state(&*provider, "dead-a").await.0, "Leaving");

    // It goes on after all, with nobody waiting for it.
    bmc.change("dead-a", |system| system.inertia = 1);
    bmc.change("dead-a", |system| system.power = "On");
    let looking = tokio::spawn({
        let provider = Arc::clone(&provider);
        async move { provider.run().await }
    });
    eventually("the host to be quarantined", PATIENCE, async || {
        let (found, why) = state(&*provider, "dead-a").await;
        if found == "Quarantined" { Ok(()) } else { Err(format!("{found}: {why}")) }
    })
    .await;
    looking.abort();
    assert_eq!(bmc.on(), ["dead-b"]);
    let (_, why) = state(&*provider, "dead-a").await;
    assert!(why.contains("told to be on") && why.contains("it is tried again after 2026-06-01T13:"), "{why}");
    assert_eq!(available(&*provider).await, [("default".to_owned(), 0)]);
    lab.later(61);
    assert_eq!(available(&*provider).await, [("default".to_owned(), 1)]);
}

pub async fn a_host_that_never_joins_is_quarantined(plane: Arc<ControlPlane>) {
    let bmc = Bmc::start(&["mute"]).await;
    let lab = Lab::new(&plane, "mute", bmc.spec()).await;
    let provider = lab.provider();
    let request = lab.request("web").await;
    let machine = launch(&*provider, &request).await;
    end(&*provider, &machine).await;
    assert_eq!(state(&*provider, "mute").await.0, "Free", "it had no time to join");

    let machine = launch(&*provider, &request).await;
    lab.later(10);
    end(&*provider, &machine).await;
    let (found, why) = state(&*provider, "mute").await;
    assert_eq!(found, "Quarantined", "{why}");
    assert!(why.contains("node mute did not come within 600s"), "{why}");
    let error = provider.launch(&request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InsufficientCapacity, "{error}");
    assert!(error.to_string().contains("node mute did not come"), "{error}");
    lab.later(60);

    // One that has joined once has done so, even if its node is gone.
    let machine = launch(&*provider, &request).await;
    lab.make_node("mute").await;
    let looking = tokio::spawn({
        let provider = Arc::clone(&provider);
        async move { provider.run().await }
    });
    eventually("the node to be noticed", PATIENCE, async || {
        let ledger = lab.ledger().await;
        if ledger["mute"]["hold"]["joined"] == true { Ok(()) } else { Err(ledger) }
    })
    .await;
    looking.abort();
    lab.delete_node("mute").await;
    lab.later(10);
    end(&*provider, &machine).await;
    assert_eq!(state(&*provider, "mute").await.0, "Free");
}

pub async fn a_host_that_does_not_shut_down_is_powered_off_after_its_deadline(plane: Arc<ControlPlane>) {
    let bmc = Bmc::start(&["deaf"]).await;
    bmc.change("deaf", |system| system.is_deaf = true);
    let lab = Lab::new(&plane, "deaf", bmc.spec()).await;
    let machine = launch(&*lab.provider(), &lab.request("web").await).await;
    let provider = lab.provider();
    for _ in 0..3 {
        let answer = provider.terminate(&machine.provider_id, &machine.tag).await;
        assert_eq!(answer, Ok(Termination::UnderWay));
    }
    assert_eq!(bmc.state().deeds, ["On deaf", "GracefulShutdown deaf"], "it is asked once");
    lab.later(3);
    // By a process that knows of it from the ledger alone.
    end(&*lab.provider(), &machine).await;
    assert_eq!(bmc.state().deeds, ["On deaf", "GracefulShutdown deaf", "ForceOff deaf"]);
}

pub async fn a_host_that_may_yet_go_on_is_not_taken_for_off(plane: Arc<ControlPlane>) {
    let bmc = Bmc::start(&["early"]).await;
    bmc.change("early", |system| system.inertia = 10);
    let mut lab = Lab::new(&plane, "early", bmc.spec()).await;
    lab.pace = Pace { wait: Duration::ZERO, ..lab.pace };
    let provider = lab.provider();
    let request = lab.request("web").await;
    provider.launch(&request).await.unwrap_err();
    let machine = provider.list().await.unwrap().remove(0);
    assert_eq!(provider.terminate(&machine.provider_id, &machine.tag).await, Ok(Termination::UnderWay));
    assert_eq!(bmc.state().systems["early"].power, "Off");
    bmc.change("early", |system| system.inertia = 1);
    end(&*provider, &machine).await;
    assert_eq!(bmc.state().deeds, ["On early", "GracefulShutdown early"]);
    assert_eq!(bmc.on(), [""; 0]);
}

pub async fn a_host_that_is_left_on_is_restarted_for_the_next_claim(plane: Arc<ControlPlane>) {
    let bmc = Bmc::start(&["left"]).await;
    let mut lab = Lab::new(&plane, "left", bmc.spec()).await;
    lab.spec["release"] = json!({"leaveOn": true});
    let provider = lab.provider();
    let machine = launch(&*provider, &lab.request("web").await).await;
    assert_eq!(provider.terminate(&machine.provider_id, &machine.tag).await, Ok(Termination::Gone));
    assert_eq!((bmc.on(), state(&*provider, "left").await.0), (vec!["left".to_owned()], "Free".to_owned()));
    let next = launch(&*provider, &lab.request("next").await).await;
    assert_ne!(next.provider_id, machine.provider_id);
    assert_eq!(bmc.state().deeds, ["On left", "ForceRestart left"]);
    assert_eq!(bmc.state().systems["left"].booted, ["Pxe", "Pxe"]);
}
