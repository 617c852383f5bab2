use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ApiQuantity, ClusterAutoscalerOptions, Disruption, Headroom, JoinMethod, LimitedDuration,
    NodeRequirement, Pace, PoolDriver, Taint, UserData, Utilization,
};

/// What kind of nodes Windlass may create, how many, and how they are treated.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "windlass.dev",
    version = "v1alpha1",
    kind = "NodePool",
    plural = "nodepools",
    singular = "nodepool",
    shortname = "wnp",
    category = "windlass",
    status = "NodePoolStatus",
    doc = "What kind of nodes Windlass may create, how many, and how they are treated.",
    printcolumn(name = "Provider", type_ = "string", json_path = ".spec.providerRef.name"),
    printcolumn(name = "Nodes", type_ = "integer", json_path = ".status.nodes"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(name = "Cost/h", type_ = "string", json_path = ".status.costPerHour"),
    printcolumn(name = "CPU", type_ = "string", json_path = ".status.resources.cpu"),
    printcolumn(name = "Memory", type_ = "string", json_path = ".status.resources.memory"),
    printcolumn(name = "Driver", type_ = "string", json_path = ".spec.driver", priority = 1),
    printcolumn(name = "Weight", type_ = "integer", json_path = ".spec.weight", priority = 1),
    printcolumn(name = "Min", type_ = "integer", json_path = ".spec.minNodes", priority = 1),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].message"#,
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.replicas) || (!has(self.headroom) && !has(self.utilization) && (!has(self.minNodes) || self.minNodes == 0))")
        .message("replicas fixes the number of nodes: leave minNodes, headroom and utilization out"),
    validation = Rule::new("!has(self.driver) || self.driver == 'Windlass' || (!has(self.replicas) && !has(self.headroom) && !has(self.utilization))")
        .message("Cluster Autoscaler decides how many nodes the pool has: leave replicas, headroom and utilization out"),
    validation = Rule::new("!has(self.clusterAutoscaler) || (has(self.driver) && self.driver == 'ClusterAutoscaler')")
        .message("clusterAutoscaler has a meaning only with the driver ClusterAutoscaler")
)]
pub struct NodePoolSpec {
    /// The NodeProvider that the machines come from.
    pub provider_ref: ObjectRef,

    /// Who decides how many nodes the pool has: `Windlass`, or `ClusterAutoscaler` for one that is connected by gRPC. With
    /// the latter Windlass launches and gives back what it is told to, within `limits`, and nothing by itself: `weight`,
    /// `performance`, `minValues`, `expireAfter`, stabilization windows and all of `disruption` have no effect, and
    /// `replicas`, `headroom` and `utilization` are refused. Default `Windlass`.
    #[serde(default)]
    pub driver: PoolDriver,

    /// How Cluster Autoscaler treats the pool's nodes where that is to be other than its flags say. From its version 1.35 on,
    /// where this is given, it takes nodes that have joined and are not ready yet for broken ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_autoscaler: Option<ClusterAutoscalerOptions>,

    /// Pools with a higher weight are tried first. Default 0.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100))]
    pub weight: i32,

    /// What every node of the pool looks like.
    #[serde(default)]
    pub template: NodeTemplate,

    /// Ceilings on the pool as a whole, counted over all its machines, also those on their way: `nodes`, `cpu`,
    /// `memory` or any other resource. They are never exceeded, not even for a moment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(
        validation = Rule::new("!('nodes' in self) || quantity(string(self['nodes'])).isInteger()")
            .message("the limit on nodes must be a whole number")
    )]
    #[schemars(schema_with = "ApiQuantity::map_of_non_negative")]
    pub limits: BTreeMap<String, ApiQuantity>,

    /// The number of nodes the pool keeps even when nothing runs on them; restored when nodes are lost. Where Cluster
    /// Autoscaler decides, it restores them if it runs with `--enforce-node-group-min-size`. Default 0.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10000))]
    pub min_nodes: i32,

    /// The number of nodes that the pool has whatever pods ask for. Nodes that are lost are replaced, and when the number is
    /// made smaller those with the fewest pods go. Without it the pool has what pods need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10000))]
    pub replicas: Option<i32>,

    /// Free capacity that is kept ready for pods that may come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Headroom>,

    /// How much of what the pool's nodes have is to be asked for by pods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub utilization: Vec<Utilization>,

    /// How the pool grows.
    #[serde(default)]
    pub scale_up: Pace,

    /// How the pool shrinks.
    #[serde(default)]
    pub scale_down: Pace,

    /// Whether the pool is left as it is: no machine is launched and no node goes, except what somebody deletes. To do the
    /// same for all pools, annotate the namespace that Windlass runs in with `windlass.dev/paused`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,

    /// How fast the pool's machines are compared with others. Where two machines would do, the one that gives more for
    /// its price is taken. The first entry whose requirements a machine meets counts; without one it is as fast as others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub performance: Vec<Performance>,

    /// How and when nodes are given back.
    #[serde(default)]
    pub disruption: Disruption,
}

