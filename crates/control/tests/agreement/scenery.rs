//! Putting a cluster's objects on the control plane, and taking them away.

use std::collections::BTreeMap;
use std::fmt::Debug;

use futures::future::join_all;
use futures::stream::{self, StreamExt};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Namespace, Node, PersistentVolumeClaim, Pod, ServiceAccount};
use k8s_openapi::api::storage::v1::CSINode;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::runtime::watcher;
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, json};

use crate::made_up::{GOING, shared_classes};
use crate::stage::{PATIENCE, Stage, waits};
use crate::watch::Watch;

/// Keeps pods that wait from the scheduler until the plan is made.
const GATE: &str = "example.com/not-yet";
/// How many objects of a cluster are made at the same time.
const AT_ONCE: usize = 8;

/// Makes what all clusters share.
pub async fn prepare(client: &Client) {
    let (priorities, sandbox) = shared_classes();
    for class in priorities {
        Api::all(client.clone()).create(&PostParams::default(), &class).await.unwrap();
    }
    Api::all(client.clone()).create(&PostParams::default(), &sandbox).await.unwrap();
}

impl Stage {
    /// Makes all that the cluster has before anything is planned.
    pub async fn set_up(&self) {
        let cluster = &self.cluster;
        join_all(cluster.namespaces().map(|(name, labels)| self.make_namespace(name, labels))).await;
        self.make_all(cluster.storage.classes.values().cloned()).await;
        self.make_all(cluster.storage.volumes.iter().cloned()).await;
        self.make_all(cluster.nodes.iter().cloned()).await;
        self.make_all(cluster.csi_nodes.iter().cloned()).await;
        for name in [&cluster.home, &cluster.annex] {
            self.make_all_in(name, cluster.storage.claims.values().cloned()).await;
            self.make_all_in(name, cluster.daemon_sets.iter().cloned()).await;
        }
        self.volumes_are_bound().await;
        self.nodes_are_ready().await;
        self.agents_are_on(&cluster.nodes).await.unwrap();
        for name in [&cluster.home, &cluster.annex] {
            self.make_all_in(name, cluster.pods.iter().map(held_back)).await;
        }
        // Nobody ends them, so they stay.
        for pod in cluster.pods.iter().filter(|pod| pod.annotations().contains_key(GOING)) {
            let api: Api<Pod> = Api::namespaced(self.client.clone(), &pod.namespace().unwrap());
            api.delete(&pod.name_any(), &DeleteParams::default()).await.unwrap();
        }
    }

    /// Makes a namespace and waits until pods can be made in it.
    async fn make_namespace(&self, name: &str, labels: Value) {
        let namespace = from_value(json!({"metadata": {"name": name, "labels": labels}})).unwrap();
        self.all::<Namespace>().create(&PostParams::default(), &namespace).await.unwrap();
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), name);
        let there = |accounts: &BTreeMap<String, ServiceAccount>| {
            accounts.get("default").map(drop).ok_or_else(|| format!("{name} has no service account"))
        };
        Watch::new(accounts, watcher::Config::default()).until(PATIENCE, there).await.unwrap();
    }

    async fn volumes_are_bound(&self) {
        if self.cluster.storage.volumes.is_empty() {
            return;
        }
        let bound = |claims: &BTreeMap<String, PersistentVolumeClaim>| {
            let waits = claims.values().find(|claim| {
                let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
                claim.spec.as_ref().unwrap().volume_name.is_some() && phase != Some("Bound")
            });
            waits.map_or(Ok(()), |claim| Err(format!("{} is not bound", claim.name_any())))
        };
        self.watch().until(PATIENCE, bound).await.unwrap();
    }

    /// Makes objects that are in no namespace.
    pub async fn make_all<K>(&self, objects: impl IntoIterator<Item = K>)
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize,
    {
        make(&self.all(), objects).await;
    }

    /// Makes those of the objects that are in a namespace.
    async fn make_all_in<K>(&self, namespace: &str, objects: impl Iterator<Item = K>)
    where
        K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned
            + Serialize,
    {
        let api = Api::namespaced(self.client.clone(), namespace);
        make(&api, objects.filter(|object| object.namespace().as_deref() == Some(namespace))).await;
    }

    /// Takes away what others would meet: namespaces and volumes stay.
    pub async fn tear_down(&self) {
        let cluster = &self.cluster;
        let ours = ListParams::default().labels(&self.ours());
        let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        for namespace in [&cluster.home, &cluster.annex] {
            let sets: Api<DaemonSet> = Api::namespaced(self.client.clone(), namespace);
            let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
            sets.delete_collection(&DeleteParams::default(), &ours).await.unwrap();
            pods.delete_collection(&at_once, &ours).await.unwrap();
        }
        self.all::<Node>().delete_collection(&DeleteParams::default(), &ours).await.unwrap();
        self.all::<CSINode>().delete_collection(&DeleteParams::default(), &ours).await.unwrap();
    }
}

async fn make<K>(api: &Api<K>, objects: impl IntoIterator<Item = K>)
where
    K: Clone + Debug + DeserializeOwned + Serialize,
{
    let created = objects.into_iter().map(|object| async move {
        if let Err(error) = api.create(&PostParams::default(), &object).await {
            panic!("{error}: {object:?}");
        }
    });
    stream::iter(created).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
}

/// The pod, with a gate if it waits.
fn held_back(pod: &Pod) -> Pod {
    let mut pod = pod.clone();
    if waits(&pod) {
        let gates = from_value(json!([{"name": GATE}])).unwrap();
        pod.spec.as_mut().unwrap().scheduling_gates = Some(gates);
    }
    pod
}
