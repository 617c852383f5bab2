//! What becomes of nodes that were decided to go.
//!
//! The decision is written on the claims before anything is done. Their nodes are closed to new pods, the machines that are
//! to take their place are got, and only when all of these stand, and the pods would still find room, do the claims go. If
//! something has changed in the meantime the decision is taken back and the nodes are opened again.

use jiff::SignedDuration;

use super::refuge::Refuges;
use super::view::View;
use super::{guards, minimum, rotate, words};
use crate::model::{Claim, Decision, DisruptionReason, Node};

/// What is to become of a decision.
pub(super) enum Progress {
    /// The claim goes now.
    Goes(String),
    /// Something has yet to happen.
    Waits(String),
    /// The claim stays after all.
    Stays(String),
}

/// The taint of a node that is on its way out.
const DISRUPTED: &str = "windlass.dev/disrupted";

/// What is to become of the decision that a claim goes for a reason, in a plan that lets its pool have so many more nodes.
pub(super) fn progress(
    view: &View<'_>,
    claim: &Claim,
    (reason, decision): (DisruptionReason, &Decision),
    refuges: &Refuges,
    gets: usize,
) -> Progress {
    // Whether it is sick is another matter, which must not wait for this one.
    let Some(node) = view.node_of(&claim.name).filter(|_| view.is_up(claim)) else {
        return Progress::Stays("its node is not ready".to_owned());
    };
    if rotate::is_last_call(view, claim) {
        return Progress::Goes(decision.message.to_string());
    }
    for name in &decision.replacements {
        match view.snapshot.claims.get(name) {
            None => return Progress::Stays(format!("its replacement {name} did not come about")),
            Some(other) if other.deleting => {
                return Progress::Stays(format!("its replacement {name} did not come about"));
            }
            Some(other) if !view.stands(other) => {
                return Progress::Waits(format!("waits for its replacement {name}"));
            }
            Some(_) => {}
        }
    }
    if !is_closed(node) {
        return Progress::Waits("its node is being closed to new pods".to_owned());
    }
    let pool = view.snapshot.pools.get(&claim.pool);
    if pool.is_some_and(|pool| pool.paused) {
        return Progress::Waits("its pool is paused".to_owned());
    }
    if let Some(pool) = pool.filter(|pool| minimum::awaits(view, pool) > 0) {
        return match minimum::lacking(view, pool, gets) {
            0 if reason != DisruptionReason::Empty => {
                Progress::Waits("waits for the node that keeps the pool at its minimum".to_owned())
            }
            _ => Progress::Stays("the pool would have fewer nodes than its minimum".to_owned()),
        };
    }
    if reason == DisruptionReason::Empty {
        if node.stays_until.is_some_and(|until| until > view.now) {
            return Progress::Stays(format!("node {} is not to be disrupted", node.name));
        }
        let pods = view.keeping(&node.name).count();
        return if pods == 0 {
            Progress::Goes(decision.message.to_string())
        } else {
            Progress::Stays(format!("{} came before it was closed", words::count(pods, "pod")))
        };
    }
    if let Some(why) = guards::keeps_for_long(view, claim, node) {
        return Progress::Stays(why);
    }
    if let Some(why) = guards::keeps_for_now(view, node) {
        return if is_overdue(view, decision) { Progress::Stays(why) } else { Progress::Waits(why) };
    }
    match refuges.of_claim(&claim.name) {
        refuge if refuge.nowhere > 0 && reason != DisruptionReason::Surplus => {
            Progress::Stays(format!("{} of it would find no place", words::count(refuge.nowhere, "pod")))
        }
        refuge if refuge.arriving > 0 => {
            let pods = words::count(refuge.arriving, "pod");
            Progress::Waits(format!("waits for the nodes that {pods} of it will go to"))
        }
        _ => Progress::Goes(decision.message.to_string()),
    }
}

/// Whether the pods were not allowed to leave for too long.
fn is_overdue(view: &View<'_>, decision: &Decision) -> bool {
    let patience = SignedDuration::try_from(view.snapshot.settings.decision_patience);
    view.now.duration_since(decision.since) > patience.unwrap_or(SignedDuration::MAX)
}

/// Whether no new pods come to the node.
fn is_closed(node: &Node) -> bool {
    node.unschedulable && node.taints.iter().any(|taint| &*taint.key == DISRUPTED)
}
