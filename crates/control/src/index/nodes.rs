use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use windlass_core::Text;
use windlass_core::model::Node;

use super::{Changed, Index};
use crate::adapt::SeenNode;

/// What is known of a node that planning does not look at.
#[derive(Clone, Debug)]
pub(super) struct NodeFacts {
    uid: Text,
    version: u64,
    pub(super) created_at: Timestamp,
}

impl Index {
    /// Takes in a node. The watch and the answers to our own writes come by different ways, so what is older than what is
    /// known must not take its place.
    pub fn saw_node(&mut self, seen: SeenNode) -> Changed {
        let SeenNode { node, version, created_at } = seen;
        let known = self.node_facts.get(&node.name);
        if known.is_some_and(|known| known.uid == node.uid && version < known.version) {
            return Changed::nothing();
        }
        let facts = NodeFacts { uid: node.uid.clone(), version, created_at };
        self.node_facts.insert(node.name.clone(), facts);
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
        self.node_facts.remove(name);
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
        let by_name = self.claims.names_expecting(&node.name);
        Changed { claims: by_machine.chain(by_mark).chain(by_name).cloned().collect(), ..Changed::default() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::adapt;
    use crate::index::Index;

    #[test]
    fn an_answer_older_than_what_the_watch_has_shown_changes_nothing() {
        let node = |uid: &str, ready: &str, version: u64| {
            let conditions = json!([{"type": "Ready", "status": ready}]);
            let metadata = json!({"name": "n", "uid": uid, "resourceVersion": version.to_string()});
            let object = json!({"metadata": metadata, "status": {"conditions": conditions}});
            adapt::seen_node(&serde_json::from_value(object).unwrap())
        };
        let mut index = Index::default();
        index.saw_node(node("first", "True", 7));
        assert!(!index.saw_node(node("first", "False", 6)).plan);
        assert!(index.node("n").unwrap().is_ready());
        index.saw_node(node("first", "False", 8));
        assert!(!index.node("n").unwrap().is_ready());
        index.saw_node(node("second", "True", 3));
        assert!(index.node("n").unwrap().is_ready(), "another node of the same name starts anew");
    }
}
