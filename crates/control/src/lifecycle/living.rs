//! A claim that is to stay: get a machine, wait for its node, look after it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use windlass_api::conditions::{self, Truth};
use windlass_api::{JoinMethod, LaunchAttempt, NodeClaim, labels};
use windlass_core::model::{DisruptionReason, Driver, Node, OfferingKey, Readiness};
use windlass_providers::{ErrorKind, ProviderError};

use super::draft::{Draft, machine_uid};
use super::exit::NODE_GONE;
use super::node::{is_cordoned, is_marked, missing_taints, waits_for};
use super::{Answer, BeforeOpening, Count, Effect, Exit, Observation, Times};
use crate::adapt;
use crate::index::Registrant;
use crate::planted::{Mistake, is_planted};

pub(super) fn step(draft: &mut Draft<'_>, claim: &NodeClaim, seen: &Observation, times: &Times) {
    draft.note_revocation(seen);
    if let Some(Answer::Failed(why)) = &seen.answer {
        draft.note(true, "Retrying", why);
        draft.look_again_after(times.retry_after(seen.errors));
        return;
    }
    if !claim.finalizers().iter().any(|finalizer| finalizer == labels::FINALIZER) {
        draft.act(Effect::HoldClaim);
        return;
    }
    if draft.status.provider_id.is_none() {
        get_machine(draft, claim, seen, times);
    }
    if let Some(provider_id) = draft.status.provider_id.clone() {
        look_after(draft, claim, &provider_id, seen, times);
    }
    if draft.is(conditions::REGISTERED) && draft.has_token() {
        draft.act_if_idle(Effect::RevokeToken);
    }
}

fn get_machine(draft: &mut Draft<'_>, claim: &NodeClaim, seen: &Observation, times: &Times) {
    if draft.is_given_up(conditions::LAUNCHED) {
        go_once_seen(draft, conditions::LAUNCHED, seen, times);
        return;
    }
    if let Some(adopt) = &claim.spec.adopt {
        match &seen.answer {
            Some(Answer::Got(Ok(machine))) if *machine.tag.claim_uid == *adopt.claim_uid => {
                draft.has_machine(machine);
            }
            Some(Answer::Got(Ok(_) | Err(ProviderError::NotFound { .. }))) => {
                let message = format!("there is no machine {} tagged {}", adopt.provider_id, adopt.claim_uid);
                draft.give_up(conditions::LAUNCHED, "AdoptionFailed", &message);
                go_once_seen(draft, conditions::LAUNCHED, seen, times);
            }
            Some(Answer::Got(Err(error))) => launch_again_later(draft, error, seen, times),
            _ => draft.act(Effect::Get(adopt.provider_id.as_str().into())),
        }
        return;
    }
    match &seen.answer {
        Some(Answer::Launched(Ok(machine))) if machine.tag.claim_uid == machine_uid(claim) => {
            draft.has_machine(machine);
        }
        Some(Answer::Launched(Ok(machine))) => {
            let message = format!(
                "the provider answered with {}, which is tagged for another claim",
                machine.provider_id
            );
            launch_again_later(draft, &ProviderError::transient(message), seen, times);
        }
        Some(Answer::Launched(Err(error))) => launch_failed(draft, claim, error, seen, times),
        Some(Answer::Unprepared(why)) => {
            try_again_later(draft, "CannotJoin", why);
            draft.look_again_after(times.retry_after(seen.errors));
        }
        _ => launch(draft, claim, seen, times),
    }
}

/// Writes down that a launch is under way, and that there may be a token for its machine, then launches. A launch that was
/// under way when the process was killed is asked for again under the same key, which finds the machine if there is one.
fn launch(draft: &mut Draft<'_>, claim: &NodeClaim, seen: &Observation, times: &Times) {
    let now = draft.now;
    let attempt = draft.status.launch.get_or_insert_with(LaunchAttempt::default);
    let started = attempt.started_at.get_or_insert(Time(now)).0;
    attempt.bootstrap_token |= claim.spec.join == JoinMethod::UserData;
    let offering = usize::try_from(attempt.offering).unwrap_or(usize::MAX);
    if draft.left_of(times.launch_deadline, started).is_none() {
        let message = format!("no machine after {}s", times.launch_deadline.as_secs());
        draft.give_up(conditions::LAUNCHED, "LaunchTimeout", &message);
        go_once_seen(draft, conditions::LAUNCHED, seen, times);
        return;
    }
    let Some(wanted) = claim.spec.offerings.get(offering) else {
        draft.give_up(conditions::LAUNCHED, "NoOffering", "the claim has no offering left to try");
        go_once_seen(draft, conditions::LAUNCHED, seen, times);
        return;
    };
    let message = format!("{} in {}, {}", wanted.instance_type, wanted.zone, wanted.capacity_type);
    if conditions::find(&draft.status.conditions, conditions::LAUNCHED).is_none() {
        draft.condition(conditions::LAUNCHED, Truth::Unknown, "Launching", &message);
        draft.not_ready("Launching", &message);
    }
    draft.act(Effect::Launch(offering));
}

