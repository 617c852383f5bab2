use super::keys::{Domains, OWN};

/// Pods that are counted together, by domain: those that a rule of some class looks at.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// By which node label.
    pub(super) key: usize,
    /// Whether each node is a domain of its own, so that every new node is one more.
    of_hosts: bool,
    /// How many of the pods each domain has.
    counts: Vec<u32>,
    /// How many nodes that count each domain has.
    nodes: Vec<u32>,
    total: u32,
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
        if let Some(count) = entry(&mut self.nodes, domains.get(self.key)) {
            *count += 1;
        }
    }

    /// Notes that a node is not there after all.
    pub(super) fn take_node(&mut self, domains: &Domains) {
        if let Some(count) = entry(&mut self.nodes, domains.get(self.key)) {
            *count = count.saturating_sub(1);
        }
    }

    /// Whether there is a node that counts in the same domain.
    pub(super) fn has_node(&self, domains: &Domains) -> bool {
        domains
            .get(self.key)
            .is_none_or(|domain| self.nodes.get(domain as usize).is_some_and(|nodes| *nodes > 0))
    }

    /// Notes that so many of the pods are there.
    pub(super) fn add_pods(&mut self, domains: &Domains, pods: u32) {
        if let Some(count) = entry(&mut self.counts, domains.get(self.key)) {
            *count = count.saturating_add(pods);
            self.total = self.total.saturating_add(pods);
        }
    }

    /// Notes that so many of the pods are not there after all.
    pub(super) fn take_pods(&mut self, domains: &Domains, pods: u32) {
        if let Some(count) = entry(&mut self.counts, domains.get(self.key)) {
            let gone = pods.min(*count);
            *count -= gone;
            self.total -= gone;
        }
    }

    pub(super) fn count(&self, domain: u32) -> u32 {
        self.counts.get(domain as usize).copied().unwrap_or(0)
    }

    pub(super) fn total(&self) -> u32 {
        self.total
    }

    /// The fewest pods that any domain with a node has, which is none where there are too few domains.
    pub(super) fn least(&self, min_domains: u32) -> u32 {
        let with_nodes = || self.nodes.iter().enumerate().filter(|(_, nodes)| **nodes > 0);
        if min_domains > 1 && with_nodes().count() < min_domains as usize {
            return 0;
        }
        with_nodes().map(|(domain, _)| self.counts.get(domain).copied().unwrap_or(0)).min().unwrap_or(0)
    }
}

/// The number for a domain, which is made if need be.
fn entry(numbers: &mut Vec<u32>, domain: Option<u32>) -> Option<&mut u32> {
    // A node that is not there yet is alone in its domain, and there are any number of such domains.
    let domain = domain.filter(|domain| *domain != OWN)? as usize;
    if numbers.len() <= domain {
        numbers.resize(domain + 1, 0);
    }
    numbers.get_mut(domain)
}