/// How fast some of a pool's machines are compared with others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Performance {
    /// Which machines: demands on their labels, all of which must hold. Without any, all machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(
        validation = Rule::new("self.all(r, !has(r.minValues))")
            .message("minValues has a meaning only in template.spec.requirements")
    )]
    #[schemars(length(max = 20))]
    pub requirements: Vec<NodeRequirement>,
    /// Their speed in percent: 100 is as fast as others, and a machine of 125 is worth a quarter more of its price.
    #[schemars(range(min = 1, max = 1000))]
    pub percent: i32,
}

/// What every node of a pool looks like.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeTemplate {
    /// Labels and annotations for the pool's nodes.
    #[serde(default)]
    pub metadata: NodeTemplateMetadata,
    /// The machines and how they are treated.
    #[serde(default)]
    pub spec: NodeTemplateSpec,
}

/// Labels and annotations for a pool's nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeTemplateMetadata {
    /// Labels that every node of the pool has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(
        validation = Rule::new("self.all(key, !key.startsWith('windlass.dev/') && key != 'kubernetes.io/hostname')")
            .message("labels under windlass.dev/ and kubernetes.io/hostname are set by Windlass and the kubelet")
    )]
    #[schemars(extend("maxProperties" = 100))]
    pub labels: BTreeMap<String, String>,
    /// Annotations that every node of the pool has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(
        validation = Rule::new("self.all(key, !key.startsWith('windlass.dev/'))")
            .message("annotations under windlass.dev/ are set by Windlass")
    )]
    #[schemars(extend("maxProperties" = 100))]
    pub annotations: BTreeMap<String, String>,
}

/// The machines of a pool and how they are treated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("(has(self.join) && self.join == 'UserData') == has(self.userData)")
        .message("join: UserData and userData go together: give both or neither")
)]
pub struct NodeTemplateSpec {
    /// Which machines the pool takes: demands on their labels, all of which must hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(
        validation = Rule::new("self.all(r, !(r.key in ['windlass.dev/pool', 'kubernetes.io/hostname']))")
            .message("a pool cannot require windlass.dev/pool or kubernetes.io/hostname")
    )]
    #[schemars(length(max = 100))]
    pub requirements: Vec<NodeRequirement>,

    /// Taints that every node of the pool carries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    pub taints: Vec<Taint>,

    /// Taints that nodes carry at first and that something else removes, for example a network plugin. Pods need
    /// not tolerate them, and a node is not initialized before they are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    pub startup_taints: Vec<Taint>,

    /// How long nodes live, or `Never`: after that they are replaced. It counts for nodes that are there already when it is
    /// changed. Default `Never`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expire_after: Option<LimitedDuration>,

    /// How long a drain may take. After that, the pods that are left are deleted whatever their budgets say.
    /// Without it, a drain waits as long as it must.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(
        validation = Rule::new("self != 'Never'")
            .message("leave terminationGracePeriod out to let drains take as long as they must")
    )]
    pub termination_grace_period: Option<LimitedDuration>,

    /// How a machine that boots becomes a node: `Image`, its image joins by itself, or `UserData`, it is told how by
    /// `userData`. Default `Image`.
    #[serde(default, skip_serializing_if = "JoinMethod::is_image")]
    pub join: JoinMethod,

    /// With `join: UserData`: what each machine gets as its user data, for example cloud-init's. `{{windlass.token}}` and
    /// other variables in it are filled in for each machine. Whoever may read the pool can read it, so it is no place for
    /// secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_data: Option<UserData>,
}

/// The name of a cluster-scoped object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef {
    /// The object's name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// What Windlass says about a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePoolStatus {
    /// How many claims the pool has, on their way and leaving ones included.
    #[serde(default)]
    pub nodes: i32,
    /// The capacity of those claims' machines: what is counted against the limits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, ApiQuantity>,
    /// What those machines cost, in dollars per hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_per_hour: Option<String>,
    /// Whether the pool can be used, and why not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}
