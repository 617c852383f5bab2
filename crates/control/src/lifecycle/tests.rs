//! One claim, stepped by hand: each test is a moment in a claim's life and what follows from it.

use std::sync::Arc;
use std::time::Duration;

use jiff::{Timestamp, ToSpan};
use serde_json::{Value, json};
use windlass_api::{NodeClaim, NodeClaimStatus, conditions};
use windlass_core::model::{Effect as TaintEffect, Labels, Node, OfferingKey, Readiness, Resources, Taint};
use windlass_core::{Price, Text};
use windlass_providers::{Machine, MachineState, MachineTag, ProviderError, Termination};

use super::node::first_taints;
use super::{Absence, Answer, Blocked, DrainProgress, Effect, Nominations, Observation, Step, Times, step};
use crate::Settings;
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
}

fn machine(uid: &str) -> Machine {
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
        created_at: START,
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
        unschedulable: false,
        deleting: false,
        claim_uid: Some("u".into()),
        provider: Some("s".into()),
        held: true,
        stays_until: None,
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

#[test]
fn a_launch_is_written_down_before_the_provider_is_asked() {
    let mut life = Life::begin();
    let next = life.step();
    assert_eq!(next.effect, Some(Effect::Launch(0)));
    assert_eq!(life.status().launch.as_ref().unwrap().started_at.as_ref().unwrap().0, START);
}

#[test]
fn no_taint_that_a_node_is_launched_with_evicts_pods_unless_its_pool_asks_for_that() {
    let mut life = Life::begin();
    life.claim.spec.startup_taints =
        vec![serde_json::from_value(json!({"key": "cni", "effect": "NoExecute"})).unwrap()];
    let taints = first_taints(&life.claim);
    let evicts = taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute);
    assert_eq!(evicts.map(|taint| &*taint.key).collect::<Vec<_>>(), ["cni"]);
    assert!(taints.iter().any(|taint| &*taint.key == "windlass.dev/unregistered"));
}

#[test]
fn a_claim_made_by_hand_is_held_before_anything_is_launched() {
    let mut life = Life::begin();
    life.claim.metadata.finalizers = None;
    assert_eq!(life.step().effect, Some(Effect::HoldClaim));
}

#[test]
fn a_launch_that_was_under_way_when_the_process_died_is_asked_for_again() {
    let mut life = Life::begin();
    life.step();
    assert_eq!(life.later(Duration::from_secs(60)).effect, Some(Effect::Launch(0)));
    assert_eq!(
        life.status().launch.as_ref().unwrap().started_at.as_ref().unwrap().0,
        START,
        "the deadline counts on"
    );
}

#[test]
fn an_offering_that_cannot_be_had_gives_way_to_the_next() {
    let mut life = Life::begin();
    life.step();
    let next = life.answer(no_capacity());
    assert_eq!(next.effect, Some(Effect::Launch(1)));
    assert_eq!(&*next.failed_offering.unwrap().instance_type, "t1");
    assert_eq!(
        life.status().launch.as_ref().unwrap().offering,
        1,
        "written down, so that a restart goes on from there"
    );
    let next = life.answer(no_capacity());
    assert_eq!(
        (next.effect, life.condition("Launched")),
        (Some(Effect::DeleteClaim), ("False", "InsufficientCapacity"))
    );
    assert_eq!(life.step().effect, Some(Effect::DeleteClaim), "given up for good");
}

#[test]
fn an_error_that_may_pass_is_tried_again_under_the_same_key() {
    let mut life = Life::begin();
    life.step();
    life.seen.errors = 3;
    let next = life.answer(Answer::Launched(Err(ProviderError::transient("timed out"))));
    assert_eq!((next.effect, next.again_after), (None, Some(Duration::from_secs(4))));
    assert_eq!(life.later(Duration::from_secs(4)).effect, Some(Effect::Launch(0)));
}

#[test]
fn a_provider_that_asks_for_patience_gets_it() {
    let mut life = Life::begin();
    life.step();
    let throttled =
        ProviderError::Throttled { message: "slow down".into(), retry_after: Some(Duration::from_secs(42)) };
    assert_eq!(life.answer(Answer::Launched(Err(throttled))).again_after, Some(Duration::from_secs(42)));
}

#[test]
fn a_claim_without_a_machine_after_the_deadline_is_given_up() {
    let mut life = Life::begin();
    life.step();
    assert_eq!(life.later(Duration::from_secs(300)).effect, Some(Effect::DeleteClaim));
    assert_eq!(life.condition("Launched"), ("False", "LaunchTimeout"));
}

