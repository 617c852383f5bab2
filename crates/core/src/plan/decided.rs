//! What becomes of nodes that were decided to go.
//!
//! The decision is written on the claims before anything is done. Their nodes are closed to new pods, the machines that are
//! to take their place are got, and only when all of these stand, and the pods would still find room, do the claims go. If
//! something has changed in the meantime the decision is taken back and the nodes are opened again.

use super::guards;
use super::refuge::Refuges;
use super::view::View;
use super::words;
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

pub(super) fn progress(view: &View<'_>, claim: &Claim, decision: &Decision, refuges: &Refuges) -> Progress {
    // Whether it is sick is another matter, which must not wait for this one.
    let Some(node) = view.node_of(&claim.name).filter(|_| view.is_up(claim)) else {
        return Progress::Stays("its node is not ready".to_owned());
    };
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
    if claim.disrupted == Some(DisruptionReason::Empty) {
        let pods = view.pods_on(&node.name).iter().filter(|pod| !pod.shape.belongs_to_node()).count();
        return if pods == 0 {
            Progress::Goes(decision.message.to_string())
        } else {
            Progress::Stays(format!("{} came before it was closed", words::count(pods, "pod")))
        };
    }
    if let Some(why) = guards::keeps(view, claim, node) {
        return Progress::Stays(why);
    }
    match refuges.of_claim(&claim.name) {
        refuge if refuge.nowhere > 0 => {
            Progress::Stays(format!("{} of it would find no place", words::count(refuge.nowhere, "pod")))
        }
        refuge if refuge.arriving > 0 => {
            let pods = words::count(refuge.arriving, "pod");
            Progress::Waits(format!("waits for the nodes that {pods} of it will go to"))
        }
        _ => Progress::Goes(decision.message.to_string()),
    }
}

/// Whether no new pods come to the node.
fn is_closed(node: &Node) -> bool {
    node.unschedulable && node.taints.iter().any(|taint| &*taint.key == DISRUPTED)
}
