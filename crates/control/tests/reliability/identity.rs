//! Which machine is whose: by UID and provider ID, never by name, count or what a node says of itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::ResourceExt;
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};
use windlass_api::{conditions, labels};
use windlass_testkit::invariants::Foreign;
use windlass_testkit::objects::NodeBuilder;
use windlass_testkit::{ControlPlane, eventually};

use crate::lab::{Lab, PATIENCE, reason};
use crate::steps::{all_stay, calm_lab, force_away, kept_pod, machine_of, recreate, release_pod, throughout};

async fn lab_that_keeps_nodes(plane: Arc<ControlPlane>, name: &str) -> Lab {
    let mut lab = calm_lab(plane, name).await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({"disruption": {"consolidateAfter": "Never"}})).await;
    lab.start().await;
    lab
}

pub async fn a_claim_made_anew_under_the_same_name_gets_a_machine_of_its_own(plane: Arc<ControlPlane>) {
    let mut lab = lab_that_keeps_nodes(plane, "anew").await;
    lab.create_pod(lab.pod("p", "3")).await;
    lab.all_pods_run().await;
    let old = lab.ready_claims(1).await.remove(0);
    let old_machine = machine_of(&lab, &old.name_any()).await;
    lab.crash().await;
    lab.pod_api().delete("p", &DeleteParams::default().grace_period(0)).await.unwrap();
    force_away(&lab, &old).await;
    let new = recreate(&lab, &old, &json!([])).await;
    assert_ne!(old.uid(), new.uid());
    lab.start().await;
    assert_ne!(machine_of(&lab, &new.name_any()).await, old_machine);
    lab.ready_claims(1).await;
    eventually("the old machine is ended and its node gone", PATIENCE, async || {
        let left = (lab.machines().await.len(), lab.nodes().await.len());
        if left == (1, 1) { Ok(()) } else { Err(format!("(machines, nodes) = {left:?}")) }
    })
    .await;
    let tagged = lab.machines().await.remove(0).labels()[labels::CLAIM_UID].clone();
    assert_eq!(Some(tagged), new.uid());
    lab.finish().await;
}

pub async fn a_machine_that_lost_its_claim_is_adopted_with_its_pods_and_can_be_given_back(
    plane: Arc<ControlPlane>,
) {
    let mut lab = lab_that_keeps_nodes(plane, "adopted").await;
    let pod = lab.create_pod(lab.pod("p", "3")).await;
    lab.all_pods_run().await;
    let old = lab.ready_claims(1).await.remove(0);
    let machine = machine_of(&lab, &old.name_any()).await;
    lab.crash().await;
    force_away(&lab, &old).await;
    lab.start().await;
    let adopted = lab.ready_claims(1).await.remove(0);
    assert_ne!(adopted.uid(), old.uid());
    assert_eq!(machine_of(&lab, &adopted.name_any()).await, machine);
    assert_eq!(lab.pod_api().get("p").await.unwrap().uid(), pod.uid());
    lab.claim_api().delete(&adopted.name_any(), &DeleteParams::default()).await.unwrap();
    lab.everything_is_gone().await;
    lab.finish().await;
}

pub async fn deleting_one_of_three_claims_ends_exactly_its_machine(plane: Arc<ControlPlane>) {
    let lab = lab_that_keeps_nodes(plane, "one-of").await;
    lab.pods("p", 3, "3").await;
    lab.all_pods_run().await;
    let claims = lab.ready_claims(3).await;
    let before = things(&lab).await;
    let victim = &claims[1];
    let name = machine_of(&lab, &victim.name_any()).await.rsplit('/').next().unwrap().to_owned();
    lab.claim_api().delete(&victim.name_any(), &DeleteParams::default()).await.unwrap();
    lab.ready_claims(2).await;
    eventually("two machines and two nodes", PATIENCE, async || {
        (things(&lab).await.len() == 4).then_some(())
    })
    .await;
    let expected: BTreeMap<_, _> = before.into_iter().filter(|((_, named), _)| *named != name).collect();
    throughout("the siblings stay what they are", Duration::from_secs(2), async || {
        let now = things(&lab).await;
        if now == expected { Ok(()) } else { Err(format!("{now:#?}")) }
    })
    .await;
    lab.finish().await;
}

