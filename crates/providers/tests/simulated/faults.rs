//! What the specified faults do.

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use serde_json::{Value, json};
use windlass_providers::{ErrorKind, Provider, Termination};
use windlass_testkit::{ControlPlane, eventually};

use crate::lab::{Lab, PATIENCE, node_name, request, request_in};

fn lab(plane: &ControlPlane, name: &str, fault: &Value) -> Lab {
    Lab::new(plane, name).with("faults", json!([fault]))
}

pub async fn an_error_has_no_effect(plane: Arc<ControlPlane>) {
    let fault = json!({"effect": "Error", "error": "Quota", "calls": ["Launch"], "zones": ["zone-a"]});
    let provider = lab(&plane, "fault-error", &fault).provider();
    let error = provider.launch(&request("web")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Quota);
    assert!(error.to_string().contains("simulated fault"), "{error}");
    assert_eq!(provider.list().await, Ok(vec![]));
    provider.launch(&request_in("zone-b", "web")).await.unwrap();
}

pub async fn an_error_after_the_effect_leaves_the_machine_there(plane: Arc<ControlPlane>) {
    let fault = json!({"effect": "ErrorAfterEffect", "error": "Transient", "calls": ["Launch", "Terminate"]});
    let provider = lab(&plane, "fault-late-error", &fault).provider();
    assert_eq!(provider.launch(&request("web")).await.unwrap_err().kind(), ErrorKind::Transient);
    let machines = provider.list().await.unwrap();
    assert_eq!(machines.len(), 1);
    let answer = provider.terminate(&machines[0].provider_id, &machines[0].tag).await;
    assert_eq!(answer.unwrap_err().kind(), ErrorKind::Transient);
    assert_eq!(provider.list().await, Ok(vec![]));
}

pub async fn a_slow_answer_comes_after_the_effect(plane: Arc<ControlPlane>) {
    let fault = json!({"effect": "SlowAnswer", "after": "Never", "calls": ["Launch"]});
    let provider = lab(&plane, "fault-slow", &fault).provider();
    let request = request("web");
    let effect = eventually("the machine, before the answer", PATIENCE, async || {
        provider.list().await.ok().filter(|machines| !machines.is_empty())
    });
    tokio::select! {
        answer = provider.launch(&request) => unreachable!("{answer:?}"),
        machines = effect => assert_eq!(machines[0].tag, request.tag),
    }
}

pub async fn a_duplicated_launch_gives_one_machine_that_lists_name_twice(plane: Arc<ControlPlane>) {
    let lab = lab(&plane, "fault-duplicate", &json!({"effect": "DuplicateAnswer"}));
    let provider = lab.provider();
    let machine = provider.launch(&request("web")).await.unwrap();
    assert_eq!(provider.list().await, Ok(vec![machine.clone(), machine.clone()]));
    assert_eq!(provider.terminate(&machine.provider_id, &machine.tag).await, Ok(Termination::Gone));
    assert_eq!(provider.list().await, Ok(vec![]));
}

pub async fn a_machine_that_never_registers_stays_a_machine(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "fault-never")
        .with("faults", json!([{"effect": "NeverRegister", "zones": ["zone-a"]}]));
    let provider = lab.provider();
    let _running = Lab::run(&provider);
    let never = provider.launch(&request("never")).await.unwrap();
    let other = provider.launch(&request_in("zone-b", "other")).await.unwrap();
    lab.ready_is(&other, "True").await;
    assert!(lab.nodes.get_opt(node_name(&never)).await.unwrap().is_none());
    assert_eq!(provider.get(&never.provider_id).await, Ok(never));
}

pub async fn a_node_turns_not_ready_and_stays_so(plane: Arc<ControlPlane>) {
    let lab = lab(&plane, "fault-not-ready", &json!({"effect": "NotReady", "after": "1h"}));
    let provider = lab.provider();
    let _running = Lab::run(&provider);
    let machine = provider.launch(&request("web")).await.unwrap();
    lab.ready_is(&machine, "True").await;
    lab.registered(&machine).await;

    lab.clock.advance(Duration::from_hours(1));
    let other = provider.launch(&request("other")).await.unwrap();
    lab.ready_is(&machine, "False").await;
    lab.ready_is(&other, "True").await;
    let node = lab.ready_is(&machine, "False").await;
    assert!(!node.annotations().contains_key("kwok.x-k8s.io/node"));
    assert_eq!(provider.get(&machine.provider_id).await, Ok(machine));
}

pub async fn a_vanished_machine_is_gone_and_its_node_falls_silent(plane: Arc<ControlPlane>) {
    let lab = lab(&plane, "fault-vanish", &json!({"effect": "Vanish", "after": "1h"}));
    let provider = lab.provider();
    let _running = Lab::run(&provider);
    let machine = provider.launch(&request("web")).await.unwrap();
    lab.ready_is(&machine, "True").await;
    lab.registered(&machine).await;

    lab.clock.advance(Duration::from_hours(1));
    let other = provider.launch(&request("other")).await.unwrap();
    lab.ready_is(&machine, "Unknown").await;
    lab.ready_is(&other, "True").await;
    assert_eq!(provider.list().await, Ok(vec![other]));
}
