//! Fewer nodes.

use std::sync::Arc;

use http::Method;
use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::json;
use tokio::sync::Notify;
use windlass_control::groups::{GroupError, InstanceState, NodeGroups as _};
use windlass_testkit::{ControlPlane, eventually};

use crate::faults::Fate;
use crate::hands::told;
use crate::lab::PATIENCE;
use crate::station::{Station, fake, real_nodes, two_kinds};
use crate::steps::calm_lab;

pub async fn nodes_that_are_given_back_go_and_lower_the_target_at_once(plane: Arc<ControlPlane>) {
    let station = Station::new(plane, "shrinks", &json!({})).await;
    station.increase(3).await.unwrap();
    station.nodes_run(3).await;
    let mut nodes = real_nodes(&station.lab).await;
    let last = nodes.pop().unwrap();
    station.groups().delete_nodes(&station.four(), &nodes).await.unwrap();
    assert_eq!(station.target(), 1);
    let going = station.instances().iter().filter(|each| each.state == InstanceState::Deleting).count();
    assert!(going <= 2, "none but these");
    station.groups().delete_nodes(&station.four(), &nodes).await.or_else(gone_meanwhile).unwrap();
    let left = station.nodes_run(1).await;
    assert_eq!((left[0].id.as_str(), station.target()), (last.provider_id.as_str(), 1));
    assert_eq!(station.lab.machines().await.len(), 1);
    station.groups().delete_nodes(&station.four(), &[last]).await.unwrap();
    station.lab.everything_is_gone().await;
    assert_eq!(station.target(), 0);
    station.finish().await;
}

/// Of a machine that is gone altogether nobody can say any more whose it was.
fn gone_meanwhile(error: GroupError) -> Result<(), GroupError> {
    if error.to_string().contains("knows no such machine") { Ok(()) } else { Err(error) }
}

pub async fn either_all_nodes_go_or_none(plane: Arc<ControlPlane>) {
    let lab = calm_lab(plane, "allornone").await;
    let kinds = json!({"instanceTypes": two_kinds()});
    let station = Station::with(lab, &kinds, &json!({})).await;
    station.increase(1).await.unwrap();
    let eight = format!("{}/eight/zone-a/on-demand", station.lab.named("pool"));
    station.groups().increase(&eight, 1).await.unwrap();
    station.lab.ready_claims(2).await;
    let all = real_nodes(&station.lab).await;
    for (group, nodes) in [
        (&eight, all.clone()),
        (&station.four(), vec![all[0].clone(), fake("aws://somebody/else")]),
        (&station.four(), vec![all[1].clone(), fake("windlass://claim/unknown")]),
    ] {
        let outcome = station.groups().delete_nodes(group, &nodes).await;
        assert!(matches!(outcome, Err(GroupError::Refused(_))), "{outcome:?}");
    }
    let nothing = station.groups().delete_nodes(&eight, &[fake("")]).await;
    assert!(matches!(nothing, Err(GroupError::Invalid(_))), "{nothing:?}");
    let claims = station.lab.ready_claims(2).await;
    assert!(claims.iter().all(|claim| claim.metadata.deletion_timestamp.is_none()));
    station.finish().await;
}

pub async fn a_pools_minimum_is_restored_once_and_kept(plane: Arc<ControlPlane>) {
    let lab = calm_lab(plane, "minimum").await;
    let kinds = json!({"instanceTypes": two_kinds()});
    let station = Station::with(lab, &kinds, &json!({"minNodes": 2})).await;
    // As Cluster Autoscaler does that is told to enforce the sizes of groups.
    let enforce = async || {
        for group in station.groups().groups().unwrap() {
            let lacks = group.min.saturating_sub(station.groups().target_size(&group.id).unwrap());
            if lacks > 0 {
                station.groups().increase(&group.id, lacks).await.unwrap();
            }
        }
    };
    enforce().await;
    enforce().await;
    let nodes = station.nodes_run(2).await;
    let refused = station.give_back(&nodes[0].id).await.unwrap_err();
    assert!(refused.to_string().ends_with("it keeps 2 and has 2, of which 1 were to go"), "{refused}");
    let lost = station.lab.claims().await[0].name_any();
    station.lab.claim_api().delete(&lost, &DeleteParams::default()).await.unwrap();
    eventually("the target is lower", PATIENCE, async || (station.target() == 1).then_some(())).await;
    enforce().await;
    station.nodes_run(2).await;
    station.finish().await;
}

pub async fn a_target_comes_down_by_claims_that_were_never_launched(plane: Arc<ControlPlane>) {
    let station = Station::new(plane, "decrease", &json!({})).await;
    let gate = Arc::new(Notify::new());
    let opens = gate.clone();
    // Until then no launch can be written down, so that none happens.
    station.faults.decide(move |sent| {
        let writes =
            sent.method == Method::PATCH && sent.concerns("nodeclaims") && sent.path.ends_with("/status");
        let gate = opens.clone();
        if writes { Fate::SentAfter(Box::pin(async move { gate.notified().await })) } else { Fate::Passes }
    });
    station.increase(2).await.unwrap();
    let refused = station.groups().decrease_target(&station.four(), 3).await;
    assert!(matches!(refused, Err(GroupError::Refused(_))), "{refused:?}");
    let by_nothing = station.groups().decrease_target(&station.four(), 0).await;
    assert!(matches!(by_nothing, Err(GroupError::Invalid(_))), "{by_nothing:?}");
    assert_eq!(station.target(), 2);
    station.groups().decrease_target(&station.four(), 1).await.unwrap();
    assert_eq!(station.target(), 1);
    station.faults.heal();
    gate.notify_waiters();
    // What was about to be launched at that moment may have been: then it is ended again.
    station.nodes_run(1).await;
    eventually("one machine", PATIENCE, async || (station.lab.machines().await.len() == 1).then_some(()))
        .await;
    station.finish().await;
}

pub async fn a_target_does_not_come_down_by_a_machine_that_may_be_there(plane: Arc<ControlPlane>) {
    let lab = calm_lab(plane, "maybe").await;
    let fault = json!({"effect": "ErrorAfterEffect", "calls": ["Launch"], "error": "Transient"});
    let station = Station::with(lab, &json!({"faults": [fault]}), &json!({})).await;
    station.increase(1).await.unwrap();
    let claim = station.lab.claims().await[0].name_any();
    told(&station.lab, "NodeClaim", &claim, "Transient", &["simulated fault"]).await;
    let [told] = &station.instances()[..] else { panic!("{:?}", station.instances()) };
    assert_eq!((told.state, &told.error), (InstanceState::Creating, &None), "it is tried again");
    let refused = station.groups().decrease_target(&station.four(), 1).await;
    assert!(matches!(refused, Err(GroupError::Refused(_))), "{refused:?}");
    station.give_back(&told.id).await.unwrap();
    assert_eq!(station.target(), 0);
    station.lab.plain_provider(&json!({"bootDelay": "0s"})).await;
    station.lab.everything_is_gone().await;
    station.finish().await;
}
