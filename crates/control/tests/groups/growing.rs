//! More nodes.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::Method;
use kube::ResourceExt;
use serde_json::json;
use windlass_api::{ClaimPurpose, labels};
use windlass_control::groups::{GroupError, InstanceState, NodeGroups as _};
use windlass_testkit::{ControlPlane, eventually};

use crate::faults::Fate;
use crate::hands::told;
use crate::lab::PATIENCE;
use crate::station::{Station, real_nodes};
use crate::steps::start;

pub async fn an_increase_is_written_when_it_is_answered_and_becomes_nodes(plane: Arc<ControlPlane>) {
    let station = Station::new(plane, "grows", &json!({})).await;
    station.increase(2).await.unwrap();
    let claims = station.lab.claims().await;
    assert_eq!((claims.len(), station.target(), station.instances().len()), (2, 2, 2));
    let purposes: Vec<_> = claims.iter().map(|claim| claim.spec.reason.purpose).collect();
    assert_eq!(purposes, [ClaimPurpose::ClusterAutoscaler; 2]);
    let instances = station.nodes_run(2).await;
    let ids: BTreeSet<String> = instances.iter().map(|instance| instance.id.clone()).collect();
    let nodes = real_nodes(&station.lab).await;
    assert_eq!(nodes.iter().map(|node| node.provider_id.clone()).collect::<BTreeSet<_>>(), ids);
    for node in &nodes {
        assert_eq!(node.labels[labels::NODE_GROUP], format!("{}_four_on-demand", station.lab.named("pool")));
        let group = station.groups().group_of(node).unwrap().unwrap();
        assert_eq!(group.id, station.four());
        assert_eq!(station.groups().node_price(node).unwrap().to_string(), "0.10");
    }
    let words = format!("Cluster Autoscaler asked for 2 more of {}", station.four());
    told(&station.lab, "NodePool", &station.lab.named("pool"), "ScaleUp", &[&words]).await;
    station.finish().await;
}

pub async fn increases_at_the_same_time_keep_the_limit_together(plane: Arc<ControlPlane>) {
    let station = Station::new(plane, "together", &json!({"limits": {"nodes": 3}})).await;
    let (one, two) = tokio::join!(station.increase(2), station.increase(2));
    let refused: Vec<_> = [one, two].into_iter().filter_map(Result::err).collect();
    let [GroupError::Refused(why)] = &refused[..] else { panic!("{refused:?}") };
    assert!(why.ends_with("but by 1 at most: the limit of 3 nodes of its pool is reached"), "{why}");
    assert_eq!(station.target(), 2);
    station.increase(1).await.unwrap();
    let why = station.increase(1).await.unwrap_err().to_string();
    assert!(why.contains("cannot grow: the limit of 3 nodes"), "{why}");
    assert!(matches!(station.increase(0).await, Err(GroupError::Invalid(_))));
    assert!(matches!(station.increase(u32::MAX).await, Err(GroupError::Refused(_))));
    let unknown = station.groups().increase("no/such/group/here", 1).await;
    assert!(matches!(unknown, Err(GroupError::NotFound(_))));
    station.nodes_run(3).await;
    let groups = station.groups().groups().unwrap();
    assert_eq!(groups.iter().map(|group| (group.min, group.max)).collect::<Vec<_>>(), [(0, 3)]);
    station.finish().await;
}

pub async fn an_increase_whose_answers_are_lost_is_not_made_twice(plane: Arc<ControlPlane>) {
    let station = Station::new(plane, "lost", &json!({"limits": {"nodes": 3}})).await;
    let mut left = 3;
    station.faults.decide(move |sent| {
        let creates = sent.method == Method::POST && sent.path.ends_with("/nodeclaims");
        if creates && left > 0 {
            left -= 1;
            return if left == 2 { Fate::Broken } else { Fate::AnswerLost };
        }
        Fate::Passes
    });
    station.increase(3).await.unwrap();
    assert_eq!((station.lab.claims().await.len(), station.target()), (3, 3));
    station.nodes_run(3).await;
    assert_eq!(station.lab.machines().await.len(), 3);
    station.finish().await;
}

pub async fn an_increase_that_nobody_waits_for_comes_all_the_same(plane: Arc<ControlPlane>) {
    let station = Station::new(plane, "impatient", &json!({})).await;
    let gate = Arc::new(tokio::sync::Notify::new());
    let opens = gate.clone();
    station.faults.decide(move |sent| {
        let creates = sent.method == Method::POST && sent.path.ends_with("/nodeclaims");
        let gate = opens.clone();
        if creates { Fate::SentAfter(Box::pin(async move { gate.notified().await })) } else { Fate::Passes }
    });
    {
        let mut order = Box::pin(station.increase(1));
        let counted = eventually("the order is counted", PATIENCE, async || {
            (station.groups().target_size(&station.four()) == Ok(1)).then_some(())
        });
        tokio::select! {
            outcome = &mut order => panic!("it was answered before it was written: {outcome:?}"),
            () = counted => {}
        }
    }
    assert_eq!((station.lab.claims().await.len(), station.instances().len()), (0, 0));
    station.faults.heal();
    gate.notify_waiters();
    station.nodes_run(1).await;
    assert_eq!(station.target(), 1);
    station.finish().await;
}

pub async fn only_the_replica_that_leads_answers(plane: Arc<ControlPlane>) {
    let mut station = Station::new(plane, "replicas", &json!({})).await;
    station.increase(1).await.unwrap();
    station.nodes_run(1).await;
    station.lab.settings.identity.push_str("-second");
    let second = start(&station.lab, &station.faults);
    let listens = || second.health.unready().is_none().then_some(());
    eventually("the second replica is ready", PATIENCE, async || listens()).await;
    assert!(matches!(second.groups.groups(), Err(GroupError::NotLeading(_))));
    assert!(matches!(second.groups.increase(&station.four(), 1).await, Err(GroupError::NotLeading(_))));
    std::mem::replace(&mut station.running, second).crash().await;
    station.groups_are_there().await;
    let instances = station.nodes_run(1).await;
    assert_eq!((station.target(), instances[0].state), (1, InstanceState::Running));
    let claims = station.lab.claims().await;
    assert_eq!(claims.iter().filter(|claim| claim.metadata.deletion_timestamp.is_some()).count(), 0);
    assert!(claims[0].name_any().starts_with(&station.lab.named("pool")));
    station.finish().await;
}
