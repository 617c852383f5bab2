use kube::KubeSchema;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::LimitedDuration;

/// Free capacity that is kept ready: exactly one of the three.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("(has(self.nodes) ? 1 : 0) + (has(self.percent) ? 1 : 0) + (has(self.pods) ? 1 : 0) == 1")
        .message("give exactly one of nodes, percent and pods")
)]
pub struct Headroom {
    /// The number of nodes on which nothing runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub nodes: Option<i32>,
    /// The part of the pool's cpu and memory that no pod asks for, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 90))]
    pub percent: Option<i32>,
    /// Room for so many pods like this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<HeadroomPods>,
}

/// Pods for which there is to be room although nobody has made them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeadroomPods {
    /// How many.
    #[schemars(range(min = 1, max = 1000))]
    pub replicas: i32,
    /// What they look like: metadata and spec as in a Deployment's pod template.
    #[schemars(schema_with = "any_object")]
    pub template: Value,
}

fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// How much of a resource of the pool's nodes is to be asked for by pods, in percent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.floor) || has(self.ceiling)")
        .message("give a floor, a ceiling or both"),
    validation = Rule::new("!has(self.floor) || !has(self.ceiling) || self.floor < self.ceiling")
        .message("the floor must be below the ceiling")
)]
pub struct Utilization {
    /// Which resource: `cpu`, `memory`, `nvidia.com/gpu` or any other.
    #[schemars(length(min = 1, max = 316))]
    pub resource: String,
    /// While less is asked for, nodes are given back whose pods fit on others, whatever the consolidation policy says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub floor: Option<i32>,
    /// While more is asked for, nodes are added; and no node is given back where then more would be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub ceiling: Option<i32>,
}

/// How fast a pool grows or shrinks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pace {
    /// For how long a need has to last. For growing: pods wait this long before machines are got for them, unless others
    /// like them have waited longer. For shrinking: after the pool's last launch no node is given back for so long for being
    /// empty or too little used. Default 0s.
    #[serde(default = "Pace::default_stabilization_window")]
    #[x_kube(validation = Rule::new("self != 'Never'").message("set paused to leave the pool as it is"))]
    pub stabilization_window: LimitedDuration,
    /// How many machines may be launched, or nodes go, within a minute. Default: any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10000))]
    pub max_per_minute: Option<i32>,
}

impl Pace {
    fn default_stabilization_window() -> LimitedDuration {
        LimitedDuration::seconds(0)
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self { stabilization_window: Self::default_stabilization_window(), max_per_minute: None }
    }
}
