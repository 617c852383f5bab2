use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::facts::{Budget, Claim, Machine, Node, Pod};
use super::index::Groups;

/// What one event did to one object's facts.
#[derive(Debug)]
pub(super) struct Step<T> {
    pub(super) before: Option<Arc<T>>,
    pub(super) after: Option<Arc<T>>,
}

/// The facts as of the last event, indexed by what the rules ask for so that no rule has to look at everything.
#[derive(Debug, Default)]
pub(super) struct World {
    claims: HashMap<String, Arc<Claim>>,
    claims_by_provider_id: Groups,
    adopters: Groups,
    replacements: Groups,
    machines: HashMap<String, Arc<Machine>>,
    machines_by_claim: Groups,
    ended_machines: HashSet<String>,
    nodes: HashMap<String, Arc<Node>>,
    nodes_by_provider_id: Groups,
    pods: HashMap<String, Arc<Pod>>,
    pods_by_node: Groups,
    budgets: HashMap<String, BTreeMap<String, Arc<Budget>>>,
}

impl World {
    pub(super) fn claim(&self, uid: &str) -> Option<&Arc<Claim>> {
        self.claims.get(uid)
    }

    pub(super) fn claims(&self) -> impl Iterator<Item = &Arc<Claim>> {
        self.claims.values()
    }

    pub(super) fn claims_with_machine(&self, provider_id: &str) -> impl Iterator<Item = &Arc<Claim>> {
        self.claims_by_provider_id.of(provider_id).filter_map(|uid| self.claim(uid))
    }

    /// The claims that take over a machine launched for the claim with this UID.
    pub(super) fn adopters(&self, uid: &str) -> impl Iterator<Item = &Arc<Claim>> {
        self.adopters.of(uid).filter_map(|adopter| self.claim(adopter))
    }

    /// The claims that are to replace the claim of this name.
    pub(super) fn replacements(&self, name: &str) -> impl Iterator<Item = &Arc<Claim>> {
        self.replacements.of(name).filter_map(|uid| self.claim(uid))
    }

    pub(super) fn machine(&self, provider_id: &str) -> Option<&Arc<Machine>> {
        self.machines.get(provider_id)
    }

    /// The machines with the tag of this claim.
    pub(super) fn machines_of(&self, claim_uid: &str) -> impl Iterator<Item = &Arc<Machine>> {
        self.machines_by_claim.of(claim_uid).filter_map(|id| self.machine(id))
    }

    /// Whether the machine was there once and is no more.
    pub(super) fn machine_has_ended(&self, provider_id: &str) -> bool {
        self.ended_machines.contains(provider_id)
    }

    pub(super) fn node(&self, name: &str) -> Option<&Arc<Node>> {
        self.nodes.get(name)
    }

    pub(super) fn nodes_of(&self, provider_id: &str) -> impl Iterator<Item = &Arc<Node>> {
        self.nodes_by_provider_id.of(provider_id).filter_map(|name| self.node(name))
    }

    /// The claim that a node stands for.
    pub(super) fn claim_of(&self, node: &Node) -> Option<&Arc<Claim>> {
        let by_machine = node.provider_id.as_deref().and_then(|id| self.claims_with_machine(id).next());
        by_machine.or_else(|| self.claim(node.claim_uid.as_deref()?))
    }

    pub(super) fn pod(&self, name: &str) -> Option<&Arc<Pod>> {
        self.pods.get(name)
    }

    pub(super) fn pods_on(&self, node: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods_by_node.of(node).filter_map(|name| self.pods.get(name))
    }

    /// The budget that forbids to disrupt the pod now.
    pub(super) fn protector(&self, pod: &Pod) -> Option<&Arc<Budget>> {
        self.budgets.get(&pod.namespace)?.values().find(|budget| budget.protects(pod))
    }

    /// Takes in a claim, or its end. Claims go by UID: one that reuses a name is another claim.
    pub(super) fn put_claim(&mut self, uid: &str, after: Option<Claim>) -> Step<Claim> {
        let before = self.claims.remove(uid);
        if let Some(claim) = &before {
            claim.provider_id.iter().for_each(|id| self.claims_by_provider_id.remove(id, uid));
            claim.adopted_uid.iter().for_each(|adopted| self.adopters.remove(adopted, uid));
            claim.replaces.iter().for_each(|victim| self.replacements.remove(victim, uid));
        }
        let after = after.map(Arc::new);
        if let Some(claim) = &after {
            self.claims.insert(uid.to_owned(), Arc::clone(claim));
            claim.provider_id.iter().for_each(|id| self.claims_by_provider_id.insert(id, uid));
            claim.adopted_uid.iter().for_each(|adopted| self.adopters.insert(adopted, uid));
            claim.replaces.iter().for_each(|victim| self.replacements.insert(victim, uid));
        }
        Step { before, after }
    }

    pub(super) fn put_machine(&mut self, id: &str, after: Option<Machine>) -> Step<Machine> {
        let before = self.machines.remove(id);
        if let Some(machine) = &before {
            self.machines_by_claim.remove(&machine.claim_uid, id);
        }
        let after = after.map(Arc::new);
        if after.as_ref().is_some_and(|machine| machine.live) {
            self.ended_machines.remove(id);
        } else if before.is_some() {
            self.ended_machines.insert(id.to_owned());
        }
        if let Some(machine) = &after {
            self.machines.insert(id.to_owned(), Arc::clone(machine));
            self.machines_by_claim.insert(&machine.claim_uid, id);
        }
        Step { before, after }
    }

    pub(super) fn put_node(&mut self, name: &str, after: Option<Node>) -> Step<Node> {
        let before = self.nodes.remove(name);
        if let Some(id) = before.as_ref().and_then(|node| node.provider_id.as_deref()) {
            self.nodes_by_provider_id.remove(id, name);
        }
        let after = after.map(Arc::new);
        if let Some(node) = &after {
            self.nodes.insert(name.to_owned(), Arc::clone(node));
            node.provider_id.iter().for_each(|id| self.nodes_by_provider_id.insert(id, name));
        }
        Step { before, after }
    }

    pub(super) fn put_pod(&mut self, name: &str, after: Option<Pod>) -> Step<Pod> {
        let before = self.pods.remove(name);
        if let Some(node) = before.as_ref().and_then(|pod| pod.node.as_deref()) {
            self.pods_by_node.remove(node, name);
        }
        let after = after.map(Arc::new);
        if let Some(pod) = &after {
            self.pods.insert(name.to_owned(), Arc::clone(pod));
            pod.node.iter().for_each(|node| self.pods_by_node.insert(node, name));
        }
        Step { before, after }
    }

    pub(super) fn put_budget(&mut self, budget: Budget) {
        self.budgets
            .entry(budget.namespace.clone())
            .or_default()
            .insert(budget.name.clone(), Arc::new(budget));
    }

    pub(super) fn remove_budget(&mut self, budget: &Budget) {
        if let Some(budgets) = self.budgets.get_mut(&budget.namespace) {
            budgets.remove(&budget.name);
        }
    }
}
