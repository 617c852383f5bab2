//! The controller is killed at any step by which a machine is told how to join and its node is known by name.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt};
use serde_json::json;
use windlass_api::labels;
use windlass_control::joining::JoinSettings;
use windlass_testkit::invariants::{Invariant, Kind, ObjectName};
use windlass_testkit::{ControlPlane, eventually};

use crate::faults::Faults;
use crate::kubelets::{Named, boots, join, node_name, silent};
use crate::lab::{Lab, PATIENCE, Running};
use crate::steps::calm_lab;
use crate::trap::{Side, Trap};
use crate::twist::twisted;

async fn prepared(plane: Arc<ControlPlane>, name: &str) -> Lab {
    let mut lab = calm_lab(plane, name).await;
    let given = JoinSettings { api_server: Some(lab.plane.url().into()), ..JoinSettings::default() };
    lab.settings.joining = given.reached_by(&lab.plane.config(), None);
    lab.plain_provider(&silent()).await;
    let told = json!({"spec": {"join": "UserData", "userData": "{{windlass.token}}"}});
    lab.pool("pool", &json!({"template": told, "disruption": {"consolidateAfter": "0s"}})).await;
    // Each of many processes and lives says a few things about the pool, and that is no storm.
    lab.watcher().excuse(Invariant::NoWriteStorm, ObjectName::new(Kind::NodePool, lab.named("pool")));
    lab
}

fn start(lab: &Lab, faults: &Faults, provider: &Arc<Named>) -> Running {
    lab.spawn(lab.settings.clone(), faults.around(lab.controller_client()), twisted(provider))
}

/// Boots every machine there is, for ever.
async fn boot_all(lab: &Lab) {
    let mut booted: Vec<String> = Vec::new();
    let mut look = tokio::time::interval(Duration::from_millis(100));
    loop {
        look.tick().await;
        for machine in lab.machines().await {
            let name = machine.name_any();
            if !booted.contains(&name) {
                boots(&machine).await;
                join(lab, &node_name(&name)).await;
                booted.push(name);
            }
        }
    }
}

async fn tokens(lab: &Lab) -> Vec<String> {
    let api: Api<Secret> = Api::namespaced(lab.client.clone(), "kube-system");
    let ours = ListParams::default().labels(&format!("{}={}", labels::CLUSTER_ID, lab.settings.cluster_id));
    api.list(&ours).await.unwrap().iter().map(ResourceExt::name_any).collect()
}

/// One pod comes, is run, and goes again. All launches of its machine are told the same, and nothing of it is left.
async fn life(lab: &Lab, provider: &Named, pod: &str) {
    lab.create_pod(lab.pod(pod, "3")).await;
    lab.all_pods_run().await;
    let claim = lab.ready_claims(1).await.remove(0);
    assert_eq!((lab.machines().await.len(), lab.nodes().await.len()), (1, 1));
    let node = lab.nodes().await.remove(0);
    assert_eq!(node.spec.unwrap().provider_id, claim.status.unwrap().provider_id);
    eventually("the token to be deleted", PATIENCE, async || {
        let left = tokens(lab).await;
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
    let told: Vec<_> = provider.requests().drain(..).map(|request| request.join.unwrap()).collect();
    assert!(told.iter().all(|join| *join == told[0]), "it was told something else each time");
    lab.pod_api().delete(pod, &DeleteParams::default().grace_period(0)).await.unwrap();
    lab.everything_is_gone().await;
    assert_eq!(tokens(lab).await, Vec::<String>::new());
}

async fn crash_at_each(plane: Arc<ControlPlane>, name: &str, first: usize, side: Side) {
    let lab = prepared(plane, name).await;
    let provider = Arc::new(Named::default());
    let lives = async {
        let mut at = first;
        loop {
            let (faults, trap) = (Faults::default(), Trap::default());
            trap.set(&faults, at, side);
            let mut running = start(&lab, &faults, &provider);
            let pod = format!("p-{at}");
            let crashed = {
                let mut whole_life = std::pin::pin!(life(&lab, &provider, &pod));
                tokio::select! {
                    () = &mut whole_life => false,
                    () = trap.sprung.notified() => {
                        running.crash().await;
                        faults.heal();
                        running = start(&lab, &faults, &provider);
                        whole_life.await;
                        true
                    }
                }
            };
            running.crash().await;
            if !crashed {
                return at;
            }
            at += 2;
        }
    };
    let at = tokio::select! {
        at = lives => at,
        () = boot_all(&lab) => 0,
    };
    assert!(at > 18, "a life has more effects than {at}");
    lab.finish().await;
}

pub async fn a_crash_before_any_odd_effect_leaves_no_token_behind_and_takes_no_second_node(
    plane: Arc<ControlPlane>,
) {
    crash_at_each(plane, "told-odd-before", 1, Side::Before).await;
}

pub async fn a_crash_between_any_odd_effect_and_its_answer_leaves_no_token_behind_and_takes_no_second_node(
    plane: Arc<ControlPlane>,
) {
    crash_at_each(plane, "told-odd-after", 1, Side::After).await;
}

pub async fn a_crash_between_any_even_effect_and_its_answer_leaves_no_token_behind_and_takes_no_second_node(
    plane: Arc<ControlPlane>,
) {
    crash_at_each(plane, "told-even-after", 2, Side::After).await;
}
