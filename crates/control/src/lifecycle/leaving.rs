//! A claim that is being deleted: drain its node, end its machine, let go.

use std::time::Duration;

use jiff::Timestamp;
use windlass_api::NodeClaim;
use windlass_api::conditions::{self, Truth};
use windlass_core::model::Node;
use windlass_providers::{ErrorKind, ProviderError, Termination};

use super::draft::{Draft, machine_uid};
use super::node::is_cordoned;
use super::{Answer, Effect, Observation, Times};
use crate::index::Registrant;
use crate::planted::{Mistake, is_planted};

pub(super) fn step(draft: &mut Draft<'_>, claim: &NodeClaim, seen: &Observation, times: &Times) {
    draft.say_why(claim, seen);
    draft.note_revocation(seen);
    if let Some(Answer::Failed(why)) = &seen.answer {
        draft.note(true, "Retrying", why);
        draft.look_again_after(times.retry_after(seen.errors));
        return;
    }
    let node = own_node(claim, seen);
    if draft.is(conditions::TERMINATED) {
        return match node {
            Some(_) => draft.act(Effect::DeleteNode),
            None => release(draft, claim, times),
        };
    }
    if draft.status.provider_id.is_none() && !find_machine(draft, claim, seen, times) {
        return;
    }
    let Some(provider_id) = draft.status.provider_id.clone() else { return };
    if let Some(node) = node
        && !is_planted(Mistake::SkipsDrain)
        && (is_lost(draft, claim, &provider_id, node, seen, times)
            || !empty_node(draft, claim, node, seen, times))
    {
        return;
    }
    terminate(draft, claim, &provider_id, node, seen, times);
}

/// The node that stands for the claim, unless it is marked as another's: then it is not ours to drain.
fn own_node<'a>(claim: &NodeClaim, seen: &'a Observation) -> Option<&'a Node> {
    let Registrant::Node(node) = &seen.registrant else { return None };
    let ours = node
        .claim_uid
        .as_deref()
        .is_none_or(|marked| Some(marked) == claim.metadata.uid.as_deref() || *marked == *machine_uid(claim));
    ours.then_some(node)
}

/// Whether it is known which machine the claim has. A claim may have one that it does not know of: the process was
/// killed, or the answer lost, after the provider was asked.
fn find_machine(draft: &mut Draft<'_>, claim: &NodeClaim, seen: &Observation, times: &Times) -> bool {
    let never_asked = draft.status.launch.is_none();
    if never_asked || claim.spec.adopt.is_some() {
        draft.terminated("NeverLaunched", "no machine was ever asked for");
        release(draft, claim, times);
        return false;
    }
    match &seen.answer {
        Some(Answer::Found(Ok(Some(machine)))) => {
            draft.has_machine(machine);
            return true;
        }
        Some(Answer::Found(Err(error))) => return wait_for_provider(draft, error, seen, times),
        _ => {}
    }
    draft.not_ready("Terminating", "making sure that the provider has no machine for this claim");
    if seen.absence.is_proven() {
        match (&seen.answer, in_doubt(draft, claim, times)) {
            (_, Some(left)) => draft.look_again_after(left),
            (Some(Answer::Found(Ok(None))), None) => {
                draft.terminated("NeverLaunched", "the provider has no machine for this claim");
                release(draft, claim, times);
            }
            (_, None) => draft.act(Effect::Find),
        }
        return false;
    }
    let wait = seen.absence.ask_after(draft.now, times.absence_interval);
    if wait.is_zero() {
        draft.act(Effect::Find);
    } else {
        draft.look_again_after(wait);
    }
    false
}

