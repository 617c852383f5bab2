use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Text;

/// Labels of a node or an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Labels(BTreeMap<Text, Text>);

/// The labels that the planner itself reads or sets.
#[allow(missing_docs, reason = "the names are Kubernetes' and ours")]
pub mod well_known {
    pub const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
    pub const ZONE: &str = "topology.kubernetes.io/zone";
    pub const HOSTNAME: &str = "kubernetes.io/hostname";
    pub const ARCH: &str = "kubernetes.io/arch";
    pub const OS: &str = "kubernetes.io/os";
    pub const POOL: &str = "windlass.dev/pool";
    pub const CAPACITY_TYPE: &str = "windlass.dev/capacity-type";
}

impl Labels {
    /// No labels.
    pub fn new() -> Self {
        Self::default()
    }

    /// A label's value.
    pub fn get(&self, key: &str) -> Option<&Text> {
        self.0.get(key)
    }

    /// Sets a label.
    pub fn set(&mut self, key: impl Into<Text>, value: impl Into<Text>) {
        self.0.insert(key.into(), value.into());
    }

    /// The same with one label set.
    #[must_use]
    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.set(key, value);
        self
    }

    /// Sets all of the other's labels.
    pub fn extend(&mut self, other: &Self) {
        for (key, value) in other.iter() {
            self.0.insert(key.clone(), value.clone());
        }
    }

    /// Keys and values in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, &Text)> {
        self.0.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: Into<Text>, V: Into<Text>> FromIterator<(K, V)> for Labels {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(labels: I) -> Self {
        Self(labels.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}
