use std::collections::{BTreeMap, BTreeSet};

use super::refuge::Refuge;
use super::view::View;
use super::words;
use crate::Text;
use crate::model::{Claim, ClaimPhase, DisruptionReason};

/// Whether a claim's node has been found sick and waits for what becomes of it.
pub(super) fn is_sick(claim: &Claim) -> bool {
    claim.disrupted == Some(DisruptionReason::Sick) && !claim.deleting
}

/// Pools of which so much is sick that the fault is hardly the nodes': the sick claims stay and nothing is got in their
/// place, for a cut network would otherwise cost a second cluster. With each pool the number of sick claims and of all.
pub(super) fn doubtful(view: &View<'_>) -> BTreeMap<Text, (usize, usize)> {
    let mut counts: BTreeMap<Text, (usize, usize)> = BTreeMap::new();
    for claim in view.snapshot.claims.values().filter(|claim| !claim.deleting) {
        // What is still arriving has had no chance to fall ill.
        if is_sick(claim) || claim.phase == ClaimPhase::Initialized {
            let (sick, all) = counts.entry(claim.pool.clone()).or_default();
            *sick += usize::from(is_sick(claim));
            *all += 1;
        }
    }
    let most = view.snapshot.settings.max_sick_percent as usize;
    counts.retain(|_, (sick, all)| *sick >= 2 && sick.saturating_mul(100) > all.saturating_mul(most));
    counts
}

/// The claim that was made to take the place of another and is still on its way, if there is one. What was got for the
/// pods of a node is waited for, also where they could meanwhile go elsewhere: others may count on that room too.
pub(super) fn replacement_on_its_way<'a>(view: &View<'a>, claim: &Claim) -> Option<&'a Claim> {
    let claims = view.snapshot.claims.values().map(|other| &**other);
    claims.into_iter().find(|other| {
        other.replaces.contains(&claim.name) && !other.deleting && other.phase != ClaimPhase::Initialized
    })
}

/// What becomes of a sick claim: the reason why it goes, or else why it stays for now.
pub(super) fn verdict(
    refuge: Refuge,
    replacement: Option<&Claim>,
    minimum_on_its_way: bool,
) -> Result<String, String> {
    let Refuge { arriving, launching, nowhere } = refuge;
    if launching {
        return Err("sick; a replacement is launched".to_owned());
    }
    if arriving > 0 {
        let pods = words::count(arriving, "pod");
        return Err(format!("sick; waiting for the replacement that {pods} of it will go to"));
    }
    if let Some(replacement) = replacement {
        return Err(format!("sick; waiting for its replacement {}", replacement.name));
    }
    if minimum_on_its_way {
        return Err("sick; waiting for the node that keeps the pool at its minimum".to_owned());
    }
    if nowhere > 0 {
        // A dead node serves nobody, so keeping it would not help them.
        return Ok(format!("sick; {} of it can go nowhere else at present", words::count(nowhere, "pod")));
    }
    Ok("sick; all its pods can go to other nodes".to_owned())
}

/// The sick claims that the plan may give up.
pub(super) fn given_up(view: &View<'_>, doubtful: &BTreeMap<Text, (usize, usize)>) -> BTreeSet<Text> {
    let sick = view.snapshot.claims.values().filter(|claim| is_sick(claim) && view.decides_about(claim));
    sick.filter(|claim| !doubtful.contains_key(&claim.pool)).map(|claim| claim.name.clone()).collect()
}
