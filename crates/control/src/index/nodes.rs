use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_api::NodeClaim;
use windlass_core::Text;
use windlass_core::model::Node;

use super::{Changed, Index};

/// The node that stands for a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registrant {
    /// There is none.
    Nobody,
    /// This one.
    Node(Arc<Node>),
    /// Several nodes name the claim's machine as theirs, so that none can be believed.
    Several(Vec<Text>),
}

impl Index {
    /// Takes in a node of this version. The watch and the answers to our own writes come by different ways, so what is
    /// older than what is known must not take its place.
    pub fn saw_node(&mut self, node: Node, version: u64) -> Changed {
        let known = self.node_versions.get(&node.name);
        if known.is_some_and(|(uid, known)| *uid == node.uid && version < *known) {
            return Changed::nothing();
        }
        self.node_versions.insert(node.name.clone(), (node.uid.clone(), version));
        if self.nodes.get(&node.name).is_some_and(|known| **known == node) {
            return Changed::nothing();
        }
        let mut changed = self.lost_node_silently(&node.name);
        if let Some(id) = &node.provider_id {
            self.nodes_by_provider_id.entry(id.clone()).or_default().insert(node.name.clone());
        }
        changed |= self.concerned(&node);
        changed.plan = true;
        Arc::make_mut(&mut self.nodes).insert(node.name.clone(), Arc::new(node));
        changed
    }

    /// Takes in that a node is gone.
    pub fn lost_node(&mut self, name: &str) -> Changed {
        let mut changed = self.lost_node_silently(name);
        self.node_versions.remove(name);
        Arc::make_mut(&mut self.last_pod_change).remove(name);
        changed.plan = true;
        changed
    }

    /// Takes in that only these nodes exist.
    pub fn retain_nodes(&mut self, seen: &BTreeSet<String>) -> Changed {
        let absent: Vec<Text> = self.nodes.keys().filter(|name| !seen.contains(&***name)).cloned().collect();
        let mut changed = Changed::nothing();
        for name in absent {
            changed |= self.lost_node(&name);
        }
        changed
    }

    /// All nodes.
    pub fn nodes(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.nodes.values()
    }

    /// A node by its name.
    pub fn node(&self, name: &str) -> Option<&Arc<Node>> {
        self.nodes.get(name)
    }

    /// The node that stands for a claim: the one with the claim's machine, and no other, whatever it is called and
    /// whatever it says of itself. Once a claim is bound to a node, no other takes that one's place.
    pub fn registrant(&self, claim: &NodeClaim) -> Registrant {
        let status = claim.status.as_ref();
        let Some(id) = status.and_then(|status| status.provider_id.as_deref()) else {
            return Registrant::Nobody;
        };
        let names = self.nodes_by_provider_id.get(id).into_iter().flatten();
        let mut nodes: Vec<_> = names.filter_map(|name| self.nodes.get(name)).cloned().collect();
        let leaving = claim.metadata.deletion_timestamp.is_some();
        if let Some(bound) = status.and_then(|status| status.node_name.as_deref())
            && (leaving || nodes.len() < 2)
        {
            let own = nodes.into_iter().find(|node| &*node.name == bound);
            return own.map_or(Registrant::Nobody, Registrant::Node);
        }
        match (nodes.pop(), nodes.is_empty()) {
            (None, _) => Registrant::Nobody,
            (Some(node), true) => Registrant::Node(node),
            (Some(last), false) => Registrant::Several(
                nodes.iter().map(|node| node.name.clone()).chain([last.name.clone()]).collect(),
            ),
        }
    }

    fn lost_node_silently(&mut self, name: &str) -> Changed {
        let Some(node) = Arc::make_mut(&mut self.nodes).remove(name) else { return Changed::nothing() };
        if let Some(id) = &node.provider_id
            && let Some(names) = self.nodes_by_provider_id.get_mut(id)
        {
            names.remove(name);
            if names.is_empty() {
                self.nodes_by_provider_id.remove(id);
            }
        }
        self.concerned(&node)
    }

    fn concerned(&self, node: &Node) -> Changed {
        let by_machine = node.provider_id.iter().flat_map(|id| self.claims.names_by_provider_id(id));
        let by_mark = node.claim_uid.iter().filter_map(|uid| self.claims.name_by_uid(uid));
        Changed { claims: by_machine.chain(by_mark).cloned().collect(), ..Changed::default() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::adapt;
    use crate::index::Index;

    #[test]
    fn an_answer_older_than_what_the_watch_has_shown_changes_nothing() {
        let node = |uid: &str, ready: &str| {
            let conditions = json!([{"type": "Ready", "status": ready}]);
            let object = json!({"metadata": {"name": "n", "uid": uid}, "status": {"conditions": conditions}});
            adapt::node(&serde_json::from_value(object).unwrap())
        };
        let mut index = Index::default();
        index.saw_node(node("first", "True"), 7);
        assert!(!index.saw_node(node("first", "False"), 6).plan);
        assert!(index.node("n").unwrap().is_ready());
        index.saw_node(node("first", "False"), 8);
        assert!(!index.node("n").unwrap().is_ready());
        index.saw_node(node("second", "True"), 3);
        assert!(index.node("n").unwrap().is_ready(), "another node of the same name starts anew");
    }
}
