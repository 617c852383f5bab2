//! A cluster that is known from objects at hand and not from watches: for looking at what would happen.
//!
//! The objects go through the same [`Index`] as those that the controller watches, so that there is one way from objects
//! to plans. They may be listed from a live cluster ([`Cluster::list`]), handed over one by one ([`Cluster::saw`]), or
//! both. What the providers offer is then asked of them ([`Cluster::ask`]), or without a cluster read from what their
//! specifications say ([`Cluster::read_offers`]).

mod list;
mod offers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod as ApiPod};
use windlass_core::Text;
use windlass_core::model::{Pod, PodId, Settings, Snapshot, StorageClass};

pub use list::ListError;

use crate::index::Index;
use crate::watch::Watched;

/// What is known of a cluster at one moment.
#[derive(Debug)]
pub struct Cluster {
    index: Index,
    now: Timestamp,
    owned: BTreeMap<Owner, BTreeSet<PodId>>,
    ended: BTreeMap<PodId, Text>,
}

/// The workload that a pod is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// Its kind.
    pub kind: Text,
    /// Its namespace and name.
    pub id: PodId,
}

impl Cluster {
    /// A cluster of which nothing is known, at this time.
    pub fn new(now: Timestamp) -> Self {
        Self { index: Index::default(), now, owned: BTreeMap::new(), ended: BTreeMap::new() }
    }

    /// Takes in an object, in place of the one of its name.
    pub fn saw<K: Watched>(&mut self, object: K) {
        object.seen(&mut self.index, self.now);
    }

    /// Takes in a pod, in place of the one of its name.
    pub fn saw_pod(&mut self, pod: ApiPod) {
        let id = id(&pod);
        if self.index.pod(&id).is_some() || self.ended.contains_key(&id) {
            self.lost_pod(&id);
        }
        let phase = pod.status.as_ref().and_then(|status| status.phase.clone());
        for owner in owners(&pod) {
            self.owned.entry(owner).or_default().insert(id.clone());
        }
        self.saw(pod);
        if self.index.pod(&id).is_none() {
            self.ended.insert(id, phase.unwrap_or_default().into());
        }
    }

    /// Takes in that there is no such pod.
    pub fn lost_pod(&mut self, id: &PodId) {
        self.index.lost_pod(id, self.now);
        self.ended.remove(id);
        for pods in self.owned.values_mut() {
            pods.remove(id);
        }
    }

    /// Takes in a node in place of the one of its name, however new that one is.
    pub fn replace_node(&mut self, mut node: Node) {
        node.metadata.resource_version = None;
        self.saw(node);
    }

    /// The pods of a workload that have not ended, in the order of their names.
    pub fn pods_of(&self, owner: &Owner) -> Vec<Arc<Pod>> {
        let ids = self.owned.get(owner).into_iter().flatten();
        ids.filter_map(|id| self.index.pod(id)).cloned().collect()
    }

    /// How a pod that has ended did so, as its phase says.
    pub fn ended(&self, id: &PodId) -> Option<&str> {
        self.ended.get(id).map(|phase| &**phase)
    }

    /// Whether there is such a claim on a volume.
    pub fn has_volume_claim(&self, id: &PodId) -> bool {
        self.index.volume_claims.model().contains_key(id)
    }

    /// A storage class, if there is one of this name.
    pub fn storage_class(&self, name: &str) -> Option<StorageClass> {
        self.index.storage_classes.model().get(name).cloned()
    }

    /// The nodes.
    pub fn nodes(&self) -> impl Iterator<Item = &Arc<windlass_core::model::Node>> {
        self.index.nodes()
    }

    /// Why everything is to be left as it is, in words, if the namespace that Windlass runs in says so.
    pub fn paused(&self, namespace: &str) -> Option<Text> {
        self.index.paused(namespace)
    }

    /// What is known, for planning.
    pub fn snapshot(&self, settings: &Settings) -> Snapshot {
        self.index.snapshot(settings)
    }

    /// The time at which the cluster is like this.
    pub fn now(&self) -> Timestamp {
        self.now
    }
}

fn id(pod: &ApiPod) -> PodId {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    PodId::new(&text(&pod.metadata.namespace), &text(&pod.metadata.name))
}

/// The workloads that a pod is of: the one that made it, and the deployment of that where it is a replica set.
fn owners(pod: &ApiPod) -> Vec<Owner> {
    let metadata = &pod.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let controller = metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
    let Some(controller) = controller else { return Vec::new() };
    let owner = |kind: &str, name: &str| Owner { kind: kind.into(), id: PodId::new(namespace, name) };
    let mut owners = vec![owner(&controller.kind, &controller.name)];
    let hash = metadata.labels.as_ref().and_then(|labels| labels.get("pod-template-hash"));
    let deployment = hash.and_then(|hash| controller.name.strip_suffix(hash.as_str())?.strip_suffix('-'));
    if let Some(name) = deployment.filter(|_| controller.kind == "ReplicaSet") {
        owners.push(owner("Deployment", name));
    }
    owners
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Cluster, Owner};
    use jiff::Timestamp;
    use windlass_core::model::PodId;

    #[test]
    fn pods_of_a_deployment_are_known_by_their_replica_set() {
        let mut cluster = Cluster::new(Timestamp::UNIX_EPOCH);
        let pod = |name: &str, phase: &str| {
            let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d", "uid": "u", "controller": true});
            let pod = json!({
                "metadata": {"name": name, "namespace": "d", "labels": {"pod-template-hash": "5d"}, "ownerReferences": [owner]},
                "spec": {"containers": []}, "status": {"phase": phase},
            });
            serde_json::from_value(pod).unwrap()
        };
        cluster.saw_pod(pod("web-5d-a", "Running"));
        cluster.saw_pod(pod("web-5d-b", "Failed"));
        let names = |kind: &str, name: &str| -> Vec<String> {
            let owner = Owner { kind: kind.into(), id: PodId::new("d", name) };
            cluster.pods_of(&owner).iter().map(|pod| pod.id.to_string()).collect()
        };
        assert_eq!(names("Deployment", "web"), ["d/web-5d-a"]);
        assert_eq!(names("ReplicaSet", "web-5d"), ["d/web-5d-a"]);
        assert_eq!(names("StatefulSet", "web"), [""; 0]);
        assert_eq!(cluster.ended(&PodId::new("d", "web-5d-b")), Some("Failed"));
        cluster.lost_pod(&PodId::new("d", "web-5d-a"));
        assert!(cluster.pods_of(&Owner { kind: "Deployment".into(), id: PodId::new("d", "web") }).is_empty());
    }
}
