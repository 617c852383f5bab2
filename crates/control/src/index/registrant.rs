use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt;
use windlass_api::{NodeClaim, NodeClaimStatus, conditions};
use windlass_core::Text;
use windlass_core::model::Node;

use super::Index;

/// The node that stands for a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registrant {
    /// There is none.
    Nobody,
    /// This one.
    Node(Arc<Node>),
    /// Several nodes name the claim's machine as theirs, so that none can be believed.
    Several(Vec<Text>),
    /// A node has the name that the claim's node will have and is not the claim's; in words why. It is never touched.
    Stranger(String),
}

impl Index {
    /// The node that stands for a claim: the one with the claim's machine, and no other, whatever it is called and
    /// whatever it says of itself. Only where its provider says what the node will be called, one of that name may do that
    /// does not say which machine it runs on. Once a claim is bound to a node, no other takes that one's place.
    pub fn registrant(&self, claim: &NodeClaim) -> Registrant {
        let status = claim.status.as_ref();
        let Some((status, id)) = status.and_then(|status| Some((status, status.provider_id.as_deref()?)))
        else {
            return Registrant::Nobody;
        };
        let names = self.nodes_by_provider_id.get(id).into_iter().flatten();
        let mut nodes: Vec<_> = names.filter_map(|name| self.nodes.get(name)).cloned().collect();
        let leaving = claim.metadata.deletion_timestamp.is_some();
        if let Some(bound) = status.node_name.as_deref()
            && (leaving || nodes.len() < 2)
        {
            let own = nodes.into_iter().find(|node| &*node.name == bound);
            return own.map_or(Registrant::Nobody, Registrant::Node);
        }
        match (nodes.pop(), nodes.is_empty()) {
            (None, _) => self.registrant_by_name(claim, status),
            (Some(node), true) => Registrant::Node(node),
            (Some(last), false) => Registrant::Several(
                nodes.iter().map(|node| node.name.clone()).chain([last.name.clone()]).collect(),
            ),
        }
    }

    /// The node of the name that the claim's will have. It is the claim's unless there is reason to doubt that: a node that
    /// is taken for another's machine is drained and deleted one day.
    fn registrant_by_name(&self, claim: &NodeClaim, status: &NodeClaimStatus) -> Registrant {
        let Some(name) = &status.expected_node_name else { return Registrant::Nobody };
        let launched = status.launch.as_ref().and_then(|launch| Some(launch.started_at.as_ref()?.0));
        let (Some(node), Some(launched)) = (self.nodes.get(name.as_str()), launched) else {
            return Registrant::Nobody;
        };
        match self.doubt_about(node, claim, launched) {
            None => Registrant::Node(node.clone()),
            Some(doubt) => Registrant::Stranger(format!("node {name} {doubt}; it is left alone")),
        }
    }

    /// Why a node of the right name is not the claim's, if there is anything against it.
    fn doubt_about(&self, node: &Node, claim: &NodeClaim, launched: Timestamp) -> Option<String> {
        if let Some(id) = &node.provider_id {
            return Some(format!("says that it runs on {id}"));
        }
        let uid = claim.uid();
        if node.claim_uid.as_deref().is_some_and(|marked| Some(marked) != uid.as_deref()) {
            return Some("is marked as another claim's".to_owned());
        }
        let created = self.node_facts.get(&node.name).map(|facts| facts.created_at);
        if let Some(created) = created.filter(|created| *created <= launched) {
            return Some(format!("was there at {created} already, and the launch began at {launched}"));
        }
        let own = claim.name_any();
        let has_machine =
            |name: &&Text| self.claims.get(name).is_some_and(|claim| !is_without_machine(&claim));
        let rival = self.claims.names_expecting(&node.name).filter(|name| ***name != *own).find(has_machine);
        rival.map(|rival| {
            format!("may as well be that of claim {rival}, whose machine is to have the same name")
        })
    }
}