fn launch_failed(
    draft: &mut Draft<'_>,
    claim: &NodeClaim,
    error: &ProviderError,
    seen: &Observation,
    times: &Times,
) {
    let index = draft.status.launch.as_ref().map_or(0, |launch| launch.offering);
    let offering = claim.spec.offerings.get(usize::try_from(index).unwrap_or(usize::MAX));
    match error.kind() {
        // The provider says for certain that there is no machine, and that asking again will not help.
        kind @ (ErrorKind::InsufficientCapacity | ErrorKind::Quota | ErrorKind::InvalidConfiguration) => {
            if let Some(offering) = offering {
                draft.failed(offering_key(offering));
            }
            let next = index.saturating_add(1);
            let message = error.to_string();
            if usize::try_from(next).is_ok_and(|next| next < claim.spec.offerings.len()) {
                if let Some(launch) = &mut draft.status.launch {
                    launch.offering = next;
                }
                draft.condition(conditions::LAUNCHED, Truth::Unknown, kind.as_str(), &message);
                draft.not_ready("Launching", &message);
                draft.note(true, kind.as_str(), &format!("{message}; the next choice is tried"));
                draft.act(Effect::Launch(usize::try_from(next).unwrap_or(usize::MAX)));
            } else {
                draft.give_up(conditions::LAUNCHED, kind.as_str(), &message);
                go_once_seen(draft, conditions::LAUNCHED, seen, times);
            }
        }
        _ => launch_again_later(draft, error, seen, times),
    }
}

fn launch_again_later(draft: &mut Draft<'_>, error: &ProviderError, seen: &Observation, times: &Times) {
    try_again_later(draft, error.kind().as_str(), &error.to_string());
    let asked_for = match error {
        ProviderError::Throttled { retry_after, .. } => *retry_after,
        _ => None,
    };
    draft.look_again_after(asked_for.unwrap_or_else(|| times.retry_after(seen.errors)));
}

fn try_again_later(draft: &mut Draft<'_>, reason: &'static str, message: &str) {
    draft.condition(conditions::LAUNCHED, Truth::Unknown, reason, message);
    draft.not_ready("Launching", message);
    draft.note(true, reason, message);
}

fn look_after(
    draft: &mut Draft<'_>,
    claim: &NodeClaim,
    provider_id: &str,
    seen: &Observation,
    times: &Times,
) {
    let ready_node = matches!(&seen.registrant, Registrant::Node(node) if node.is_ready());
    if seen.absence.is_proven() && !ready_node {
        let message = format!("the provider has no machine {provider_id} any more");
        draft.goes(Exit::Lost, &message);
        draft.terminated("MachineLost", &message);
        draft.not_ready("MachineLost", &message);
        draft.note(true, "MachineLost", &message);
        draft.act(Effect::DeleteClaim);
        return;
    }
    if seen.absence.is_suspected() && !ready_node {
        let wait = seen.absence.ask_after(draft.now, times.absence_interval);
        if wait.is_zero() && seen.answer.is_none() {
            draft.act(Effect::Get(provider_id.into()));
            return;
        }
        draft.look_again_after(wait.max(times.poll_interval / 10));
    }
    if let Some(outlook) = &seen.outlook {
        draft.status.ends_at = outlook.ends_at.map(Time);
        draft.status.drift = outlook.drift.as_ref().map(ToString::to_string);
    }
    match &seen.registrant {
        Registrant::Several(names) => {
            let message =
                format!("nodes {} all say they run on {provider_id}; none is trusted", names.join(", "));
            draft.condition(conditions::REGISTERED, Truth::Unknown, "AmbiguousNode", &message);
            draft.not_ready("AmbiguousNode", &message);
            draft.note(true, "AmbiguousNode", &message);
        }
        Registrant::Nobody | Registrant::Stranger(_) if draft.is(conditions::REGISTERED) => {
            draft.note(true, NODE_GONE, "the node was deleted; its machine is given back");
            draft.not_ready(NODE_GONE, "the node was deleted");
            draft.act(Effect::DeleteClaim);
        }
        Registrant::Nobody => wait_for_node(draft, claim, seen, times),
        Registrant::Stranger(why) => {
            if !draft.is_given_up(conditions::REGISTERED) {
                draft.condition(conditions::REGISTERED, Truth::Unknown, "ForeignNode", why);
                draft.not_ready("ForeignNode", why);
                draft.note(true, "ForeignNode", why);
            }
            wait_for_node(draft, claim, seen, times);
        }
        Registrant::Node(node) if node.deleting => {
            draft.note(
                false,
                "NodeDeleted",
                "the node is being deleted; it is drained and its machine given back",
            );
            draft.act(Effect::DeleteClaim);
        }
        Registrant::Node(node) => with_node(draft, claim, node, seen, times),
    }
}

