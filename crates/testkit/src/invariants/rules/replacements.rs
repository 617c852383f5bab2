//! I6: a replacement is ready before its victim goes.
//!
//! A claim names its victims in an annotation, and a victim of which it was decided that it goes names those that take its
//! place: what an earlier decision had made counts no more. From when it exists until it is initialized or itself given up, no
//! victim may begin to leave: be deleted, or have a pod evicted while it is not being deleted. That its node is closed to
//! new pods takes nothing from anybody. A victim that is lost anyway, because its machine is gone or about to be ended by
//! its provider, or its node is being deleted, is nobody's doing; and one that was leaving before the replacement existed
//! is replaced after the fact, which is no violation.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::event::{Kind, ObjectName, Writer};
use super::super::facts::{Claim, Node, Pod};
use super::super::violation::{Finding, Invariant};
use super::super::world::Step;
use super::Case;

/// The victims already reported, since one that leaves too early does so in several ways.
#[derive(Debug, Default)]
pub(in super::super) struct Replacements {
    reported: HashSet<String>,
}

impl Replacements {
    /// Judges a claim that is deleted.
    pub(in super::super) fn claim_leaves(&mut self, case: &mut Case<'_>, step: &Step<Claim>, writer: Writer) {
        let Some(before) = &step.before else { return };
        let deleted = step.after.as_ref().is_none_or(|claim| claim.deleted_at.is_some());
        if before.deleted_at.is_none() && deleted && writer != Writer::Other {
            self.judge(case, before, "was deleted", None);
        }
        if step.after.is_none() {
            self.reported.remove(&before.uid);
        }
    }

    /// Judges a pod that is evicted.
    pub(in super::super) fn pod_evicted(
        &mut self,
        case: &mut Case<'_>,
        before: Option<&Pod>,
        pod: &Pod,
        writer: Writer,
    ) {
        if writer == Writer::Other || !pod.is_evicted() || before.is_none_or(Pod::is_evicted) {
            return;
        }
        if let Some(node) = pod.node.as_deref().and_then(|name| case.world.node(name)).cloned() {
            let what = format!("had its pod {} evicted", pod.name);
            self.judge_node(case, &node, &what, ObjectName::new(Kind::Pod, &pod.name));
        }
    }

    fn judge_node(&mut self, case: &mut Case<'_>, node: &Node, what: &str, object: ObjectName) {
        let victim = case.world.claim_of(node).filter(|claim| claim.deleted_at.is_none());
        if let Some(victim) = victim.cloned() {
            self.judge(case, &victim, what, Some(object));
        }
    }

    fn judge(&mut self, case: &mut Case<'_>, victim: &Arc<Claim>, what: &str, object: Option<ObjectName>) {
        if !case.options.scope.includes_pool(&victim.pool) || is_lost(case, victim) {
            return;
        }
        let counts = |name: &String| victim.replaced_by.as_ref().is_none_or(|names| names.contains(name));
        let pending =
            |claim: &&Arc<Claim>| claim.deleted_at.is_none() && !claim.initialized && counts(&claim.name);
        let Some(replacement) = case.world.replacements(&victim.name).find(pending) else {
            return;
        };
        if !self.reported.insert(victim.uid.clone()) {
            return;
        }
        let message = format!(
            "NodeClaim {} {what} before its replacement {} was initialized",
            victim.name, replacement.name
        );
        let claims = [victim, replacement].map(|claim| ObjectName::new(Kind::NodeClaim, &claim.name));
        let objects = claims.into_iter().chain(object).collect();
        case.findings.push(Finding::new(Invariant::ReplacementFirst, message, objects));
    }
}

fn is_lost(case: &Case<'_>, victim: &Claim) -> bool {
    let left = victim.ends_at.map(|end| end.duration_since(case.now));
    if left.is_some_and(|left| left <= case.options.last_call) {
        return true;
    }
    let Some(id) = &victim.provider_id else {
        return false;
    };
    case.world.machine_has_ended(id) || case.world.nodes_of(id).any(|node| node.deleting)
}
