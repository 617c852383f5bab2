use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A demand on the labels that a node of the pool has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new(
        "!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)")
        .message("operators In and NotIn need at least one value"),
    validation = Rule::new(
        "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || size(self.values) == 0")
        .message("operators Exists and DoesNotExist take no values"),
    validation = Rule::new(
        "!(self.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || \
         (has(self.values) && size(self.values) == 1 && self.values[0].matches('^[0-9]{1,15}$'))")
        .message("operators Gt, Lt, Gte and Lte need one value, a whole number of at most 15 digits"),
    validation = Rule::new(
        "!has(self.minValues) || self.operator != 'In' || (has(self.values) && size(self.values) >= self.minValues)")
        .message("operator In needs at least minValues values")
)]
pub struct NodeRequirement {
    /// The label, for example `node.kubernetes.io/instance-type` or `topology.kubernetes.io/zone`.
    #[schemars(length(min = 1, max = 316))]
    pub key: String,
    /// How the label relates to the values.
    pub operator: RequirementOperator,
    /// The values: one or more for In and NotIn, one whole number for Gt, Lt, Gte and Lte, none for Exists and
    /// DoesNotExist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 500), inner(length(max = 63)))]
    pub values: Vec<String>,
    /// How many different values of the label the ways to get a machine must have at least, for example to have several
    /// instance types to fall back on. A machine for which there are fewer is not launched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 50))]
    pub min_values: Option<i32>,
}

/// How a requirement relates a label to its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs, reason = "the names are Kubernetes' own")]
pub enum RequirementOperator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Gt,
    Lt,
    Gte,
    Lte,
}

/// A taint that nodes of the pool carry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Taint {
    /// The taint's key.
    #[schemars(length(min = 1, max = 316))]
    pub key: String,
    /// The taint's value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub value: Option<String>,
    /// What happens to pods that do not tolerate it.
    pub effect: TaintEffect,
}

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs, reason = "the names are Kubernetes' own")]
pub enum TaintEffect {
    NoSchedule,
    PreferNoSchedule,
    NoExecute,
}
