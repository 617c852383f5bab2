use super::{Namespaces, Selector};
use crate::Text;

/// A demand that pods be spread over the values of a node label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpreadConstraint {
    /// The label whose values are the domains.
    pub topology_key: Text,
    /// How many more of the pods a domain may have than the one with the fewest.
    pub max_skew: u32,
    /// With fewer domains than this the one with the fewest counts as empty.
    pub min_domains: Option<u32>,
    /// Whether a pod rather stays pending than breaks this.
    pub required: bool,
    /// The pods that are counted, in the pod's own namespace. What `matchLabelKeys` adds is in it already.
    pub selector: Selector,
    /// Whether only nodes that the pod's node selector and affinity allow are domains.
    pub honors_node_affinity: bool,
    /// Whether only nodes whose taints the pod tolerates are domains.
    pub honors_taints: bool,
}

/// Pods that a pod wants to be with, or away from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AffinityTerm {
    /// Being in the same place means having the same value of this node label.
    pub topology_key: Text,
    /// Which pods.
    pub selector: Selector,
    /// In which namespaces; that of the pod itself is named where no other was.
    pub namespaces: Namespaces,
}

/// A wish, and how much it counts among others of its kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weighted<T> {
    /// From 1 to 100.
    pub weight: i32,
    /// What is wished for.
    pub wish: T,
}

/// A port of the node that a pod takes for itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPort {
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: Text,
    /// The address; `0.0.0.0` means all of the node's.
    pub address: Text,
    /// The number.
    pub port: u16,
}

/// The address that stands for all of a node's.
const ALL_ADDRESSES: &str = "0.0.0.0";

impl HostPort {
    /// Whether both cannot be on one node.
    pub fn conflicts(&self, other: &Self) -> bool {
        let overlap = self.address == other.address
            || &*self.address == ALL_ADDRESSES
            || &*other.address == ALL_ADDRESSES;
        self.port == other.port && self.protocol == other.protocol && overlap
    }
}

#[cfg(test)]
mod tests {
    use super::HostPort;

    fn port(protocol: &str, address: &str, port: u16) -> HostPort {
        HostPort { protocol: protocol.into(), address: address.into(), port }
    }

    #[test]
    fn a_port_on_all_addresses_conflicts_with_the_same_on_any() {
        let all = port("TCP", "0.0.0.0", 80);
        assert!(all.conflicts(&port("TCP", "10.0.0.1", 80)) && port("TCP", "10.0.0.1", 80).conflicts(&all));
        assert!(!all.conflicts(&port("UDP", "0.0.0.0", 80)) && !all.conflicts(&port("TCP", "0.0.0.0", 81)));
        assert!(!port("TCP", "10.0.0.1", 80).conflicts(&port("TCP", "10.0.0.2", 80)));
    }
}
