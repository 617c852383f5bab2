//! What BMCs do each in their own way.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use windlass_providers::redfish::Pace;
use windlass_providers::{ErrorKind, Provider};
use windlass_testkit::{ControlPlane, eventually};

use crate::bmc::{Bmc, Fault};
use crate::lab::{Lab, PATIENCE, end, launch, state};

pub async fn a_host_boots_the_network_once_in_a_session_that_is_ended(plane: Arc<ControlPlane>) {
    let bmc = Bmc::start(&["once"]).await;
    let mut lab = Lab::new(&plane, "once", bmc.spec()).await;
    lab.spec["boot"] = json!("UefiHttp");
    let provider = lab.provider();
    let types = provider.instance_types().await.unwrap();
    assert_eq!(types[0].capacity.to_string(), "cpu 64, memory 256Gi, pods 110");
    let machine = launch(&*provider, &lab.request("web").await).await;
    assert_eq!(bmc.state().systems["once"].booted, ["UefiHttp"]);
    end(&*provider, &machine).await;
    assert_eq!(bmc.state().deeds, ["On once", "GracefulShutdown once"]);
    assert_eq!(bmc.state().complaints, [""; 0]);
    drop(provider);
    eventually("the sessions to end", PATIENCE, async || {
        let open = bmc.state().sessions.len();
        if open == 0 { Ok(()) } else { Err(open) }
    })
    .await;
}

pub async fn a_session_that_has_ended_is_begun_anew(plane: Arc<ControlPlane>) {
    let bmc = Bmc::start(&["again"]).await;
    let lab = Lab::new(&plane, "again", bmc.spec()).await;
    let provider = lab.provider();
    for logins in 1..4 {
        assert_eq!(state(&*provider, "again").await.0, "Free");
        assert_eq!(bmc.state().logins, logins);
        bmc.state().sessions.clear();
    }
}

pub async fn where_there_are_no_sessions_the_password_is_shown_each_time(plane: Arc<ControlPlane>) {
    let bmc = Bmc::start(&["basic"]).await;
    bmc.state().has_sessions = false;
    let lab = Lab::new(&plane, "basic", bmc.spec()).await;
    let machine = launch(&*lab.provider(), &lab.request("web").await).await;
    end(&*lab.provider(), &machine).await;
    assert_eq!(bmc.on(), [""; 0]);
    assert_eq!(bmc.state().logins, 0);
}

pub async fn what_is_done_by_and_by_is_followed_to_its_end(plane: Arc<ControlPlane>) {
    let bmc = Bmc::start(&["task-a", "task-b"]).await;
    bmc.state().has_tasks = true;
    let lab = Lab::new(&plane, "task", bmc.spec()).await;
    let provider = lab.provider();
    let request = lab.request("web").await;
    let machine = launch(&*provider, &request).await;
    end(&*provider, &machine).await;
    bmc.state().tasks_end = "Exception";
    let error = provider.launch(&request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InsufficientCapacity, "{error}");
    assert!(
        error.to_string().contains("task-a is Quarantined") && error.to_string().contains("a fuse blew"),
        "{error}"
    );
    assert_eq!(bmc.on(), [""; 0]);
    assert_eq!(provider.list().await, Ok(vec![]));
}

pub async fn only_what_a_bmc_offers_is_asked(plane: Arc<ControlPlane>) {
    for (number, by_info) in [false, true].into_iter().enumerate() {
        let name = format!("offered-{number}");
        let bmc = Bmc::start(&[&name]).await;
        bmc.change(&name, |system| {
            (system.allowed, system.by_info) = (Some(vec!["ForceOn", "ForceOff"]), by_info);
        });
        let lab = Lab::new(&plane, &name, bmc.spec()).await;
        let machine = launch(&*lab.provider(), &lab.request("web").await).await;
        end(&*lab.provider(), &machine).await;
        assert_eq!(bmc.state().deeds, [format!("ForceOn {name}"), format!("ForceOff {name}")]);
        bmc.change(&name, |system| system.allowed = Some(vec!["Nmi"]));
        let error = lab.provider().launch(&lab.request("other").await).await.unwrap_err();
        assert!(error.to_string().contains("it offers Nmi, and not On or ForceOn"), "{error}");
        assert_eq!(bmc.state().complaints, [""; 0]);
    }
}

pub async fn a_bmc_in_trouble_keeps_nobody_from_the_other_hosts(plane: Arc<ControlPlane>) {
    let bmc = Bmc::start(&["ill-a", "ill-b"]).await;
    let mut lab = Lab::new(&plane, "ill", bmc.spec()).await;
    lab.pace = Pace { call: Duration::from_millis(500), look: Duration::from_secs(2), ..lab.pace };
    let request = lab.request("web").await;
    for (call, fault) in [
        ("look", Fault::Hangs),
        ("look", Fault::Answers(500)),
        ("look", Fault::Answers(503)),
        ("look", Fault::Answers(403)),
        ("boot", Fault::Answers(400)),
        ("boot", Fault::Answers(501)),
    ] {
        let provider = lab.provider();
        provider.instance_types().await.unwrap();
        bmc.fault(call, "ill-a", fault);
        let machine = launch(&*provider, &request).await;
        assert_eq!(machine.node_name.as_deref(), Some("ill-b"), "{call} {fault:?}");
        assert_eq!(bmc.on(), ["ill-b"], "{call} {fault:?}");
        bmc.heal();
        end(&*provider, &machine).await;
        lab.later(120);
        assert_eq!(bmc.on(), [""; 0]);
    }
}

pub async fn an_answer_that_is_lost_has_its_effect_once(plane: Arc<ControlPlane>) {
    let bmc = Bmc::start(&["lost"]).await;
    let mut lab = Lab::new(&plane, "lost", bmc.spec()).await;
    lab.pace = Pace { call: Duration::from_millis(500), wait: Duration::ZERO, ..lab.pace };
    let request = lab.request("web").await;
    for (call, fault) in
        [("boot", Fault::LosesAnswer), ("reset", Fault::LosesAnswer), ("reset", Fault::Answers(503))]
    {
        let provider = lab.provider();
        bmc.fault(call, "lost", fault);
        let error = provider.launch(&request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transient, "{call} {fault:?}: {error}");
        assert_eq!(provider.list().await.unwrap().len(), 1, "it is known whose it is");
        bmc.heal();
        lab.later(1);
        let machine = launch(&*provider, &request).await;
        assert_eq!(bmc.state().systems["lost"].booted, ["Pxe"], "{call} {fault:?}");
        bmc.fault("reset", "lost", Fault::LosesAnswer);
        _ = provider.terminate(&machine.provider_id, &machine.tag).await;
        bmc.heal();
        end(&*provider, &machine).await;
        assert_eq!(bmc.on(), [""; 0]);
        bmc.change("lost", |system| system.booted.clear());
    }
}