#[test]
fn a_machine_that_is_tagged_for_another_claim_is_not_taken() {
    let mut life = Life::begin();
    life.step();
    let next = life.answer(Answer::Launched(Ok(machine("someone else"))));
    assert_eq!((next.effect, life.status().provider_id.clone()), (None, None));
}

#[test]
fn a_machine_that_never_joins_is_given_back_and_its_offering_avoided() {
    let mut life = Life::launched();
    let next = life.later(Duration::from_secs(899));
    assert_eq!((next.effect, next.again_after), (None, Some(Duration::from_secs(1))));
    let next = life.later(Duration::from_secs(1));
    assert_eq!(
        (next.effect, life.condition("Registered")),
        (Some(Effect::DeleteClaim), ("False", "RegistrationTimeout"))
    );
    assert_eq!(&*next.failed_offering.unwrap().instance_type, "t1");
}

#[test]
fn a_machine_lost_during_a_drain_is_asked_about_and_no_longer_drained() {
    let mut life = Life::initialized().deleting();
    let silent = Node { readiness: Readiness::NotReady { since: START }, ..cordoned() };
    assert_eq!(life.node(silent).effect, Some(Effect::Drain { deadline: None }));
    life.seen.absence = Absence::default().said_again(life.now, Duration::from_secs(5));
    assert_eq!(life.step().effect, Some(Effect::Drain { deadline: None }), "too soon to ask again");
    assert_eq!(life.later(Duration::from_secs(5)).effect, Some(Effect::Get(ID.into())));
    life.proven_absent();
    assert_eq!(life.step().effect, Some(Effect::DeleteNode));
    assert_eq!(life.condition("Terminated"), ("True", "MachineLost"));
}

#[test]
fn a_new_node_is_marked_then_opened_then_registered() {
    let mut life = Life::launched();
    assert_eq!(life.node(unregistered()).effect, Some(Effect::MarkNode));
    let marked = Node { taints: unregistered().taints, ..node() };
    assert_eq!(life.node(marked).effect, Some(Effect::OpenNode));
    assert_ne!(life.condition("Registered").0, "True");
    life.node(node());
    assert_eq!(life.condition("Registered"), ("True", "Registered"));
    assert_eq!(life.status().node_name.as_deref(), Some("n"));
}

#[test]
fn a_node_is_initialized_once_it_is_ready_and_its_startup_taints_are_gone() {
    let mut life = Life::launched();
    life.node(Node { readiness: Readiness::NotReady { since: START }, ..node() });
    assert_eq!(life.condition("Initialized").0, "Unknown");
    let mut waiting = node();
    waiting.taints.push(Taint::new("cni", "", TaintEffect::NoSchedule));
    life.node(waiting);
    assert_eq!(life.condition("Ready"), ("False", "Initializing"));
    let mut network = node();
    network.taints.push(Taint::new("node.kubernetes.io/network-unavailable", "", TaintEffect::NoSchedule));
    life.node(network);
    assert_eq!(life.condition("Initialized").0, "Unknown");
    life.node(node());
    assert_eq!((life.condition("Initialized").0, life.condition("Ready")), ("True", ("True", "Ready")));
}

/// Writes on a claim that it is to go.
fn decide(life: &mut Life) {
    let annotations = life.claim.metadata.annotations.get_or_insert_default();
    annotations.insert("windlass.dev/disruption".to_owned(), "Empty: empty for 30 s".to_owned());
    annotations.insert("windlass.dev/disrupted-at".to_owned(), START.to_string());
}

#[test]
fn the_node_of_a_claim_that_is_to_go_is_closed_and_opened_again_if_it_stays() {
    let mut life = Life::initialized();
    decide(&mut life);
    assert_eq!(life.step().effect, Some(Effect::CordonNode));
    assert_eq!(life.condition("Disrupted"), ("True", "Empty"));
    assert_eq!(life.node(cordoned()).effect, None, "the planner says when it goes");
    life.claim.metadata.annotations = None;
    assert_eq!(life.step().effect, Some(Effect::UncordonNode));
    assert_eq!(life.node(node()).effect, None);
    assert_eq!(life.condition("Disrupted"), ("False", "Stays"));
}

#[test]
fn a_node_that_somebody_had_cordoned_stays_cordoned() {
    let mut by_hand = node();
    by_hand.unschedulable = true;
    by_hand.taints = super::node::cordoned_taints(&by_hand);
    assert!(super::node::was_cordoned(&by_hand) && super::node::is_cordoned(&by_hand));
    let mut ours = node();
    ours.taints = super::node::cordoned_taints(&ours);
    assert!(!super::node::was_cordoned(&ours));
    assert_eq!(super::node::uncordoned_taints(&ours), node().taints);
}

