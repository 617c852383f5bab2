//! I8: a claim's life goes forward.
//!
//! Which machine a claim has, that it was launched and that its node was ready for pods once are facts: whoever writes that
//! they are not so has acted on an older version of the claim than there was. So has whoever writes a status that has been
//! written less often than the one it takes the place of.

use super::super::event::{Kind, ObjectName, Writer};
use super::super::facts::Claim;
use super::super::violation::{Finding, Invariant};
use super::super::world::Step;
use super::Case;

/// Judges what has become of a claim.
pub(in super::super) fn claim_goes_on(case: &mut Case<'_>, step: &Step<Claim>, writer: Writer) {
    let (Some(before), Some(after)) = (&step.before, &step.after) else { return };
    if writer == Writer::Other || !case.options.scope.includes_pool(&after.pool) {
        return;
    }
    let machine = match (&before.provider_id, &after.provider_id) {
        (Some(had), None) => Some(format!("no longer says that it has the machine {had}")),
        (Some(had), Some(has)) if had != has => Some(format!("had the machine {had} and has {has}")),
        _ => None,
    };
    let launched =
        (before.launched && !after.launched).then(|| "was launched and is not any more".to_owned());
    let initialized =
        (before.initialized && !after.initialized).then(|| "was initialized and is not any more".to_owned());
    let written = (after.revision < before.revision)
        .then(|| "has a status again that is older than the one it had".to_owned());
    if let Some(what) = machine.or(launched).or(initialized).or(written) {
        let message = format!("NodeClaim {} {what}", after.name);
        let objects = vec![ObjectName::new(Kind::NodeClaim, &after.name)];
        case.findings.push(Finding::new(Invariant::ClaimsGoForward, message, objects));
    }
}
