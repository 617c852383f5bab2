//! What the planner makes of what the API server has.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod};
use kube::Api;
use kube::api::ListParams;
use serde_json::{from_value, json};
use windlass_control::offline::Cluster;
use windlass_core::model::{Pool, Settings, Snapshot};
use windlass_core::{Plan, Report, plan};

use crate::stage::{Stage, waits};

impl Stage {
    /// Plans for all pods that wait.
    pub async fn plan(&self, pools: &[Pool]) -> (Plan, Report) {
        let mut snapshot = self.snapshot().await;
        let pools = pools.iter().map(|pool| (pool.name.clone(), Arc::new(pool.clone())));
        snapshot.pools = Arc::new(pools.collect());
        plan(&snapshot, Timestamp::UNIX_EPOCH)
    }

    /// The cluster as the controller would see it, pools aside.
    async fn snapshot(&self) -> Snapshot {
        let cluster = &self.cluster;
        let mut seen = Cluster::new(Timestamp::UNIX_EPOCH);
        for (name, labels) in cluster.namespaces() {
            let metadata = json!({"name": name, "labels": labels});
            seen.saw::<Namespace>(from_value(json!({"metadata": metadata})).unwrap());
        }
        cluster.storage.classes.values().for_each(|class| seen.saw(class.clone()));
        cluster.daemon_sets.iter().for_each(|set| seen.saw(set.clone()));
        let ours = ListParams::default().labels(&self.ours());
        let list = self.all::<PersistentVolume>().list(&ours).await.unwrap();
        list.items.into_iter().for_each(|volume| seen.saw(volume));
        let list = self.all::<PersistentVolumeClaim>().list(&ours).await.unwrap();
        list.items.into_iter().for_each(|claim| seen.saw(claim));
        let list = self.all::<k8s_openapi::api::storage::v1::CSINode>().list(&ours).await.unwrap();
        list.items.into_iter().for_each(|node| seen.saw(node));
        let list = self.all::<Node>().list(&ours).await.unwrap();
        list.items.into_iter().for_each(|node| seen.saw(node));
        let pods: Api<Pod> = self.all();
        let list = pods.list(&ours).await.unwrap();
        list.items.into_iter().for_each(|pod| seen.saw_pod(given_up_on(pod)));
        seen.snapshot(&Settings { search_steps: 200, ..Settings::default() })
    }
}

/// The pod as it would be without its gate: the scheduler would have found no node for it.
fn given_up_on(mut pod: Pod) -> Pod {
    if waits(&pod) {
        pod.spec.as_mut().unwrap().scheduling_gates = None;
        let condition = json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]);
        pod.status.get_or_insert_default().conditions = Some(from_value(condition).unwrap());
    }
    pod
}