fn wait_for_node(draft: &mut Draft<'_>, claim: &NodeClaim, seen: &Observation, times: &Times) {
    if is_planted(Mistake::WaitsForever) {
        return;
    }
    if draft.is_given_up(conditions::REGISTERED) {
        go_once_seen(draft, conditions::REGISTERED, seen, times);
        return;
    }
    let launched = draft.since(conditions::LAUNCHED).unwrap_or(draft.now);
    if let Some(left) = draft.left_of(times.registration_deadline, launched) {
        draft.look_again_after(left);
        return;
    }
    if let Some(key) = launched_key(draft) {
        draft.failed(key);
    }
    let message = format!(
        "{} did not become a node within {}s; it is given back",
        draft.status.provider_id.as_deref().unwrap_or(claim.spec.provider_ref.name.as_str()),
        times.registration_deadline.as_secs()
    );
    draft.give_up(conditions::REGISTERED, "RegistrationTimeout", &message);
    go_once_seen(draft, conditions::REGISTERED, seen, times);
}

/// Lets a claim go that was given up. Where somebody else decides about the pool, it is kept for a while, so that they learn
/// why; they may delete it sooner.
fn go_once_seen(draft: &mut Draft<'_>, given_up: &str, seen: &Observation, times: &Times) {
    let since = draft.since(given_up).filter(|_| seen.driver == Driver::ClusterAutoscaler);
    match since.and_then(|since| draft.left_of(times.failure_shown, since)) {
        Some(left) => draft.look_again_after(left),
        None => draft.act(Effect::DeleteClaim),
    }
}

fn with_node(draft: &mut Draft<'_>, claim: &NodeClaim, node: &Node, seen: &Observation, times: &Times) {
    let uid = claim.uid().unwrap_or_default();
    if node.claim_uid.as_deref().is_some_and(|marked| marked != uid && *marked != *machine_uid(claim)) {
        let message = format!("node {} is marked as another claim's", node.name);
        draft.condition(conditions::REGISTERED, Truth::Unknown, "ForeignNode", &message);
        draft.not_ready("ForeignNode", &message);
        draft.note(true, "ForeignNode", &message);
        return;
    }
    if !draft.is(conditions::REGISTERED) {
        if !is_marked(node, claim) {
            draft.act(Effect::MarkNode);
            return;
        }
        if waits_for(node, labels::UNREGISTERED_TAINT) {
            match seen.nominations.next(node.is_ready(), draft.now) {
                BeforeOpening::Nominate => {
                    draft.act(Effect::Nominate(seen.nominations.missing.clone()));
                    return;
                }
                BeforeOpening::Wait(time) => {
                    draft.not_ready("Nominating", "pods are nominated to the node before it is opened");
                    draft.look_again_after(time);
                    return;
                }
                BeforeOpening::Nothing => {}
            }
        }
        if !missing_taints(node, claim).is_empty() || waits_for(node, labels::UNREGISTERED_TAINT) {
            draft.act(Effect::OpenNode);
            return;
        }
        draft.status.node_name = Some(node.name.to_string());
        let message = format!("the machine is node {}", node.name);
        draft.condition(conditions::REGISTERED, Truth::True, "Registered", &message);
        draft.note(false, "Registered", &message);
        // Only now: a machine that was launched and never joins is of no use, and each further try comes later.
        if let Some(key) = launched_key(draft) {
            draft.had(key);
        }
    }
    if draft.is(conditions::INITIALIZED) {
        if !go_or_stay(draft, claim, node, seen) {
            return;
        }
        look_after_node(draft, node, seen, times);
    } else {
        initialize(draft, claim, node);
    }
    let opened = draft.since(conditions::REGISTERED);
    if opened.is_some_and(|opened| seen.nominations.are_missed(opened, draft.now)) {
        draft.act(Effect::Nominate(seen.nominations.missing.clone()));
    }
}

