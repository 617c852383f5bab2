//! One Windlass as the other's source of machines: what one serves to Cluster Autoscaler the other uses, over mutual TLS.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::StreamExt as _;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret};
use k8s_openapi::api::events::v1::Event;
use kube::api::{ListParams, ObjectMeta, PostParams, WatchEvent, WatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use windlass_api::{NodeClaim, NodeProvider};
use windlass_testkit::{ControlPlane, eventually};

use crate::served::Served;
use crate::sights::Instead;
use crate::stage::{PATIENCE, Stage};
use crate::windlass::Windlass;

/// A Windlass with a rack of simulated machines, about which others decide.
struct Rack {
    stage: Stage,
    served: Served,
}

impl Rack {
    async fn new() -> Self {
        // Its nodes have the labels of its pool, which pods of the other cluster ask for.
        let stage = Stage::alone("bridge").await;
        stage.provider(&json!({"bootDelay": "1s"})).await;
        stage.pool(&json!({"driver": "ClusterAutoscaler", "limits": {"nodes": 4}})).await;
        Self { stage, served: Served::new().await }
    }

    fn start(&self) -> Windlass {
        self.served.start(&self.stage)
    }

    /// What a client of it needs to show.
    fn secret(&self, name: &str) -> Secret {
        let file = |name: &str| ByteString(std::fs::read(self.served.file(name)).unwrap());
        let data = [("ca.crt", "ca.crt"), ("tls.crt", "client.crt"), ("tls.key", "client.key")];
        let data = data.map(|(key, name)| (key.to_owned(), file(name)));
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        Secret { metadata, data: Some(BTreeMap::from(data)), ..Secret::default() }
    }
}

/// Lets the machines of a rack join another cluster as well, as their images would.
async fn join(rack: Client, cluster: Client) {
    let (there, here): (Api<Node>, Api<Node>) = (Api::all(rack), Api::all(cluster));
    let machines = WatchParams::default().labels("windlass.dev/simulated-machine");
    // A watch ends after some minutes, and begins with what is there.
    loop {
        let mut events = there.watch(&machines, "0").await.unwrap().boxed();
        while let Some(Ok(event)) = events.next().await {
            let WatchEvent::Added(node) = event else { continue };
            match here.create(&PostParams::default(), &copy(&node)).await {
                Err(kube::Error::Api(status)) if status.is_already_exists() => {}
                joined => drop(joined.unwrap()),
            }
        }
    }
}

/// What a kubelet says of itself, without what others have made of the node.
fn copy(node: &Node) -> Node {
    let theirs = |key: &String| !key.contains("windlass.dev");
    let labels = node.labels().clone().into_iter().filter(|(key, _)| theirs(key)).collect();
    let annotations = BTreeMap::from([("kwok.x-k8s.io/node".to_owned(), "fake".to_owned())]);
    let mut copy = node.clone();
    copy.metadata = ObjectMeta {
        name: node.metadata.name.clone(),
        labels: Some(labels),
        annotations: Some(annotations),
        ..ObjectMeta::default()
    };
    let spec = copy.spec.as_mut().unwrap();
    (spec.taints, spec.unschedulable) = (None, None);
    copy
}

/// The machines that claims have.
fn machines(claims: &[NodeClaim]) -> BTreeSet<String> {
    claims.iter().filter_map(|claim| claim.status.as_ref()?.provider_id.clone()).collect()
}

/// Waits until so many pods run, each on a machine that the rack has for it, and the rack has no other.
async fn served(cluster: &Stage, rack: &Stage, count: usize) {
    let what = format!("{count} pods run on machines of the rack");
    eventually(&what, PATIENCE, async || {
        let (running, claims, theirs) =
            (cluster.running().await?, cluster.claims().await?, rack.claims().await?);
        let seen = (running.len(), claims.len(), theirs.len(), rack.machines().await?.len());
        let same = machines(&claims) == machines(&theirs);
        let done = seen == (count, count, count, count) && same;
        if done {
            return Ok(());
        }
        let providers: Api<NodeProvider> = Api::all(cluster.client.clone());
        let status = providers.get(&cluster.named("sim")).await?.status;
        Err(Instead(format!(
            "(running, claims, theirs, machines) = {seen:?}, the same machines: {same}, provider: {status:?}"
        )))
    })
    .await;
}

pub async fn a_windlass_gets_machines_from_another_while_both_are_killed(plane: Arc<ControlPlane>) {
    let rack = Rack::new().await;
    let mut server = rack.start();
    rack.stage.led_by(&mut server).await;

    let cluster = Stage::on(plane, "bridge").await;
    let secrets: Api<Secret> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    secrets.create(&PostParams::default(), &rack.secret("rack")).await.unwrap();
    let tls = json!({"secretRef": {"name": "rack"}, "serverName": "localhost"});
    cluster.other_provider(&json!({"externalGrpc": {"endpoint": rack.served.address, "tls": tls}})).await;
    cluster.pool(&json!({})).await;
    let joining = tokio::spawn(join(rack.stage.client.clone(), cluster.client.clone()));
    let mut windlass = cluster.start();

    cluster.pods(0..1).await;
    served(&cluster, &rack.stage, 1).await;
    cluster.pods(1..4).await;
    cluster.led_by(&mut windlass).await;
    windlass.kill().await;
    server.kill().await;
    server = rack.start();
    windlass = cluster.start();
    served(&cluster, &rack.stage, 4).await;

    // There is no fifth machine to be had.
    cluster.pods(4..5).await;
    eventually("the pod is told why it waits", PATIENCE, async || {
        let events: Api<Event> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
        let events = events.list(&ListParams::default()).await?.items;
        let of_pod =
            |event: &&Event| event.regarding.as_ref().and_then(|pod| pod.name.as_deref()) == Some("p-4");
        let told = events.iter().filter(of_pod).any(|event| event.reason.as_deref() == Some("NoCapacity"));
        if told { Ok(()) } else { Err(Instead(format!("{} events", events.len()))) }
    })
    .await;
    cluster.delete_pods(4..5).await;

    cluster.delete_pods(0..4).await;
    cluster.led_by(&mut windlass).await;
    windlass.kill().await;
    windlass = cluster.start();
    eventually("all machines are given back", PATIENCE, async || {
        let left = (
            cluster.claims().await?.len(),
            rack.stage.claims().await?.len(),
            rack.stage.machines().await?.len(),
        );
        if left == (0, 0, 0) {
            Ok(())
        } else {
            Err(Instead(format!("(claims, theirs, machines) = {left:?}")))
        }
    })
    .await;
    assert_eq!(waiting(&cluster).await, 0, "nobody waits in the ledgers");
    joining.abort();
    windlass.must_run();
    server.must_run();
    rack.stage.finish().await;
    cluster.finish().await;
}

/// How many claims wait for an instance, by the ledgers.
async fn waiting(cluster: &Stage) -> usize {
    let api: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let ledgers = api.list(&ListParams::default().labels("windlass.dev/external-grpc")).await.unwrap();
    let text = ledgers.into_iter().filter_map(|ledger| ledger.data?.remove("ledger"));
    text.map(|text| text.matches("\"waiting\"").count()).sum()
}
