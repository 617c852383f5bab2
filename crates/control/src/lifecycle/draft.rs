use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use windlass_api::conditions::{self, Truth};
use windlass_api::{NodeClaim, NodeClaimStatus, labels};
use windlass_core::Text;
use windlass_core::model::{DisruptionReason, OfferingKey};
use windlass_providers::Machine;

use super::{Answer, Count, Effect, Exit, Observation, Step, exit};
use crate::adapt::quantities;
use crate::events::{Note, about};

/// A step being thought out.
pub(super) struct Draft<'a> {
    claim: &'a NodeClaim,
    pub(super) now: Timestamp,
    pub(super) status: NodeClaimStatus,
    step: Step,
}

impl<'a> Draft<'a> {
    pub(super) fn new(claim: &'a NodeClaim, now: Timestamp) -> Self {
        let status = claim.status.clone().unwrap_or_default();
        let step = Step {
            status: NodeClaimStatus::default(),
            effect: None,
            again_after: None,
            notes: Vec::new(),
            counts: Vec::new(),
            failed_offering: None,
            launched_offering: None,
        };
        Self { claim, now, status, step }
    }

    pub(super) fn finish(self) -> Step {
        Step { status: self.status, ..self.step }
    }

    pub(super) fn act(&mut self, effect: Effect) {
        self.step.effect = Some(effect);
    }

    /// Does this unless there is something to do that matters more.
    pub(super) fn act_if_idle(&mut self, effect: Effect) {
        self.step.effect.get_or_insert(effect);
    }

    pub(super) fn look_again_after(&mut self, wait: Duration) {
        let sooner = self.step.again_after.map_or(wait, |earlier| earlier.min(wait));
        self.step.again_after = Some(sooner);
    }

    pub(super) fn condition(&mut self, kind: &str, status: Truth, reason: &str, message: &str) {
        let generation = self.claim.metadata.generation;
        conditions::set(&mut self.status.conditions, kind, status, reason, message, generation, self.now);
    }

    /// The state of the claim as a whole, as `kubectl get` shows it.
    pub(super) fn not_ready(&mut self, reason: &str, message: &str) {
        self.condition(conditions::READY, Truth::False, reason, message);
    }

    pub(super) fn is(&self, kind: &str) -> bool {
        conditions::is_true(&self.status.conditions, kind)
    }

    /// Whether it was decided and written down that this will not come about.
    pub(super) fn is_given_up(&self, kind: &str) -> bool {
        conditions::find(&self.status.conditions, kind).is_some_and(|condition| condition.status == "False")
    }

    /// Since when a condition has been what it is.
    pub(super) fn since(&self, kind: &str) -> Option<Timestamp> {
        conditions::find(&self.status.conditions, kind).map(|condition| condition.last_transition_time.0)
    }

    /// What is left of a time that started then; none if it is over.
    pub(super) fn left_of(&self, limit: Duration, start: Timestamp) -> Option<Duration> {
        let passed = self.now.duration_since(start).max(SignedDuration::ZERO).unsigned_abs();
        limit.checked_sub(passed).filter(|left| !left.is_zero())
    }

    pub(super) fn note(&mut self, warning: bool, reason: &'static str, message: &str) {
        let note = Note { about: about(self.claim), warning, reason, message: message.to_owned() };
        self.step.notes.push(note);
    }

    pub(super) fn had(&mut self, offering: OfferingKey) {
        self.step.launched_offering = Some(offering);
    }

    pub(super) fn failed(&mut self, offering: OfferingKey) {
        self.step.failed_offering = Some(offering);
    }

    /// Writes down which machine the claim has.
    pub(super) fn has_machine(&mut self, machine: &Machine) {
        let status = &mut self.status;
        status.provider_id = Some(machine.provider_id.to_string());
        status.expected_node_name = machine.node_name.as_ref().map(ToString::to_string);
        status.instance_type = Some(machine.offering.instance_type.to_string());
        status.zone = Some(machine.offering.zone.to_string());
        status.capacity_type = Some(machine.offering.capacity_type.to_string());
        status.price = Some(machine.price.to_string());
        status.capacity = quantities(&machine.capacity);
        status.allocatable = quantities(&machine.allocatable);
        let message = format!(
            "{} in {} is {}",
            machine.offering.instance_type, machine.offering.zone, machine.provider_id
        );
        self.condition(conditions::LAUNCHED, Truth::True, "Launched", &message);
        self.not_ready("Booting", "the machine has not become a node yet");
        self.note(false, "Launched", &message);
    }

    pub(super) fn count(&mut self, count: Count) {
        self.step.counts.push(count);
    }

    /// Says why the claim is to go, once. What the planner decided, and what was given up, was told already.
    pub(super) fn say_why(&mut self, claim: &NodeClaim, seen: &Observation) {
        if self.is(conditions::DISRUPTED) {
            return;
        }
        let (exit, message) = exit::why(claim, &self.status, seen);
        self.goes(exit, &message);
        let decided = claim.annotations().contains_key(labels::DISRUPTION);
        if exit == Exit::Disrupted(DisruptionReason::Manual) && !decided {
            self.note(false, exit.as_str(), &format!("{message}; the machine is given back"));
        }
    }

    /// Writes down why the claim goes.
    pub(super) fn goes(&mut self, exit: Exit, message: &str) {
        self.condition(conditions::DISRUPTED, Truth::True, exit.as_str(), message);
    }

    /// Writes down that the claim has no machine any more, after why it goes was.
    pub(super) fn terminated(&mut self, reason: &str, message: &str) {
        if !self.is(conditions::TERMINATED) {
            let why = conditions::find(&self.status.conditions, conditions::DISRUPTED);
            let why = why.map(|condition| condition.reason.clone()).unwrap_or_default();
            self.count(Count::Gone(why));
        }
        self.condition(conditions::TERMINATED, Truth::True, reason, message);
    }

    /// Whether there is, or may be, a token for the claim's machine.
    pub(super) fn has_token(&self) -> bool {
        self.status.launch.as_ref().is_some_and(|launch| launch.bootstrap_token)
    }

    /// Takes in whether the last answer was that the token is deleted.
    pub(super) fn note_revocation(&mut self, seen: &Observation) {
        if let (Some(Answer::TokenRevoked), Some(launch)) = (&seen.answer, &mut self.status.launch) {
            launch.bootstrap_token = false;
        }
    }

    /// Whether a condition is true for this reason.
    pub(super) fn is_for(&self, kind: &str, reason: &str) -> bool {
        let found = conditions::find(&self.status.conditions, kind);
        found.is_some_and(|condition| condition.status == "True" && condition.reason == reason)
    }

    /// Writes down that the claim is given up: what the condition says will not come about.
    pub(super) fn give_up(&mut self, kind: &str, reason: &'static str, message: &str) {
        self.condition(kind, Truth::False, reason, message);
        self.not_ready(reason, message);
        self.note(true, reason, message);
    }
}

/// The UID that the claim's machine is tagged with: its own, or that of the claim whose machine it took over.
pub(super) fn machine_uid(claim: &NodeClaim) -> Text {
    match &claim.spec.adopt {
        Some(adopt) => adopt.claim_uid.as_str().into(),
        None => claim.uid().unwrap_or_default().into(),
    }
}
