use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::LimitedDuration;

/// How and when nodes are given back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Disruption {
    /// Which nodes are given back: `WhenEmpty` those without pods other than those of daemonsets,
    /// `WhenEmptyOrUnderutilized` also those whose pods can run for less elsewhere. Default `WhenEmptyOrUnderutilized`.
    #[serde(default)]
    pub consolidation_policy: ConsolidationPolicy,

    /// What has to be saved for each pod that moves, in dollars per hour, for nodes with pods to be given back.
    /// Default 0.001.
    #[serde(default = "Disruption::default_min_savings_per_move")]
    #[schemars(length(max = 20), regex(pattern = r"^[0-9]{1,9}(\.[0-9]{1,6})?$"))]
    pub min_savings_per_move: String,

    /// How long nothing must have changed on a node, no pod having come or left, before it is given back, or `Never`.
    /// Default 30s.
    #[serde(default = "Disruption::default_consolidate_after")]
    pub consolidate_after: LimitedDuration,

    /// How many of the pool's nodes may be on their way out at the same time. Nodes that are not ready count as if they
    /// were. Where several budgets apply, the strictest counts. Nodes that are sick, those that somebody deletes or wants
    /// replaced, and those whose machines the provider will end go whatever the budgets say. Default: a tenth of the nodes,
    /// empty ones aside.
    #[serde(default = "Disruption::default_budgets")]
    #[schemars(length(max = 50))]
    pub budgets: Vec<Budget>,

    /// How long before their end nodes are replaced, whether by `expireAfter` or because the provider says so. Nodes that
    /// came together begin at different times, up to a tenth of their lives earlier. Default 10m.
    #[serde(default = "Disruption::default_rotate_before")]
    #[x_kube(
        validation = Rule::new("self != 'Never'").message("leave expireAfter out to keep nodes for ever")
    )]
    pub rotate_before: LimitedDuration,

    /// When a node is taken for sick and replaced.
    #[serde(default)]
    pub repair: Repair,
}

impl Disruption {
    fn default_consolidate_after() -> LimitedDuration {
        LimitedDuration::seconds(30)
    }

    fn default_rotate_before() -> LimitedDuration {
        LimitedDuration::seconds(600)
    }

    fn default_budgets() -> Vec<Budget> {
        let reasons = vec![BudgetReason::Underutilized, BudgetReason::Drifted, BudgetReason::Expiring];
        let (schedule, duration, time_zone) = (None, None, None);
        vec![Budget { nodes: "10%".to_owned(), reasons, schedule, duration, time_zone }]
    }

    fn default_min_savings_per_move() -> String {
        "0.001".to_owned()
    }
}

/// Which nodes are given back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConsolidationPolicy {
    /// Those without pods other than those of daemonsets.
    WhenEmpty,
    /// Also those whose pods can run for less elsewhere.
    #[default]
    WhenEmptyOrUnderutilized,
}

impl Default for Disruption {
    fn default() -> Self {
        Self {
            consolidation_policy: ConsolidationPolicy::default(),
            min_savings_per_move: Self::default_min_savings_per_move(),
            consolidate_after: Self::default_consolidate_after(),
            budgets: Self::default_budgets(),
            rotate_before: Self::default_rotate_before(),
            repair: Repair::default(),
        }
    }
}

/// When a node is taken for sick.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Repair {
    /// How long a node may be not ready, or `Never`. Default: what the controller was started with, 10m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<LimitedDuration>,

    /// Conditions of a node that make it sick although it is ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub conditions: Vec<RepairCondition>,
}

/// A condition that makes a node sick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepairCondition {
    /// The condition's type, for example `GpuHealthy`.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 316))]
    pub kind: String,
    /// The status that makes the node sick: `True`, `False` or `Unknown`.
    #[schemars(regex(pattern = r"^(True|False|Unknown)$"))]
    pub status: String,
    /// How long it has to last. Default 10m.
    #[serde(default = "RepairCondition::default_after")]
    #[x_kube(
        validation = Rule::new("self != 'Never'").message("leave the condition out to ignore it")
    )]
    pub after: LimitedDuration,
}

impl RepairCondition {
    fn default_after() -> LimitedDuration {
        LimitedDuration::seconds(600)
    }
}

/// How many nodes may be on their way out at the same time, and when that counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.schedule) == has(self.duration)")
        .message("schedule and duration go together: when the budget begins to count, and for how long"),
    validation = Rule::new("!has(self.timeZone) || has(self.schedule)")
        .message("timeZone has a meaning only with a schedule"),
    validation = Rule::new("!has(self.duration) || (self.duration != 'Never' && duration(self.duration) >= duration('1m'))")
        .message("the duration must be a minute or more")
)]
pub struct Budget {
    /// So many, as a number or as a part of the pool's nodes such as `10%`, rounded up. 0 keeps all nodes.
    #[schemars(length(max = 10), regex(pattern = r"^((100|[0-9]{1,2})%|[0-9]{1,5})$"))]
    pub nodes: String,

    /// The reasons for which it counts. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub reasons: Vec<BudgetReason>,

    /// When it begins to count: minute, hour, day of the month, month and day of the week as in cron, for example
    /// `0 9 * * mon-fri`, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. Default: always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub schedule: Option<String>,

    /// For how long it counts from then on, a minute or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<LimitedDuration>,

    /// The time zone whose clocks the schedule goes by, for example `Europe/Berlin`. Default: UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 60))]
    pub time_zone: Option<String>,
}

/// A reason for which a budget counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BudgetReason {
    /// Nothing runs on the node.
    Empty,
    /// Its pods can run for less elsewhere.
    Underutilized,
    /// It is not what its pool would launch today.
    Drifted,
    /// Its time is nearly over.
    Expiring,
    /// Its pool is to have fewer nodes.
    Surplus,
}