#[test]
fn a_node_marked_as_another_claims_is_not_taken() {
    let mut life = Life::launched();
    let next = life.node(Node { claim_uid: Some("other".into()), ..node() });
    assert_eq!((next.effect, life.condition("Registered").1), (None, "ForeignNode"));
}

#[test]
fn of_several_nodes_that_name_the_same_machine_none_is_trusted() {
    let mut life = Life::launched();
    life.seen.registrant = Registrant::Several(vec!["n".into(), "impostor".into()]);
    assert_eq!((life.step().effect, life.condition("Registered").1), (None, "AmbiguousNode"));
}

#[test]
fn a_healthy_node_needs_nothing() {
    let mut life = Life::initialized();
    let before = life.status().clone();
    let next = life.later(Duration::from_secs(3600));
    assert_eq!((next.effect, next.status), (None, before));
}

#[test]
fn a_node_that_stays_not_ready_is_marked_sick_and_recovers_if_it_comes_back() {
    let mut life = Life::initialized();
    let ill = Node { readiness: Readiness::NotReady { since: START }, ..node() };
    life.now = START + 60.seconds();
    assert_eq!(life.node(ill).again_after, Some(Duration::from_secs(540)));
    assert_eq!(life.condition("Ready"), ("False", "NodeNotReady"));
    life.later(Duration::from_secs(540));
    assert_eq!(life.condition("Disrupted"), ("True", "Sick"));
    life.node(node());
    assert_eq!((life.condition("Disrupted").0, life.condition("Ready").0), ("False", "True"));
}

#[test]
fn a_node_that_goes_on_and_off_is_not_reported_each_time() {
    let mut life = Life::initialized();
    life.now = START + 60.seconds();
    let off = |life: &Life| Node { readiness: Readiness::NotReady { since: life.now }, ..node() };
    life.node(off(&life));
    assert_eq!(life.condition("Ready").0, "False");
    life.now += 1.second();
    let next = life.node(node());
    assert_eq!((life.condition("Ready").0, next.again_after), ("False", Some(Duration::from_secs(2))));
    life.later(Duration::from_secs(2));
    assert_eq!(life.condition("Ready").0, "True");
    life.node(off(&life));
    assert_eq!(life.condition("Ready").0, "True");
}

#[test]
fn a_machine_that_is_provably_gone_takes_its_claim_along() {
    let mut life = Life::initialized();
    life.seen.registrant =
        Registrant::Node(Arc::new(Node { readiness: Readiness::NotReady { since: START }, ..node() }));
    life.proven_absent();
    assert_eq!(life.step().effect, Some(Effect::DeleteClaim));
    assert_eq!(life.condition("Terminated"), ("True", "MachineLost"));
}

#[test]
fn a_machine_said_to_be_gone_is_kept_while_its_node_is_ready() {
    let mut life = Life::initialized();
    life.proven_absent();
    assert_eq!(life.step().effect, None);
}

#[test]
fn a_single_empty_answer_leads_to_a_second_question_and_not_to_a_removal() {
    let mut life = Life::launched();
    life.seen.absence = Absence::default().said_again(life.now, Duration::from_secs(5));
    assert_eq!(life.step().effect, None, "too soon to ask again");
    assert_eq!(life.later(Duration::from_secs(5)).effect, Some(Effect::Get(ID.into())));
}

#[test]
fn a_node_deleted_by_hand_returns_its_machine() {
    let mut life = Life::initialized();
    assert_eq!(life.node(Node { deleting: true, ..node() }).effect, Some(Effect::DeleteClaim));
    life.seen.registrant = Registrant::Nobody;
    assert_eq!(life.step().effect, Some(Effect::DeleteClaim), "even when it was stripped of our finalizer");
}

#[test]
fn a_leaving_node_is_cordoned_drained_detached_terminated_deleted_and_let_go_in_this_order() {
    let mut life = Life::initialized().deleting();
    assert_eq!(life.step().effect, Some(Effect::CordonNode));
    assert_eq!(life.node(cordoned()).effect, Some(Effect::Drain { deadline: None }));
    let next = life.answer(Answer::Drained(DrainProgress { remaining: 2, blocked: Vec::new() }));
    assert_eq!((next.effect, life.condition("Drained").0), (None, "Unknown"));
    assert_eq!(life.step().effect, Some(Effect::Drain { deadline: None }));
    assert_eq!(life.answer(Answer::Drained(DrainProgress::default())).effect, Some(Effect::ListVolumes));
    assert_eq!(life.answer(Answer::Volumes(vec!["pv".into()])).effect, None);
    life.step();
    assert_eq!(life.answer(Answer::Volumes(Vec::new())).effect, Some(Effect::Terminate(ID.into())));
    assert_eq!(life.answer(Answer::Terminated(Ok(Termination::UnderWay))).effect, None);
    life.proven_absent();
    assert_eq!(life.step().effect, Some(Effect::DeleteNode));
    assert_eq!(life.condition("Terminated").0, "True");
    life.seen.registrant = Registrant::Nobody;
    assert_eq!(life.step().effect, Some(Effect::ReleaseClaim));
}