/// Machines and nodes by kind and name: which they are, and since when.
async fn things(lab: &Lab) -> BTreeMap<(&'static str, String), String> {
    fn identity<K: ResourceExt>(thing: &K) -> (String, String) {
        (thing.name_any(), format!("{:?} {:?}", thing.uid(), thing.creation_timestamp()))
    }
    let machines = lab.machines().await.iter().map(identity).collect::<Vec<_>>();
    let nodes = lab.nodes().await.iter().map(identity).collect::<Vec<_>>();
    let kinds = [("machine", machines), ("node", nodes)];
    let all = kinds.into_iter().flat_map(|(kind, all)| all.into_iter().map(move |thing| (kind, thing)));
    all.map(|(kind, (name, what))| ((kind, name), what)).collect()
}

fn impostor(name: &str, provider_id: &str) -> Node {
    let mut node = NodeBuilder::new(name).build();
    node.spec.as_mut().unwrap().provider_id = Some(provider_id.to_owned());
    node
}

pub async fn a_node_that_claims_anothers_machine_is_neither_trusted_nor_touched(plane: Arc<ControlPlane>) {
    let lab = lab_that_keeps_nodes(plane, "spoof").await;
    kept_pod(&lab, "kept", "3").await;
    lab.all_pods_run().await;
    let claim = lab.ready_claims(1).await.remove(0);
    let id = machine_of(&lab, &claim.name_any()).await;
    let name = lab.named("impostor");
    let spoof = lab.node_api().create(&PostParams::default(), &impostor(&name, &id)).await.unwrap();
    let mut foreign = Foreign::new(lab.client.clone());
    foreign.capture(&spoof).await.unwrap();
    eventually("the claim says that its node is ambiguous", PATIENCE, async || {
        let claim = lab.claim_api().get(&claim.name_any()).await.ok()?;
        reason(&claim, conditions::READY).filter(|(reason, _)| reason == "AmbiguousNode")
    })
    .await;
    throughout("the claim stays", Duration::from_secs(2), async || all_stay(&lab, 1).await).await;

    // Even so, the claim's own node is drained before its machine ends, and the other is left alone.
    lab.claim_api().delete(&claim.name_any(), &DeleteParams::default()).await.unwrap();
    let own = claim.status.as_ref().unwrap().node_name.clone().unwrap();
    eventually("the claim's own node is cordoned", PATIENCE, async || {
        lab.node_api().get(&own).await.ok()?.spec?.unschedulable.filter(|cordoned| *cordoned)
    })
    .await;
    throughout("the machine stays", Duration::from_secs(2), async || match lab.machines().await.len() {
        1 => Ok(()),
        other => Err(format!("{other} machines")),
    })
    .await;
    release_pod(&lab, "kept").await;
    lab.everything_is_gone().await;
    foreign.assert_unchanged().await.unwrap();
    lab.node_api().delete(&name, &DeleteParams::default()).await.unwrap();
    lab.finish().await;
}

