use std::collections::BTreeMap;

use super::keys::{Domains, OWN};

/// Pods that are counted together, by domain: those that a rule of some class looks at.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// By which node label.
    pub(super) key: usize,
    /// Whether each node is a domain of its own, so that every new node is one more.
    of_hosts: bool,
    domains: Vec<Domain>,
    /// How many of the domains with nodes have each number of pods.
    levels: BTreeMap<u32, u32>,
    /// How many domains have nodes.
    with_nodes: usize,
    total: u32,
}

/// What is counted of a domain.
#[derive(Clone, Copy, Debug, Default)]
struct Domain {
    /// How many of the pods it has.
    pods: u32,
    /// How many nodes that count it has.
    nodes: u32,
}

impl Tally {
    pub(super) fn by(key: usize, of_hosts: bool) -> Self {
        Self { key, of_hosts, ..Self::default() }
    }

    /// The fewest pods that any domain may have by the time that something happens on a node, given what it is now. By the
    /// time that a node is ready which is not yet, others may have come on which there is nothing.
    pub(super) fn least_by_then(&self, least: u32, ready: bool) -> u32 {
        if self.of_hosts && !ready { 0 } else { least }
    }

    /// Notes that there is a node there.
    pub(super) fn add_node(&mut self, domains: &Domains) {
        self.change(domains, |domain| domain.nodes += 1);
    }

    /// Notes that a node is not there after all.
    pub(super) fn take_node(&mut self, domains: &Domains) {
        self.change(domains, |domain| domain.nodes = domain.nodes.saturating_sub(1));
    }

    /// Whether there is a node that counts in the same domain.
    pub(super) fn has_node(&self, domains: &Domains) -> bool {
        domains
            .get(self.key)
            .is_none_or(|number| self.domains.get(number as usize).is_some_and(|domain| domain.nodes > 0))
    }

    /// Notes that so many of the pods are there.
    pub(super) fn add_pods(&mut self, domains: &Domains, pods: u32) {
        self.change(domains, |domain| domain.pods = domain.pods.saturating_add(pods));
    }

    /// Notes that so many of the pods are not there after all.
    pub(super) fn take_pods(&mut self, domains: &Domains, pods: u32) {
        self.change(domains, |domain| domain.pods = domain.pods.saturating_sub(pods));
    }

    pub(super) fn count(&self, domain: u32) -> u32 {
        self.domains.get(domain as usize).map_or(0, |domain| domain.pods)
    }

    pub(super) fn total(&self) -> u32 {
        self.total
    }

    /// The fewest pods that any domain with a node has, which is none where there are too few domains.
    pub(super) fn least(&self, min_domains: u32) -> u32 {
        if min_domains > 1 && self.with_nodes < min_domains as usize {
            return 0;
        }
        self.levels.first_key_value().map_or(0, |(pods, _)| *pods)
    }

    fn change(&mut self, domains: &Domains, how: impl FnOnce(&mut Domain)) {
        // A node that is not there yet is alone in its domain, and there are any number of such domains.
        let Some(number) = domains.get(self.key).filter(|domain| *domain != OWN) else { return };
        let number = number as usize;
        if self.domains.len() <= number {
            self.domains.resize(number + 1, Domain::default());
        }
        let Some(domain) = self.domains.get_mut(number) else { return };
        let before = *domain;
        how(domain);
        let after = *domain;
        self.total = self.total.saturating_sub(before.pods).saturating_add(after.pods);
        if before.nodes > 0 {
            self.with_nodes -= 1;
            if let Some(domains) = self.levels.get_mut(&before.pods) {
                *domains -= 1;
                if *domains == 0 {
                    self.levels.remove(&before.pods);
                }
            }
        }
        if after.nodes > 0 {
            self.with_nodes += 1;
            *self.levels.entry(after.pods).or_default() += 1;
        }
    }
}
