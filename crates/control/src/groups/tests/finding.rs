//! Whose a node is.

use serde_json::json;

use super::{Lab, by_id};
use crate::groups::find::{claim_of, was_ours};
use crate::groups::{GroupError, NodeRef};

fn named(name: &str) -> NodeRef {
    NodeRef { name: name.to_owned(), ..NodeRef::default() }
}

fn lab() -> Lab {
    let mut lab = Lab::new(json!({}));
    lab.node("n", "web", "small");
    lab.node("other", "web", "small");
    lab.claim("new", "small");
    lab
}

#[test]
fn a_node_is_found_by_its_machine_by_its_name_and_by_its_claim() {
    let lab = lab();
    let found = |node: NodeRef| claim_of(&lab.index, &node).unwrap().map(|claim| claim.to_string());
    for node in [by_id("sim://n"), named("node-n"), named("sim://n"), by_id("windlass://claim/u-n")] {
        assert_eq!(found(node.clone()).as_deref(), Some("n"), "{node:?}");
    }
    // Of one that has not come Cluster Autoscaler knows nothing but the instance's id.
    let id = "windlass://claim/u-new";
    assert_eq!(found(NodeRef { name: id.to_owned(), ..by_id(id) }).as_deref(), Some("new"));
    let both = NodeRef { name: "node-n".to_owned(), ..by_id("sim://n") };
    assert_eq!(found(both).as_deref(), Some("n"));
}

#[test]
fn a_node_that_is_not_ours_is_nobodys() {
    let lab = lab();
    for node in [
        by_id("aws://x"),
        named("control-plane"),
        by_id("windlass://claim/u-gone"),
        by_id("windlass://claim/"),
    ] {
        assert_eq!(claim_of(&lab.index, &node), Ok(None), "{node:?}");
    }
}

#[test]
fn a_name_and_a_machine_that_contradict_each_other_are_refused() {
    let lab = lab();
    let node = NodeRef { name: "node-other".to_owned(), ..by_id("sim://n") };
    assert!(matches!(claim_of(&lab.index, &node), Err(GroupError::Refused(_))));
    assert!(matches!(claim_of(&lab.index, &NodeRef::default()), Err(GroupError::Invalid(_))));
}

#[test]
fn a_claim_that_is_gone_was_ours() {
    let mut lab = lab();
    assert!(!was_ours(&lab.index, &by_id("windlass://claim/u-new")));
    lab.index.claims.lost("new", "u-new", super::NOW);
    assert!(was_ours(&lab.index, &by_id("windlass://claim/u-new")));
    assert!(!was_ours(&lab.index, &by_id("aws://x")));
}
