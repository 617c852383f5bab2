use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::LimitedDuration;

/// Who decides how many nodes a pool has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PoolDriver {
    /// Windlass: it gets machines for pods that wait and gives back nodes that are not worth their price.
    #[default]
    Windlass,
    /// A Cluster Autoscaler that is connected to Windlass by gRPC: each kind of machine that the pool takes is a node
    /// group to it.
    ClusterAutoscaler,
}

/// How Cluster Autoscaler treats a pool's nodes where that is to be other than its flags say. What is left out is as its
/// flags say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAutoscalerOptions {
    /// How much of a node's cpu or memory pods may ask for at most for it to be given back, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub scale_down_utilization_percent: Option<i32>,
    /// The same for the GPUs of a node that has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub scale_down_gpu_utilization_percent: Option<i32>,
    /// How long a node must have been unneeded before it is given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self != 'Never'").message("give a duration such as 10m"))]
    pub scale_down_unneeded_time: Option<LimitedDuration>,
    /// The same for a node that is not ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self != 'Never'").message("give a duration such as 10m"))]
    pub scale_down_unready_time: Option<LimitedDuration>,
    /// How long a machine may take to become a node. Windlass gives it up after its own `--registration-deadline` if that
    /// is shorter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self != 'Never'").message("give a duration such as 10m"))]
    pub max_node_provision_time: Option<LimitedDuration>,
    /// Whether pods of daemonsets are left out when it is looked at how much of a node is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore_daemon_sets_utilization: Option<bool>,
}