/// Whether the machine was lost, or may have been, so that there is something better to do than to drain its node: the
/// pods there run no more, and neither a budget nor a pod that nobody is left to end may keep what is a ghost.
fn is_lost(
    draft: &mut Draft<'_>,
    claim: &NodeClaim,
    provider_id: &str,
    node: &Node,
    seen: &Observation,
    times: &Times,
) -> bool {
    if node.is_ready() || !seen.absence.is_suspected() {
        return false;
    }
    if seen.absence.is_proven() {
        let message = format!("the provider has no machine {provider_id} any more");
        draft.terminated("MachineLost", &message);
        draft.note(true, "MachineLost", &message);
        let_go(draft, claim, Some(node), times);
        return true;
    }
    let ask = seen.answer.is_none() && seen.absence.ask_after(draft.now, times.absence_interval).is_zero();
    if ask {
        draft.act(Effect::Get(provider_id.into()));
    }
    ask
}

/// Whether the node has neither pods nor volumes left.
fn empty_node(
    draft: &mut Draft<'_>,
    claim: &NodeClaim,
    node: &Node,
    seen: &Observation,
    times: &Times,
) -> bool {
    if !is_cordoned(node) {
        draft.not_ready("Draining", "no new pods are let in");
        draft.act(Effect::CordonNode);
        return false;
    }
    let deadline = drain_deadline(claim);
    if !draft.is(conditions::DRAINED) {
        match &seen.answer {
            Some(Answer::Drained(progress)) if progress.remaining == 0 => {
                draft.condition(conditions::DRAINED, Truth::True, "Drained", "no pods are left");
                draft.note(false, "Drained", &format!("node {} is drained", node.name));
            }
            Some(Answer::Drained(progress)) => {
                let message = progress.to_string();
                draft.condition(conditions::DRAINED, Truth::Unknown, "Draining", &message);
                draft.not_ready("Draining", &message);
                if !progress.blocked.is_empty() {
                    draft.note(true, "DrainBlocked", &message);
                }
                draft.look_again_after(times.poll_interval);
                return false;
            }
            _ => {
                draft.act(Effect::Drain { deadline });
                return false;
            }
        }
    }
    if !draft.is(conditions::VOLUMES_DETACHED) {
        let overdue = deadline.is_some_and(|deadline| deadline <= draft.now);
        match &seen.answer {
            Some(Answer::Volumes(left)) if left.is_empty() || overdue => {
                draft.condition(conditions::VOLUMES_DETACHED, Truth::True, "Detached", "no volumes are left");
            }
            Some(Answer::Volumes(left)) => {
                let message = format!("waiting for volumes to be detached: {}", left.join(", "));
                draft.condition(conditions::VOLUMES_DETACHED, Truth::Unknown, "Detaching", &message);
                draft.not_ready("Detaching", &message);
                draft.look_again_after(times.poll_interval);
                return false;
            }
            _ => {
                draft.act(Effect::ListVolumes);
                return false;
            }
        }
    }
    true
}

fn drain_deadline(claim: &NodeClaim) -> Option<Timestamp> {
    let since = claim.metadata.deletion_timestamp.as_ref()?.0;
    let period = claim.spec.termination_grace_period?.limit()?;
    Some(since.saturating_add(period).unwrap_or(Timestamp::MAX))
}

/// The reason of a claim that is let go of although its machine is still there.
const NOT_OURS: &str = "NotOurs";