#[test]
fn a_blocked_drain_says_which_pod_and_why() {
    let mut life = Life::initialized().deleting();
    life.node(cordoned());
    let blocked = vec![Blocked { pod: "default/db-0".into(), why: "the budget db allows none".into() }];
    let next = life.answer(Answer::Drained(DrainProgress { remaining: 1, blocked }));
    let note = next.notes.iter().find(|note| note.reason == "DrainBlocked").unwrap();
    assert!(note.message.contains("default/db-0") && note.message.contains("budget db"), "{}", note.message);
}

#[test]
fn a_machine_is_not_gone_on_the_word_of_a_single_answer() {
    let mut life = Life::launched().deleting();
    assert_eq!(life.step().effect, Some(Effect::Terminate(ID.into())));
    life.seen.absence = Absence::default().said_again(life.now, Duration::from_secs(5));
    let next = life.answer(Answer::Terminated(Err(ProviderError::NotFound { provider_id: ID.into() })));
    assert_eq!((next.effect, next.again_after), (None, Some(Duration::from_secs(5))));
    assert_eq!(life.later(Duration::from_secs(5)).effect, Some(Effect::Terminate(ID.into())));
}

#[test]
fn a_provider_that_does_not_answer_keeps_the_claim_and_is_named() {
    let mut life = Life::launched().deleting();
    life.step();
    let next = life.answer(Answer::Terminated(Err(ProviderError::transient("connection refused"))));
    assert_eq!(next.effect, None);
    let (status, reason) = life.condition("Terminated");
    assert_eq!((status, reason), ("Unknown", "Transient"));
}

#[test]
fn a_claim_that_never_asked_for_a_machine_is_let_go_at_once() {
    assert_eq!(Life::begin().deleting().step().effect, Some(Effect::ReleaseClaim));
}

#[test]
fn a_claim_that_asked_and_got_no_answer_looks_for_its_machine_before_it_is_let_go() {
    let mut life = Life::begin();
    life.step();
    let mut life = life.deleting();
    assert_eq!(life.step().effect, Some(Effect::Find));
    let next = life.answer(Answer::Found(Ok(Some(machine("u")))));
    assert_eq!(
        (next.effect, life.status().provider_id.as_deref()),
        (Some(Effect::Terminate(ID.into())), Some(ID))
    );
}

#[test]
fn a_claim_whose_machine_is_not_found_twice_is_let_go() {
    let mut life = Life::begin();
    life.step();
    let mut life = life.deleting();
    life.seen.absence = Absence::default().said_again(life.now, Duration::from_secs(5));
    assert_eq!(life.answer(Answer::Found(Ok(None))).effect, None);
    life.proven_absent();
    assert_eq!(life.step().effect, Some(Effect::ReleaseClaim));
}

#[test]
fn the_reason_for_which_a_claim_goes_is_in_its_conditions() {
    let mut life = Life::initialized();
    let why = json!({"windlass.dev/disruption": "Empty: no pods for 30s"});
    life.claim.metadata.annotations =
        Some(serde_json::from_value::<std::collections::BTreeMap<_, _>>(why).unwrap());
    let mut life = life.deleting();
    life.step();
    assert_eq!(life.condition("Disrupted"), ("True", "Empty"));
}

#[test]
fn an_adopted_machine_must_carry_the_tag_it_was_found_with() {
    let adopt = |uid: &str| {
        let mut life = Life::begin();
        life.claim.spec.offerings.clear();
        let adoption: Value = json!({"providerID": ID, "claimUID": "old"});
        life.claim.spec.adopt = Some(serde_json::from_value(adoption).unwrap());
        assert_eq!(life.step().effect, Some(Effect::Get(ID.into())));
        let next = life.answer(Answer::Got(Ok(machine(uid))));
        (next.effect, life.status().provider_id.clone().map(Text::from))
    };
    assert_eq!(adopt("old"), (None, Some(ID.into())));
    assert_eq!(adopt("older"), (Some(Effect::DeleteClaim), None));
}
