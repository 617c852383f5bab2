//! What the pods would cost at least if there were nothing yet.

use k8s_openapi::api::core::v1::Pod;
use serde_json::{from_value, json};
use windlass_control::offline::Cluster;
use windlass_core::model::Settings;
use windlass_core::{Report, plan};

use crate::hands::now;
use crate::lab::Lab;

/// Plans for the pods as if they waited in a cluster without nodes.
pub async fn from_nothing(lab: &Lab, pods: &[Pod]) -> Report {
    let mut cluster = Cluster::new(now());
    cluster.saw(lab.provider_api().get(&lab.named("sim")).await.unwrap());
    cluster.saw(lab.pool_api().get(&lab.named("pool")).await.unwrap());
    for pod in pods {
        cluster.saw_pod(without_a_place(pod));
    }
    assert_eq!(cluster.read_offers(), [""; 0]);
    let (plan, report) = plan(&cluster.snapshot(&Settings::default()), cluster.now());
    assert_eq!(plan.placements.len(), pods.len(), "{:?}", report.unplaced);
    report
}

fn without_a_place(pod: &Pod) -> Pod {
    let mut pod = pod.clone();
    pod.spec.as_mut().unwrap().node_name = None;
    let condition = json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]);
    pod.status = from_value(json!({"phase": "Pending", "conditions": condition})).unwrap();
    pod
}