fn is_without_machine(claim: &NodeClaim) -> bool {
    claim.status.as_ref().is_none_or(|status| conditions::is_true(&status.conditions, conditions::TERMINATED))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windlass_api::NodeClaim;

    use super::Registrant;
    use crate::adapt;
    use crate::index::Index;

    /// A claim on machine `p://NAME` that was launched at ten o'clock, whose node will be called `rack-1`.
    fn claim(name: &str, version: u32, status: Value) -> NodeClaim {
        let mut whole = json!({
            "providerID": format!("p://{name}"), "expectedNodeName": "rack-1",
            "launch": {"offering": 0, "startedAt": "2026-01-01T10:00:00Z"},
        });
        whole.as_object_mut().unwrap().extend(status.as_object().unwrap().clone());
        serde_json::from_value(json!({
            "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": version.to_string()},
            "spec": {
                "poolRef": {"name": "p"}, "providerRef": {"name": "s"}, "reason": {"purpose": "PendingPods"},
            },
            "status": whole,
        }))
        .unwrap()
    }

    fn node(created: &str, more: Value) -> adapt::SeenNode {
        let mut node = json!({"metadata": {"name": "rack-1", "uid": "n", "creationTimestamp": created}});
        let (Value::Object(node_fields), Value::Object(more)) = (&mut node, more) else { unreachable!() };
        for (field, value) in more {
            match node_fields.entry(field).or_insert(json!({})) {
                Value::Object(fields) => fields.extend(value.as_object().unwrap().clone()),
                _ => unreachable!(),
            }
        }
        adapt::seen_node(&serde_json::from_value(node).unwrap())
    }

    const AFTER: &str = "2026-01-01T10:00:01Z";

    fn stranger(index: &Index, claim: &str) -> String {
        match index.registrant(&index.claims.get(claim).unwrap()) {
            Registrant::Stranger(why) => why,
            other => panic!("{other:?}"),
        }
    }

    fn has_node(index: &Index, claim: &str) -> bool {
        matches!(index.registrant(&index.claims.get(claim).unwrap()), Registrant::Node(_))
    }

    #[test]
    fn a_node_of_the_expected_name_that_names_no_machine_is_the_claims_and_wakes_it() {
        let mut index = Index::default();
        index.claims.saw(claim("a", 1, json!({})));
        let changed = index.saw_node(node(AFTER, json!({})));
        assert_eq!(changed.claims.iter().map(|name| &**name).collect::<Vec<_>>(), ["a"]);
        assert!(has_node(&index, "a"));
        let changed = index.lost_node("rack-1");
        assert!(changed.claims.contains("a"));
    }

    #[test]
    fn a_name_is_nothing_to_a_claim_whose_provider_has_not_said_it() {
        let mut index = Index::default();
        index.claims.saw(claim("a", 1, json!({"expectedNodeName": null})));
        assert!(index.saw_node(node(AFTER, json!({}))).claims.is_empty());
        assert_eq!(index.registrant(&index.claims.get("a").unwrap()), Registrant::Nobody);
    }

    #[test]
    fn a_node_of_the_expected_name_that_is_anybody_elses_is_a_stranger() {
        let reason = |node: adapt::SeenNode| {
            let mut index = Index::default();
            index.claims.saw(claim("a", 1, json!({})));
            index.saw_node(node);
            stranger(&index, "a")
        };
        let before = reason(node("2026-01-01T10:00:00Z", json!({})));
        assert!(before.contains("was there at 2026-01-01T10:00:00Z already"), "{before}");
        let elsewhere = reason(node(AFTER, json!({"spec": {"providerID": "aws://1"}})));
        assert!(elsewhere.contains("runs on aws://1"), "{elsewhere}");
        let marks = json!({"metadata": {"annotations": {"windlass.dev/claim-uid": "other"}}});
        assert!(reason(node(AFTER, marks)).contains("another claim's"));
    }

    #[test]
    fn of_two_claims_that_expect_the_same_node_neither_takes_it_until_one_has_no_machine_any_more() {
        let mut index = Index::default();
        index.claims.saw(claim("a", 1, json!({})));
        index.claims.saw(claim("b", 2, json!({})));
        index.saw_node(node(AFTER, json!({})));
        assert!(stranger(&index, "a").contains("claim b") && stranger(&index, "b").contains("claim a"));
        let gone = json!({"type": "Terminated", "status": "True", "reason": "Terminated", "message": "",
            "lastTransitionTime": AFTER});
        let changed = index.claims.saw(claim("a", 3, json!({"conditions": [gone]})));
        assert!(changed.claims.contains("b"), "it has to look again: {changed:?}");
        assert!(has_node(&index, "b"));
    }

    #[test]
    fn a_node_that_is_bound_to_one_claim_is_no_others() {
        let mut index = Index::default();
        index.claims.saw(claim("a", 1, json!({})));
        index.claims.saw(claim("b", 2, json!({})));
        index.saw_node(node(AFTER, json!({"spec": {"providerID": "p://a"}})));
        assert!(has_node(&index, "a"));
        assert!(stranger(&index, "b").contains("runs on p://a"));
    }

    #[test]
    fn a_claim_whose_node_is_gone_takes_no_other_of_its_name() {
        let mut index = Index::default();
        index.claims.saw(claim("a", 1, json!({"nodeName": "rack-1"})));
        index.saw_node(node(AFTER, json!({})));
        assert_eq!(index.registrant(&index.claims.get("a").unwrap()), Registrant::Nobody);
    }
}
