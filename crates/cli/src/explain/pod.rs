use std::fmt::Write as _;

use anyhow::{Result, bail};
use windlass_control::offline::Cluster;
use windlass_core::model::{Claim, ClaimPhase, Pod, PodId, PodOwner, PodState, Resources};
use windlass_core::plan::{Target, Unplaced};

use super::alike;
use crate::search::Answer;

/// Says of a pod why it waits, or where it is or will be.
pub(super) fn explain(name: &str, cluster: &Cluster, answer: &Answer) -> Result<String> {
    let (namespace, name) = name.split_once('/').unwrap_or(("default", name));
    let id = PodId::new(namespace, name);
    if let Some(phase) = cluster.ended(&id) {
        return Ok(format!("Pod {id} has ended ({phase}): it needs no place.\n"));
    }
    let Some(pod) = answer.snapshot.pods.get(&id) else {
        let others = answer.snapshot.pods.keys().filter(|other| *other.namespace == *namespace);
        let hint = alike(name, others.map(|other| &*other.name));
        bail!("there is no pod {name} in namespace {namespace}{hint}");
    };
    Ok(state(pod, answer))
}

fn state(pod: &Pod, answer: &Answer) -> String {
    let id = &pod.id;
    if let PodState::Bound(node) = &pod.state {
        let going = if pod.deleting { " and is being deleted" } else { "" };
        return format!("Pod {id} is on node {node}{going}.\n");
    }
    if let Some(why) = left_alone(pod) {
        return format!("Pod {id} has no node: {why}.\n");
    }
    let placed = answer.plan.placements.iter().find(|placement| placement.pod == *id);
    let unplaced = answer.report.unplaced.iter().find(|group| group.pods.contains(id));
    let mut words = match (placed, unplaced) {
        (Some(placement), _) => {
            format!("Pod {id} waits and {}.\n", destination(&placement.target, id, answer))
        }
        (None, Some(group)) => pending(id, group),
        (None, None) if matches!(pod.state, PodState::Waiting { .. }) => {
            format!(
                "Pod {id} waits for the scheduler, which has not said anything of it yet. Nothing is launched for it until the scheduler finds no place for it or has been silent for --scheduler-silence.\n"
            )
        }
        (None, None) => format!("Pod {id} waits, and nothing is planned for it.\n"),
    };
    let asked = asked(&pod.shape.requests);
    if !asked.is_empty() {
        let _ = writeln!(words, "It asks for {asked}.");
    }
    words
}

/// Why nothing is planned for a pod that has no node, if that is so.
pub(crate) fn left_alone(pod: &Pod) -> Option<&'static str> {
    if pod.deleting {
        Some("it is being deleted")
    } else if pod.shape.foreign_scheduler {
        Some("it belongs to another scheduler, so Windlass leaves it alone")
    } else if pod.shape.owner == PodOwner::DaemonSet {
        Some("it belongs to a daemonset, whose pods come with their nodes")
    } else if pod.shape.owner == PodOwner::Node {
        Some("it is the mirror of a static pod, which comes with its node")
    } else if pod.state == PodState::Gated {
        Some("a scheduling gate holds it back, and nothing is launched for it until that is removed")
    } else {
        None
    }
}

fn destination(target: &Target, id: &PodId, answer: &Answer) -> String {
    match target {
        Target::Node(node) => format!("is expected on node {node}, which has room for it"),
        Target::Claim(claim) => {
            let how_far = answer.snapshot.claims.get(claim).map_or("", |claim| how_far(claim));
            format!("is expected on the node of claim {claim}, which is on its way{how_far}")
        }
        Target::Launch(number) => {
            let launch = answer.plan.launches.get(*number);
            let Some((launch, first)) = launch.and_then(|launch| Some((launch, launch.offerings.first()?)))
            else {
                return "is expected on a machine that is launched for it".to_owned();
            };
            let others = launch.pods.iter().filter(|pod| *pod != id).count();
            let beside = match others {
                0 => String::new(),
                1 => ", together with 1 other pod".to_owned(),
                more => format!(", together with {more} other pods"),
            };
            format!(
                "a machine is to be launched for it{beside}: pool {}, {} in {}, {}, ${}/h",
                launch.pool, first.key.instance_type, first.key.zone, first.key.capacity_type, first.price
            )
        }
    }
}

fn how_far(claim: &Claim) -> &'static str {
    match claim.phase {
        ClaimPhase::Pending => ": its machine is not launched yet",
        ClaimPhase::Launched => ": its machine is launched and has not joined yet",
        ClaimPhase::Registered => ": its node has joined and is being prepared",
        ClaimPhase::Initialized => "",
    }
}

fn pending(id: &PodId, group: &Unplaced) -> String {
    let others = group.pods.len().saturating_sub(1);
    let like = match others {
        0 => String::new(),
        1 => ", as does 1 other pod like it".to_owned(),
        more => format!(", as do {more} other pods like it"),
    };
    let mut words = format!("Pod {id} stays pending{like}:\n");
    if group.everywhere.is_some() || group.pools.is_empty() {
        let _ = writeln!(words, "  {}", group.summary());
    }
    for reason in &group.pools {
        let _ = writeln!(words, "  pool {}: {}", reason.pool, reason.exclusion);
    }
    words
}

/// Its place among pods goes without saying.
fn asked(requests: &Resources) -> String {
    let told = requests.iter().filter(|(name, amount)| &***name != Resources::PODS && *amount > 0);
    told.map(|(name, amount)| (&**name, amount)).collect::<Resources>().to_string()
}
