/// Where the pods go.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packing {
    /// The nodes to launch.
    pub nodes: Vec<PackedNode>,
    /// For each class how many pods got no place.
    pub left: Vec<u32>,
    /// What the nodes cost together, in micro-dollars per hour.
    pub cost: u64,
    /// No way to place the pods that have a place costs less. It is certified: whoever doubts it can check
    /// [`Packing::class_values`] against every offer.
    pub lower_bound: u64,
    /// What a unit of each resource is worth, in micro-dollars per hour.
    pub resource_values: Vec<f64>,
    /// What a pod of each class is worth at the margin, in micro-dollars per hour.
    pub class_values: Vec<f64>,
    /// How the answer was found.
    pub statistics: Statistics,
}

/// Nodes that are filled alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedNode {
    /// The number of the offer.
    pub offer: usize,
    /// The number of each class on it and how many of its pods one node gets.
    pub fill: Vec<(usize, u32)>,
    /// How many such nodes.
    pub repeat: u32,
}

/// How an answer was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Offers that were looked at, after those that others make useless were dropped.
    pub offers: usize,
    /// Patterns that were considered together.
    pub patterns: usize,
    /// Rounds of looking for better patterns.
    pub rounds: usize,
    /// Times that some nodes were emptied and packed anew.
    pub repacks: usize,
    /// How many of those made it cheaper.
    pub improvements: usize,
}

impl Packing {
    /// How many pods have a place.
    pub fn placed(&self) -> u64 {
        let of_node = |node: &PackedNode| -> u64 {
            node.fill.iter().map(|(_, count)| u64::from(*count)).sum::<u64>() * u64::from(node.repeat)
        };
        self.nodes.iter().map(of_node).sum()
    }

    /// How many nodes are launched.
    pub fn node_count(&self) -> u64 {
        self.nodes.iter().map(|node| u64::from(node.repeat)).sum()
    }
}
