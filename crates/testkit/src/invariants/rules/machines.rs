//! I1: at most one live machine per claim, and at most one claim per machine.
//!
//! A claim's machines are those with its UID in their tag and, when it takes over another claim's machine, those with
//! that claim's UID. Whatever launched the second one, a lost response, a crash or a stale cache, the tags show it.
//! A machine that is being ended is no longer live.

use std::sync::Arc;

use super::super::event::{Kind, ObjectName};
use super::super::facts::{Claim, Machine};
use super::super::violation::{Finding, Invariant};
use super::super::world::Step;
use super::Case;

/// Judges a machine that has come to be.
pub(in super::super) fn machine_appears(case: &mut Case<'_>, step: &Step<Machine>) {
    let Some(machine) = &step.after else { return };
    let was_live = step.before.as_ref().is_some_and(|before| before.live);
    if was_live || !machine.live || !case.options.scope.includes_cluster(&machine.cluster_id) {
        return;
    }
    one_machine(case, &machine.claim_uid, None);
    let adopters: Vec<Arc<Claim>> = case.world.adopters(&machine.claim_uid).cloned().collect();
    for adopter in adopters {
        one_machine(case, &adopter.uid, Some(&machine.claim_uid));
    }
    if let Some(adopted) = case.world.claim(&machine.claim_uid).and_then(|claim| claim.adopted_uid.clone()) {
        one_machine(case, &machine.claim_uid, Some(&adopted));
    }
}

/// Judges a claim that has come to have a machine, or that takes one over.
pub(in super::super) fn claim_gets_machine(case: &mut Case<'_>, step: &Step<Claim>) {
    let Some(claim) = &step.after else { return };
    if step.before.as_ref().is_some_and(|before| before.provider_id == claim.provider_id) {
        return;
    }
    let Some(provider_id) = &claim.provider_id else {
        return;
    };
    let others = case.world.claims_with_machine(provider_id).filter(|other| other.uid != claim.uid);
    for other in others {
        case.findings.push(Finding::new(
            Invariant::OneMachinePerClaim,
            format!("NodeClaims {} and {} both have the machine {provider_id}", claim.name, other.name),
            vec![claim_name(claim), claim_name(other)],
        ));
    }
    if step.before.is_none()
        && let Some(adopted) = &claim.adopted_uid
    {
        one_machine(case, &claim.uid, Some(adopted));
    }
}

/// Counts the live machines tagged for a claim and, beside them, those tagged for the claim whose machine it adopts.
fn one_machine(case: &mut Case<'_>, uid: &str, adopted: Option<&str>) {
    let tags = [Some(uid), adopted];
    let live: Vec<_> = tags
        .iter()
        .flatten()
        .flat_map(|tag| case.world.machines_of(tag))
        .filter(|machine| machine.live && case.options.scope.includes_cluster(&machine.cluster_id))
        .collect();
    if live.len() < 2 {
        return;
    }
    let claim = case.world.claim(uid);
    let called = claim.map_or_else(|| format!("with UID {uid}"), |claim| claim.name.clone());
    let ids: Vec<_> = live.iter().map(|machine| machine.provider_id.as_str()).collect();
    let message = format!("NodeClaim {called} has {} live machines: {}", live.len(), ids.join(", "));
    let machines = live.iter().map(|machine| machine.name.clone());
    let objects = claim.map(|claim| claim_name(claim)).into_iter().chain(machines).collect();
    case.findings.push(Finding::new(Invariant::OneMachinePerClaim, message, objects));
}

fn claim_name(claim: &Claim) -> ObjectName {
    ObjectName::new(Kind::NodeClaim, &claim.name)
}
