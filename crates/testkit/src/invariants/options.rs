use jiff::SignedDuration;

/// What the judge is to be strict about, and whose objects it looks at.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose objects are judged.
    pub scope: Scope,
    /// How long a machine may be without a claim.
    pub orphan_grace: SignedDuration,
    /// How long after a user lowered a limit a claim is still judged by the old one: the controller cannot know of
    /// the change the moment it is made.
    pub limit_tolerance: SignedDuration,
    /// How long before the end that its provider has announced a machine's node may be drained, whether or not its
    /// replacement is there.
    pub last_call: SignedDuration,
    /// How many times Windlass may write one object within [`Self::write_window`].
    pub writes_per_object: usize,
    /// The time over which writes are counted.
    pub write_window: SignedDuration,
    /// How many claims Windlass may create for one pool within an hour.
    pub claims_per_pool_per_hour: usize,
    /// How long an event waits for those of other kinds that happened before it and arrive after it. Only for events
    /// that come from watches; a simulation reports its events in order.
    pub reorder: SignedDuration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scope: Scope::default(),
            orphan_grace: SignedDuration::from_secs(120),
            limit_tolerance: SignedDuration::from_secs(5),
            last_call: SignedDuration::from_secs(65),
            writes_per_object: 30,
            write_window: SignedDuration::from_secs(60),
            claims_per_pool_per_hour: 500,
            reorder: SignedDuration::from_secs(1),
        }
    }
}

/// Whose objects are judged, so that several controllers can work on one control plane.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// The cluster id in the tags of the controller's machines; without it, machines of all clusters are judged.
    pub cluster_id: Option<String>,
    /// How the names of the controller's pools and providers begin.
    pub pool_prefix: String,
}

impl Scope {
    pub(super) fn includes_pool(&self, name: &str) -> bool {
        name.starts_with(&self.pool_prefix)
    }

    pub(super) fn includes_cluster(&self, id: &str) -> bool {
        self.cluster_id.as_deref().is_none_or(|ours| ours == id)
    }
}
