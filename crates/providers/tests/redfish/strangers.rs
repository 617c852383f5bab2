//! Hosts that others use are left alone.

use std::sync::Arc;

use kube::api::{ListParams, PostParams};
use serde_json::json;
use windlass_providers::{ErrorKind, Provider};
use windlass_testkit::ControlPlane;

use crate::bmc::Bmc;
use crate::lab::{Lab, available, end, launch, state};

pub async fn a_host_that_somebody_else_has_powered_on_is_never_taken(plane: Arc<ControlPlane>) {
    let bmc = Bmc::start(&["foreign-a", "foreign-b"]).await;
    let lab = Lab::new(&plane, "foreign", bmc.spec()).await;
    let provider = lab.provider();
    let request = lab.request("web").await;
    assert_eq!(available(&*provider).await, [("default".to_owned(), 2)]);
    // Since it was last looked at.
    bmc.change("foreign-a", |system| system.power = "On");
    let machine = launch(&*provider, &request).await;
    assert_eq!(machine.node_name.as_deref(), Some("foreign-b"));
    assert_eq!(bmc.state().deeds, ["On foreign-b"]);
    assert_eq!(
        state(&*provider, "foreign-a").await,
        ("Foreign".to_owned(), "somebody else has powered it on".to_owned())
    );
    assert_eq!(available(&*provider).await, [("default".to_owned(), 0)]);
    let error = provider.launch(&lab.request("other").await).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InsufficientCapacity, "{error}");
    end(&*provider, &machine).await;
    assert_eq!(bmc.on(), ["foreign-a"]);
    assert_eq!(bmc.state().systems["foreign-a"].booted, [""; 0]);
}

pub async fn a_host_whose_node_name_is_anothers_is_never_taken(plane: Arc<ControlPlane>) {
    let bmc = Bmc::start(&["name-a", "name-b"]).await;
    let lab = Lab::new(&plane, "name", bmc.spec()).await;
    let provider = lab.provider();
    let request = lab.request("web").await;
    assert_eq!(state(&*provider, "name-a").await.0, "Free");
    lab.make_node("name-a").await;
    let machine = launch(&*provider, &request).await;
    assert_eq!(machine.node_name.as_deref(), Some("name-b"));
    assert_eq!(bmc.state().deeds, ["On name-b"]);
    let (found, why) = state(&*provider, "name-a").await;
    assert_eq!(found, "Foreign");
    assert!(why.contains("node name-a that is not ours"), "{why}");
    lab.delete_node("name-a").await;
    let second = launch(&*provider, &lab.request("second").await).await;
    assert_eq!(second.node_name.as_deref(), Some("name-a"));
}

pub async fn a_host_that_leaves_the_specification_is_not_lost(plane: Arc<ControlPlane>) {
    let bmc = Bmc::start(&["leaver-a", "leaver-b"]).await;
    let mut lab = Lab::new(&plane, "leaver", bmc.spec()).await;
    let machine = launch(&*lab.provider(), &lab.request("web").await).await;
    assert_eq!(machine.node_name.as_deref(), Some("leaver-a"));
    lab.spec["hosts"].as_array_mut().unwrap().remove(0);
    let provider = lab.provider();
    let listed = provider.list().await.unwrap();
    assert_eq!(listed[0].provider_id, machine.provider_id);
    assert!(listed[0].drift.as_ref().unwrap().contains("no longer names host leaver-a"), "{listed:?}");
    assert_eq!(state(&*provider, "leaver-a").await.0, "InUse");
    end(&*provider, &machine).await;
    assert_eq!((bmc.on(), lab.ledger().await), (vec![], json!({})));
    let inventory = provider.inventory().await.unwrap();
    assert_eq!(inventory.hosts.len(), 1, "{inventory:?}");
}

pub async fn a_host_that_others_power_off_stays_its_claims_and_is_reported(plane: Arc<ControlPlane>) {
    let bmc = Bmc::start(&["off"]).await;
    let mut lab = Lab::new(&plane, "off", bmc.spec()).await;
    let machine = launch(&*lab.provider(), &lab.request("web").await).await;
    lab.spec["powerTimeout"] = json!("0s");
    let provider = lab.provider();
    assert_eq!(available(&*provider).await, [("default".to_owned(), 0)]);
    assert_eq!(provider.list().await.unwrap()[0].drift, None);
    bmc.change("off", |system| system.power = "Off");
    assert_eq!(available(&*provider).await, [("default".to_owned(), 0)]);
    let listed = provider.list().await.unwrap();
    assert_eq!(listed[0].drift.as_deref(), Some("somebody has powered off host off"));
    let (found, why) = state(&*provider, "off").await;
    assert_eq!((&*found, why.contains("somebody has powered off")), ("InUse", true), "{why}");
    bmc.change("off", |system| system.power = "On");
    available(&*provider).await;
    assert_eq!(provider.list().await.unwrap()[0].drift, None, "and takes that back");
    end(&*provider, &machine).await;
}

pub async fn a_ledger_that_cannot_be_read_hides_no_machines_and_frees_no_hosts(plane: Arc<ControlPlane>) {
    let bmc = Bmc::start(&["torn-a", "torn-b"]).await;
    let lab = Lab::new(&plane, "torn", bmc.spec()).await;
    let request = lab.request("web").await;
    launch(&*lab.provider(), &request).await;
    let ledgers = lab.ledgers().list(&ListParams::default()).await.unwrap();
    let mut ledger = ledgers.items.into_iter().find(|found| found.metadata.labels.is_some()).unwrap();
    ledger.data.as_mut().unwrap().insert("torn-a".to_owned(), "{\"hold\": 7}".to_owned());
    let name = ledger.metadata.name.clone().unwrap();
    lab.ledgers().replace(&name, &PostParams::default(), &ledger).await.unwrap();
    let provider = lab.provider();
    for error in [
        provider.list().await.unwrap_err(),
        provider.launch(&request).await.unwrap_err(),
        provider.instance_types().await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Transient, "{error}");
        assert!(error.to_string().contains(&format!("host torn-a in ConfigMap {name}")), "{error}");
    }
    assert_eq!(bmc.state().deeds, ["On torn-a"]);
}