pub async fn a_node_that_took_a_machines_name_is_neither_bound_nor_touched(plane: Arc<ControlPlane>) {
    let mut lab = calm_lab(plane, "name-taken").await;
    lab.plain_provider(&json!({"bootDelay": "3s"})).await;
    lab.pool("pool", &json!({})).await;
    lab.start().await;
    lab.create_pod(lab.pod("p", "3")).await;
    let machine = eventually("a machine", PATIENCE, async || lab.machines().await.pop()).await;
    let taken = impostor(&machine.name_any(), "elsewhere://another");
    let taken = lab.node_api().create(&PostParams::default(), &taken).await.unwrap();
    let mut foreign = Foreign::new(lab.client.clone());
    foreign.capture(&taken).await.unwrap();
    throughout("the claim stays without a node", Duration::from_secs(5), async || {
        let claim = lab.claims().await.pop().ok_or("no claim")?;
        match claim.status.and_then(|status| status.node_name) {
            None => Ok(()),
            Some(node) => Err(format!("bound to {node}")),
        }
    })
    .await;
    lab.pod_api().delete("p", &DeleteParams::default().grace_period(0)).await.unwrap();
    let claim = lab.claims().await.remove(0);
    lab.claim_api().delete(&claim.name_any(), &DeleteParams::default()).await.unwrap();
    lab.everything_is_gone().await;
    foreign.assert_unchanged().await.unwrap();
    lab.node_api().delete(&machine.name_any(), &DeleteParams::default()).await.unwrap();
    lab.finish().await;
}

pub async fn machines_and_nodes_of_others_stay_as_they_are(plane: Arc<ControlPlane>) {
    let mut lab = calm_lab(plane, "foreign").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({})).await;
    lab.start().await;
    lab.create_pod(lab.pod("p", "3")).await;
    lab.all_pods_run().await;
    let own = lab.machines().await.remove(0);
    let mut foreign = Foreign::new(lab.client.clone());
    let (provider, cluster) = (lab.named("sim"), format!("lab.{}", lab.name));
    let other_cluster = (provider.clone(), format!("{cluster}x"));
    let other_provider = (format!("{provider}x"), format!("{cluster}-2"));
    for (number, (provider, cluster)) in [other_cluster, other_provider].iter().enumerate() {
        let mut copy = record(&own, provider, cluster);
        copy.metadata.name = Some(format!("{}{number}", own.name_any()));
        let made = lab.machine_api().create(&PostParams::default(), &copy).await.unwrap();
        foreign.capture(&made).await.unwrap();
    }
    let mut unlabelled = record(&own, &provider, &cluster);
    unlabelled.metadata.labels = None;
    unlabelled.metadata.name = Some(format!("{}-2", own.name_any()));
    let made = lab.machine_api().create(&PostParams::default(), &unlabelled).await.unwrap();
    foreign.capture(&made).await.unwrap();
    let plain = NodeBuilder::new(&lab.named("plain")).label(labels::POOL, "nobodys").build();
    let plain = lab.node_api().create(&PostParams::default(), &plain).await.unwrap();
    foreign.capture(&plain).await.unwrap();

    // Through several sweeps, and the end of what is ours.
    throughout("the claim stays", Duration::from_secs(5), async || all_stay(&lab, 1).await).await;
    lab.pod_api().delete("p", &DeleteParams::default().grace_period(0)).await.unwrap();
    eventually("our machine is gone", PATIENCE, async || {
        lab.machine_api().get_opt(&own.name_any()).await.unwrap().is_none().then_some(())
    })
    .await;
    foreign.assert_unchanged().await.unwrap();
    lab.node_api().delete(&plain.name_any(), &DeleteParams::default()).await.unwrap();
    lab.finish().await;
}

/// A machine's record as it would be of another provider or another cluster.
fn record(own: &ConfigMap, provider: &str, cluster: &str) -> ConfigMap {
    let mut copy = ConfigMap { data: own.data.clone(), ..ConfigMap::default() };
    let mut machine: Value = serde_json::from_str(&own.data.as_ref().unwrap()["machine"]).unwrap();
    machine["tag"]["clusterId"] = json!(cluster);
    machine["tag"]["claimUid"] = json!("00000000-0000-0000-0000-000000000000");
    copy.data.as_mut().unwrap().insert("machine".to_owned(), machine.to_string());
    let marks = copy.metadata.labels.insert(own.labels().clone());
    marks.insert("windlass.dev/simulated-machine".to_owned(), provider.to_owned());
    marks.insert("windlass.dev/cluster-id".to_owned(), cluster.to_owned());
    marks.insert(labels::CLAIM_UID.to_owned(), "00000000-0000-0000-0000-000000000000".to_owned());
    copy
}
