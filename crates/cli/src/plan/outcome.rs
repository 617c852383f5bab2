use serde::Serialize;
use windlass_core::model::{PodId, PodState};
use windlass_core::plan::{Exclusion, Target};

use crate::explain;
use crate::search::Answer;

/// A plan for programs. The names are stable.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outcome {
    /// What the machines to launch cost, in dollars per hour.
    cost: f64,
    /// No machines that hold the same pods cost less.
    lower_bound: f64,
    /// How far the cost is above the lower bound at most.
    pub(super) gap_percent: f64,
    elapsed_ms: u64,
    launch: Vec<Launch>,
    placed: Vec<Placed>,
    unschedulable: Vec<Unschedulable>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remove: Vec<Remove>,
    /// Pods without a node that the plan has nothing to say about, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) not_planned: Vec<NotPlanned>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    below_minimum: Vec<Reason>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Launch {
    pool: String,
    instance_type: String,
    zone: String,
    capacity_type: String,
    price: f64,
    pods: Vec<PodId>,
}

/// A pod that goes to a node that is there, or to that of a claim that is on its way.
#[derive(Debug, Serialize)]
struct Placed {
    pod: PodId,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<String>,
}

#[derive(Debug, Serialize)]
struct Unschedulable {
    pod: PodId,
    reasons: Vec<Reason>,
}

#[derive(Clone, Debug, Serialize)]
struct Reason {
    /// The pool, or none where it is the same for all of them.
    pool: Option<String>,
    constraint: String,
    message: String,
}

#[derive(Debug, Serialize)]
struct Remove {
    claim: String,
    node: Option<String>,
    reason: String,
    message: String,
}

#[derive(Debug, Serialize)]
pub(super) struct NotPlanned {
    pub(super) pod: PodId,
    pub(super) message: String,
}

impl Outcome {
    pub(super) fn of(answer: &Answer) -> Self {
        let (plan, report) = (&answer.plan, &answer.report);
        Self {
            cost: plan.launch_cost().dollars(),
            lower_bound: report.lower_bound.dollars(),
            gap_percent: gap(report.cost.dollars(), report.lower_bound.dollars()),
            elapsed_ms: u64::try_from(answer.elapsed.as_millis()).unwrap_or(u64::MAX),
            launch: plan.launches.iter().filter_map(launch).collect(),
            placed: placed(answer),
            unschedulable: unschedulable(answer),
            remove: removed(answer),
            not_planned: not_planned(answer),
            below_minimum: report
                .short_pools
                .iter()
                .map(|short| reason(Some(&short.pool), &short.exclusion))
                .collect(),
        }
    }

    pub(super) fn something_is_pending(&self) -> bool {
        !self.unschedulable.is_empty()
    }
}

/// In percent, to the hundredth.
fn gap(cost: f64, bound: f64) -> f64 {
    if bound <= 0.0 { 0.0 } else { ((cost / bound - 1.0) * 10_000.0).round().max(0.0) / 100.0 }
}

fn launch(launch: &windlass_core::plan::Launch) -> Option<Launch> {
    let first = launch.offerings.first()?;
    let mut pods = launch.pods.clone();
    pods.sort();
    Some(Launch {
        pool: launch.pool.to_string(),
        instance_type: first.key.instance_type.to_string(),
        zone: first.key.zone.to_string(),
        capacity_type: first.key.capacity_type.to_string(),
        price: first.price.dollars(),
        pods,
    })
}

fn placed(answer: &Answer) -> Vec<Placed> {
    let placed = answer.plan.placements.iter().filter_map(|placement| {
        let (node, claim) = match &placement.target {
            Target::Node(node) => (Some(node.to_string()), None),
            Target::Claim(claim) => {
                let node = answer.snapshot.claims.get(claim).and_then(|claim| claim.node.as_ref());
                (node.map(ToString::to_string), Some(claim.to_string()))
            }
            Target::Launch(_) => return None,
        };
        Some(Placed { pod: placement.pod.clone(), node, claim })
    });
    placed.collect()
}

fn unschedulable(answer: &Answer) -> Vec<Unschedulable> {
    let groups = answer.report.unplaced.iter().flat_map(|group| {
        let mut reasons: Vec<Reason> =
            group.everywhere.iter().map(|exclusion| reason(None, exclusion)).collect();
        reasons.extend(group.pools.iter().map(|each| reason(Some(&each.pool), &each.exclusion)));
        if reasons.is_empty() {
            reasons.push(Reason { pool: None, constraint: "noPool".to_owned(), message: group.summary() });
        }
        group.pods.iter().map(move |pod| Unschedulable { pod: pod.clone(), reasons: reasons.clone() })
    });
    let mut pods: Vec<Unschedulable> = groups.collect();
    pods.sort_by(|a, b| a.pod.cmp(&b.pod));
    pods
}

fn reason(pool: Option<&windlass_core::Text>, exclusion: &Exclusion) -> Reason {
    let told = serde_json::to_value(exclusion).unwrap_or_default();
    let constraint = told.get("constraint").and_then(|name| name.as_str()).unwrap_or_default();
    Reason {
        pool: pool.map(ToString::to_string),
        constraint: constraint.to_owned(),
        message: exclusion.to_string(),
    }
}

fn removed(answer: &Answer) -> Vec<Remove> {
    let removed = answer.plan.going().map(|(claim, reason, message)| {
        let told = answer.report.nodes.iter().find(|node| node.claim == *claim);
        Remove {
            claim: claim.to_string(),
            node: told.and_then(|node| node.node.as_ref()).map(ToString::to_string),
            reason: reason.as_str().to_owned(),
            message: message.to_owned(),
        }
    });
    removed.collect()
}

fn not_planned(answer: &Answer) -> Vec<NotPlanned> {
    let waiting = answer.snapshot.pods.values().filter(|pod| !matches!(pod.state, PodState::Bound(_)));
    let told = waiting.filter_map(|pod| {
        Some(NotPlanned { pod: pod.id.clone(), message: explain::left_alone(pod)?.to_owned() })
    });
    told.collect()
}