fn terminate(
    draft: &mut Draft<'_>,
    claim: &NodeClaim,
    provider_id: &str,
    node: Option<&Node>,
    seen: &Observation,
    times: &Times,
) {
    if seen.absence.is_proven() || is_planted(Mistake::LetsGoEarly) {
        let disowned = matches!(&seen.answer, Some(Answer::Terminated(Err(ProviderError::NotOurs { .. }))));
        let (reason, message) = if disowned {
            (
                NOT_OURS,
                format!("{provider_id} does not bear our mark any more and is left to whoever took it"),
            )
        } else {
            ("Terminated", format!("{provider_id} is gone"))
        };
        draft.terminated(reason, &message);
        draft.note(disowned, reason, &message);
        return let_go(draft, claim, node, times);
    }
    let message = if seen.absence.is_suspected() {
        format!(
            "waiting for a second answer: the provider has said once that it has no machine {provider_id}"
        )
    } else {
        format!("{provider_id} is being given back")
    };
    match &seen.answer {
        Some(Answer::Terminated(Err(ProviderError::NotFound { .. }) | Ok(Termination::Gone))) => {
            draft.condition(conditions::TERMINATED, Truth::Unknown, "SaidToBeGone", &message);
            draft.not_ready("Terminating", &message);
            draft.look_again_after(seen.absence.ask_after(draft.now, times.absence_interval));
        }
        Some(Answer::Terminated(Err(error @ ProviderError::NotOurs { .. }))) => {
            let message = format!("waiting for a second answer: {error}");
            draft.condition(conditions::TERMINATED, Truth::Unknown, NOT_OURS, &message);
            draft.not_ready("Terminating", &message);
            draft.look_again_after(seen.absence.ask_after(draft.now, times.absence_interval));
        }
        Some(Answer::Terminated(Ok(Termination::UnderWay))) => {
            draft.condition(conditions::TERMINATED, Truth::Unknown, "Terminating", &message);
            draft.not_ready("Terminating", &message);
            draft.look_again_after(times.poll_interval);
        }
        Some(Answer::Terminated(Err(error))) => {
            wait_for_provider(draft, error, seen, times);
        }
        _ => {
            // What the last answer was stays said until there is another.
            if conditions::find(&draft.status.conditions, conditions::TERMINATED).is_none() {
                draft.not_ready("Terminating", &message);
            }
            let wait = seen.absence.ask_after(draft.now, times.absence_interval);
            if wait.is_zero() {
                draft.act(Effect::Terminate(provider_id.into()));
            } else {
                draft.look_again_after(wait);
            }
        }
    }
}

fn wait_for_provider(
    draft: &mut Draft<'_>,
    error: &ProviderError,
    seen: &Observation,
    times: &Times,
) -> bool {
    let message = format!("waiting for the provider: {error}");
    draft.condition(conditions::TERMINATED, Truth::Unknown, error.kind().as_str(), &message);
    draft.not_ready("Terminating", &message);
    draft.note(true, error.kind().as_str(), &message);
    draft.look_again_after(times.retry_after(seen.errors));
    false
}

fn let_go(draft: &mut Draft<'_>, claim: &NodeClaim, node: Option<&Node>, times: &Times) {
    draft.not_ready("Terminated", "the machine is gone");
    if node.is_some() {
        draft.act(Effect::DeleteNode);
    } else {
        release(draft, claim, times);
    }
}

/// Lets the claim go, unless something that is still under way could make it anew under its name.
fn release(draft: &mut Draft<'_>, claim: &NodeClaim, times: &Times) {
    if draft.has_token() {
        draft.act(Effect::RevokeToken);
        return;
    }
    match name_kept(draft, claim, times) {
        Some(left) => draft.look_again_after(left),
        None => draft.act(Effect::ReleaseClaim),
    }
}

/// For how long the claim's name stays taken.
fn name_kept(draft: &Draft<'_>, claim: &NodeClaim, times: &Times) -> Option<Duration> {
    draft.left_of(times.name_kept, claim.metadata.creation_timestamp.as_ref()?.0)
}

/// For how long a launch that went unanswered may still have its effect, and the claim has to count for a machine that nobody
/// has seen. None was asked for after the claim was deleted.
fn in_doubt(draft: &Draft<'_>, claim: &NodeClaim, times: &Times) -> Option<Duration> {
    let certain = [ErrorKind::InsufficientCapacity, ErrorKind::Quota, ErrorKind::InvalidConfiguration];
    let launched = conditions::find(&draft.status.conditions, conditions::LAUNCHED);
    let refused = launched.is_some_and(|launched| {
        launched.status == "False" && certain.iter().any(|kind| kind.as_str() == launched.reason)
    });
    let deleted = claim.metadata.deletion_timestamp.as_ref().filter(|_| !refused)?.0;
    draft.left_of(times.name_kept, deleted)
}