/// Closes the node if it was decided that the claim is to go, and opens it again if it stays after all. Whether there is
/// nothing to do about that.
fn go_or_stay(draft: &mut Draft<'_>, claim: &NodeClaim, node: &Node, seen: &Observation) -> bool {
    match adapt::claim(claim).decision {
        Some(_) => {
            draft.say_why(claim, seen);
            if !is_cordoned(node) {
                draft.act(Effect::CordonNode);
                return false;
            }
        }
        None if waits_for(node, labels::DISRUPTED_TAINT) => {
            draft.act(Effect::UncordonNode);
            return false;
        }
        None if draft.is(conditions::DISRUPTED) && !draft.is_for(conditions::DISRUPTED, SICK) => {
            draft.condition(conditions::DISRUPTED, Truth::False, "Stays", "the node stays after all");
        }
        None => {}
    }
    true
}

/// The reason of a node that has not been ready for too long.
const SICK: &str = "Sick";

fn initialize(draft: &mut Draft<'_>, claim: &NodeClaim, node: &Node) {
    let waiting_for = if node.is_ready() {
        super::node::startup_taint(node, claim).map(|taint| format!("taint {taint} to be removed"))
    } else {
        Some("the kubelet to be ready".to_owned())
    };
    if let Some(what) = waiting_for {
        let message = format!("waiting for {what}");
        draft.condition(conditions::INITIALIZED, Truth::Unknown, "Initializing", &message);
        draft.not_ready("Initializing", &message);
        return;
    }
    draft.condition(conditions::INITIALIZED, Truth::True, "Initialized", "the node takes pods");
    draft.condition(conditions::READY, Truth::True, "Ready", "the node takes pods");
    draft.note(false, "Initialized", &format!("node {} takes pods", node.name));
}

fn look_after_node(draft: &mut Draft<'_>, node: &Node, seen: &Observation, times: &Times) {
    // A node that goes on and off is not reported each time.
    let since = draft.since(conditions::READY).filter(|_| draft.is(conditions::READY) != node.is_ready());
    if let Some(left) = since.and_then(|since| draft.left_of(times.status_interval, since)) {
        draft.look_again_after(left);
        return;
    }
    match node.readiness {
        Readiness::Ready => {
            draft.condition(conditions::READY, Truth::True, "Ready", "the node takes pods");
            if ails(draft, node, seen) {
                return;
            }
            if draft.is_for(conditions::DISRUPTED, SICK) {
                draft.condition(conditions::DISRUPTED, Truth::False, "Recovered", "the node is ready again");
                draft.note(false, "Recovered", &format!("node {} is ready again and stays", node.name));
                draft.count(Count::TakenBack);
            }
        }
        Readiness::NotReady { since } => {
            draft.not_ready("NodeNotReady", &format!("node {} is not ready", node.name));
            let Some(limit) = times.repair_after(seen.repair.after) else { return };
            if let Some(left) = draft.left_of(limit, since) {
                draft.look_again_after(left);
            } else {
                sicken(draft, &format!("node {} has not been ready for {}s", node.name, limit.as_secs()));
            }
        }
    }
}

/// Whether a node that is ready is sick by one of the conditions that its pool names.
fn ails(draft: &mut Draft<'_>, node: &Node, seen: &Observation) -> bool {
    let mut sick = false;
    for (kind, status, limit) in &seen.repair.conditions {
        let matching = node.conditions.iter().find(|each| each.kind == *kind && each.status == *status);
        let Some(condition) = matching else { continue };
        match draft.left_of(*limit, condition.since) {
            Some(left) => draft.look_again_after(left),
            None => {
                sick = true;
                let seconds = limit.as_secs();
                sicken(draft, &format!("node {} has had {kind}={status} for {seconds}s", node.name));
            }
        }
    }
    sick
}

/// Marks a claim as one whose node is to be replaced because it does not work.
fn sicken(draft: &mut Draft<'_>, message: &str) {
    if !draft.is_for(conditions::DISRUPTED, SICK) {
        draft.goes(Exit::Disrupted(DisruptionReason::Sick), message);
        draft.note(true, SICK, &format!("{message}; it is replaced"));
        draft.count(Count::Decided(DisruptionReason::Sick));
    }
}

fn launched_key(draft: &Draft<'_>) -> Option<OfferingKey> {
    Some(OfferingKey {
        instance_type: draft.status.instance_type.as_deref()?.into(),
        zone: draft.status.zone.as_deref()?.into(),
        capacity_type: draft.status.capacity_type.as_deref()?.into(),
    })
}

fn offering_key(offering: &windlass_api::ClaimOffering) -> OfferingKey {
    OfferingKey {
        instance_type: offering.instance_type.as_str().into(),
        zone: offering.zone.as_str().into(),
        capacity_type: offering.capacity_type.as_str().into(),
    }
}
