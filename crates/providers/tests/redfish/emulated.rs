//! What a host goes through with an emulator.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::routing::put;
use futures::future::join_all;
use kube::Client;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use windlass_providers::redfish::Pace;
use windlass_providers::{ErrorKind, MachineState, MachineTag, Provider, Termination};
use windlass_testkit::{ControlPlane, eventually};

use crate::lab::{Lab, PASSWORD, PATIENCE, available, end, launch, make_node, request, state};
use crate::sushy::Sushy;

/// Where power changes are announced: a host that goes on becomes a node.
async fn nodes_of_hosts(client: Client) -> String {
    let joins = put(async move |body: Bytes| {
        let system: Value = serde_json::from_slice(&body).unwrap();
        if system["power_state"] == "On" {
            make_node(&client, system["name"].as_str().unwrap()).await;
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = axum::Router::new().route("/", joins);
    // It ends with the test's runtime.
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    format!("http://{address}/")
}

async fn sushy(plane: &ControlPlane, hosts: &[&str]) -> Option<Sushy> {
    Sushy::start(hosts, &nodes_of_hosts(plane.client().unwrap()).await).await
}

pub async fn a_host_is_powered_on_becomes_a_node_and_is_powered_off(plane: Arc<ControlPlane>) {
    let Some(sushy) = sushy(&plane, &["life-1", "life-2", "life-3"]).await else { return };
    let lab = Lab::new(&plane, "life", sushy.spec()).await;
    let provider = lab.provider();
    let inventory = provider.inventory().await.unwrap();
    assert_eq!(inventory.version.as_deref(), Some("Redfish 1.5.0"));
    assert_eq!(inventory.hosts.len(), 3);
    assert_eq!(inventory.hosts[0].free.to_string(), "cpu 16, memory 64Gi, pods 110");
    assert_eq!(available(&*provider).await, [("rack-a".to_owned(), 3)]);

    let request = lab.request("web").await;
    let machine = launch(&*provider, &request).await;
    assert_eq!(&*machine.provider_id, "redfish://life/life-1/uid-of-web");
    assert_eq!((&machine.tag, &machine.offering), (&request.tag, &request.offering));
    assert_eq!(machine.node_name.as_deref(), Some("life-1"));
    assert_eq!(machine.allocatable.to_string(), "cpu 15900m, memory 60Gi, pods 110");
    assert_eq!(machine.price.to_string(), "0.35");
    assert_eq!(machine.labels.get("topology.kubernetes.io/zone").unwrap().as_ref(), "rack-a");
    assert_eq!(provider.list().await, Ok(vec![machine.clone()]));
    assert_eq!(provider.get(&machine.provider_id).await, Ok(machine.clone()));
    assert_eq!(launch(&*lab.provider(), &request).await, machine, "asked again, by another process");
    assert_eq!(available(&*provider).await, [("rack-a".to_owned(), 2)]);
    assert_eq!(state(&*provider, "life-1").await.0, "InUse");

    for wrong in [
        MachineTag { claim_name: "x".into(), ..request.tag.clone() },
        MachineTag { pool: "x".into(), ..request.tag.clone() },
        MachineTag { cluster_id: "x".into(), ..request.tag.clone() },
    ] {
        let answer = provider.terminate(&machine.provider_id, &wrong).await;
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::NotOurs, "{wrong:?}");
    }
    assert_eq!(provider.terminate(&machine.provider_id, &machine.tag).await, Ok(Termination::UnderWay));
    assert_eq!(provider.list().await.unwrap()[0].state, MachineState::Terminating);
    end(&*provider, &machine).await;
    assert_eq!(provider.list().await, Ok(vec![]));
    assert_eq!(provider.get(&machine.provider_id).await.unwrap_err().kind(), ErrorKind::NotFound);

    let (state_before, why) = state(&*provider, "life-1").await;
    assert_eq!((&*state_before, why.contains("node life-1")), ("Foreign", true), "{why}");
    lab.delete_node("life-1").await;
    assert_eq!(state(&*provider, "life-1").await.0, "Free");
}

pub async fn claims_beyond_the_number_of_hosts_have_no_capacity(plane: Arc<ControlPlane>) {
    let Some(sushy) = sushy(&plane, &["full-1", "full-2", "full-3"]).await else { return };
    let lab = Lab::new(&plane, "full", sushy.spec()).await;
    let providers = [lab.provider(), lab.provider()];
    let offering = lab.offering().await;
    let launches = (0..4).map(|number| {
        let request = request(offering.clone(), &format!("web-{number}"));
        let provider = Arc::clone(&providers[number % 2]);
        async move { provider.launch(&request).await }
    });
    let (had, refused): (Vec<_>, Vec<_>) = join_all(launches).await.into_iter().partition(Result::is_ok);
    let mut hosts: Vec<String> =
        had.iter().map(|had| had.as_ref().unwrap().node_name.clone().unwrap().to_string()).collect();
    hosts.sort();
    assert_eq!(hosts, ["full-1", "full-2", "full-3"], "{refused:?}");
    let error = refused.into_iter().next().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InsufficientCapacity, "{error}");
    let words = error.to_string();
    assert!(
        words.contains("none of the 3 hosts") && words.contains("full-2 is InUse: claim web-"),
        "{words}"
    );
    join_all(had.iter().map(|had| end(&*providers[0], had.as_ref().unwrap()))).await;
    assert_eq!(lab.ledger().await, json!({}));
}

pub async fn a_password_that_is_wrong_is_said_and_a_new_one_is_used(plane: Arc<ControlPlane>) {
    let Some(sushy) = sushy(&plane, &["login-1"]).await else { return };
    let lab = Lab::new(&plane, "login", sushy.spec()).await;
    let request = lab.request("web").await;
    let provider = lab.provider();
    assert_eq!(state(&*provider, "login-1").await.0, "Free");
    // With the next look, which is by a provider that has read nothing.
    lab.write_secret("canary-of-an-old-password").await;
    let provider = lab.provider();
    let (state_with_old, why) = state(&*provider, "login-1").await;
    assert_eq!(state_with_old, "Unauthorized", "{why}");
    assert!(why.contains("Secret bmc") && !why.contains("canary"), "{why}");
    let error = provider.launch(&request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
    assert_eq!(available(&*provider).await, [("rack-a".to_owned(), 0)]);
    lab.write_secret(PASSWORD).await;
    assert_eq!(state(&*provider, "login-1").await.0, "Free", "without being built anew");
    let mut other = lab;
    other.spec["tls"]["fingerprint"] = json!("00".repeat(32));
    let (state_of_stranger, why) = state(&*other.provider(), "login-1").await;
    assert_eq!(state_of_stranger, "Unauthorized", "{why}");
    assert!(why.contains(&sushy.fingerprint), "{why}");
}

pub async fn a_system_that_the_bmc_does_not_have_is_named(plane: Arc<ControlPlane>) {
    let Some(sushy) = sushy(&plane, &["named-1", "named-22"]).await else { return };
    let mut lab = Lab::new(&plane, "named", sushy.spec()).await;
    lab.spec["hosts"][0]["systemID"] = json!("no-such-system");
    let provider = lab.provider();
    let (found, why) = state(&*provider, "named-1").await;
    assert_eq!(found, "Misconfigured", "{why}");
    assert!(why.contains("no system no-such-system") && why.contains("00000000-0000-4000-8000-"), "{why}");
    lab.spec["hosts"][0].as_object_mut().unwrap().remove("systemID");
    let (found, why) = state(&*lab.provider(), "named-1").await;
    assert_eq!(found, "Misconfigured", "{why}");
    assert!(why.contains("2 systems") && why.contains("name one in systemID"), "{why}");
    assert_eq!(state(&*provider, "named-22").await.0, "Free", "the other is not affected");
}

pub async fn a_bmc_that_stops_answering_takes_nothing_away(plane: Arc<ControlPlane>) {
    let Some(mut sushy) = sushy(&plane, &["frozen-1", "frozen-22"]).await else { return };
    let mut lab = Lab::new(&plane, "frozen", sushy.spec()).await;
    let machine = launch(&*lab.provider(), &lab.request("web").await).await;
    let second = lab.request("second").await;
    lab.pace =
        Pace { wait: Duration::ZERO, call: Duration::from_secs(1), look: Duration::from_secs(2), ..lab.pace };
    let provider = lab.provider();
    assert_eq!(available(&*provider).await, [("rack-a".to_owned(), 1)]);
    sushy.process.freeze().unwrap();
    assert_eq!(provider.list().await, Ok(vec![machine.clone()]));
    assert_eq!(provider.get(&machine.provider_id).await, Ok(machine.clone()));
    let error = provider.terminate(&machine.provider_id, &machine.tag).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transient, "{error}");
    let error = provider.launch(&second).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InsufficientCapacity, "{error}");
    assert!(error.to_string().contains("frozen-22 is Unreachable"), "{error}");
    assert_eq!(available(&*provider).await, [("rack-a".to_owned(), 0)]);
    assert_eq!(provider.list().await.unwrap().len(), 1, "it is still there");
    sushy.process.thaw().unwrap();
    eventually("the other host to be free", PATIENCE, async || {
        let found = available(&*provider).await;
        if found == [("rack-a".to_owned(), 1)] { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
    end(&*provider, &machine).await;
}
