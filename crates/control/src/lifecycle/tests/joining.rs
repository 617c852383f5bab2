//! From the machine to a node that takes pods.

use std::time::Duration;

use windlass_core::model::{Effect as TaintEffect, Node, Readiness, Taint};

use super::{Life, START, node, unregistered};
use crate::index::Registrant;
use crate::lifecycle::Effect;

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
