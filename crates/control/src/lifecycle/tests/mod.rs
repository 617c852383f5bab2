//! One claim, stepped by hand: each test is a moment in a claim's life and what follows from it.

mod draining;
mod joining;
mod launching;
mod leaving;
mod reasons;
mod shown;
mod staying;
mod told;

use std::sync::Arc;
use std::time::Duration;

use jiff::{Timestamp, ToSpan};
use serde_json::json;
use windlass_api::{NodeClaim, NodeClaimStatus, conditions};
use windlass_core::Price;
use windlass_core::model::{
    Driver, Effect as TaintEffect, Labels, Node, OfferingKey, Readiness, Resources, Taint,
};
use windlass_providers::{Machine, MachineState, MachineTag, ProviderError};

use super::{Absence, Answer, Nominations, Observation, Step, Times, step};
use crate::Settings;
use crate::adapt::Repair;
use crate::index::Registrant;

const START: Timestamp = Timestamp::UNIX_EPOCH;
const ID: &str = "sim://m1";

/// A claim and its surroundings, which a test changes and steps.
struct Life {
    claim: NodeClaim,
    seen: Observation,
    now: Timestamp,
}

impl Life {
    fn begin() -> Self {
        let offering = |kind: &str| {
            json!({"instanceType": kind, "zone": "a", "capacityType": "spot", "price": "0.10",
                   "capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}})
        };
        let claim = json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "NodeClaim",
            "metadata": {"name": "c", "uid": "u", "generation": 1, "finalizers": ["windlass.dev/machine"]},
            "spec": {
                "poolRef": {"name": "p"}, "providerRef": {"name": "s"}, "reason": {"purpose": "PendingPods"},
                "offerings": [offering("t1"), offering("t2")],
                "labels": {"team": "x"}, "taints": [{"key": "gpu", "effect": "NoSchedule"}],
                "startupTaints": [{"key": "cni", "effect": "NoSchedule"}],
            },
        });
        let claim = serde_json::from_value(claim).unwrap();
        let seen = Observation {
            nominations: Nominations::default(),
            registrant: Registrant::Nobody,
            absence: Absence::default(),
            outlook: None,
            repair: Repair::default(),
            driver: Driver::Windlass,
            answer: None,
            errors: 0,
        };
        Self { claim, seen, now: START }
    }

    /// A claim with a machine and, from then on, whatever node it is given.
    fn launched() -> Self {
        let mut life = Self::begin();
        life.step();
        life.answer(Answer::Launched(Ok(machine("u"))));
        life
    }

    /// A claim whose node takes pods.
    fn initialized() -> Self {
        let mut life = Self::launched();
        life.node(node());
        life
    }

    fn deleting(mut self) -> Self {
        self.claim.metadata.deletion_timestamp =
            Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(self.now));
        self
    }

    /// Steps once and writes the status down, as the shell does.
    fn step(&mut self) -> Step {
        let times = Times::from(&Settings::new("cluster".into(), "ns".into(), "me".into()));
        let next = step(&self.claim, &self.seen, &times, self.now);
        self.claim.status = Some(next.status.clone());
        self.seen.answer = None;
        next
    }

    fn answer(&mut self, answer: Answer) -> Step {
        self.seen.answer = Some(answer);
        self.step()
    }

    fn node(&mut self, node: Node) -> Step {
        self.seen.registrant = Registrant::Node(Arc::new(node));
        self.step()
    }

    fn later(&mut self, time: Duration) -> Step {
        self.now = self.now.saturating_add(time).unwrap();
        self.step()
    }

    fn proven_absent(&mut self) {
        let interval = Duration::from_secs(5);
        self.seen.absence =
            Absence::default().said_again(self.now, interval).said_again(self.now + 5.seconds(), interval);
    }

    fn status(&self) -> &NodeClaimStatus {
        self.claim.status.as_ref().unwrap()
    }

    fn condition(&self, kind: &str) -> (&str, &str) {
        let condition = conditions::find(&self.status().conditions, kind);
        condition.map_or(("", ""), |condition| (condition.status.as_str(), condition.reason.as_str()))
    }

    fn message(&self, kind: &str) -> &str {
        conditions::find(&self.status().conditions, kind).map_or("", |condition| condition.message.as_str())
    }
}

pub(super) fn machine(uid: &str) -> Machine {
    let offering = OfferingKey { instance_type: "t1".into(), zone: "a".into(), capacity_type: "spot".into() };
    Machine {
        provider_id: ID.into(),
        tag: MachineTag {
            cluster_id: "cluster".into(),
            claim_uid: uid.into(),
            claim_name: "c".into(),
            pool: "p".into(),
        },
        offering,
        price: Price::from_micros(100_000),
        capacity: Resources::from_iter([("cpu", 4000)]),
        allocatable: Resources::from_iter([("cpu", 4000)]),
        labels: Labels::new(),
        node_name: None,
        created_at: START,
        ends_at: None,
        drift: None,
        state: MachineState::Running,
    }
}

/// A node with everything in place.
fn node() -> Node {
    let labels = Labels::new()
        .with("team", "x")
        .with("node.kubernetes.io/instance-type", "t1")
        .with("topology.kubernetes.io/zone", "a")
        .with("windlass.dev/capacity-type", "spot")
        .with("windlass.dev/pool", "p");
    Node {
        name: "n".into(),
        uid: "nu".into(),
        provider_id: Some(ID.into()),
        labels,
        taints: vec![Taint::new("gpu", "", TaintEffect::NoSchedule)],
        capacity: Resources::from_iter([("cpu", 4000)]),
        allocatable: Resources::from_iter([("cpu", 4000)]),
        readiness: Readiness::Ready,
        conditions: Vec::new(),
        unschedulable: false,
        deleting: false,
        claim_uid: Some("u".into()),
        provider: Some("s".into()),
        held: true,
        stays_until: None,
        asked_to_go: false,
    }
}

fn cordoned() -> Node {
    let mut node = node();
    node.unschedulable = true;
    node.taints.push(Taint::new("windlass.dev/disrupted", "", TaintEffect::NoSchedule));
    node
}

fn unregistered() -> Node {
    let mut node = node();
    (node.claim_uid, node.provider, node.held) = (None, None, false);
    node.taints = vec![Taint::new("windlass.dev/unregistered", "", TaintEffect::NoSchedule)];
    node
}

fn no_capacity() -> Answer {
    Answer::Launched(Err(ProviderError::InsufficientCapacity { message: "sold out".into() }))
}
