use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use windlass_core::model::{Consolidation, InstanceType, Labels, Pod, PodId, PodState, Resources, Snapshot};
use windlass_core::{Price, Text};

use super::scheduler::Scoring;
use super::script::{Replica, Task};
use crate::cluster::NAMESPACE;

/// What has to be saved per hour for each pod that moves, unless a pool says otherwise.
const DEFAULT_SAVINGS: Price = Price::from_micros(1_000);

/// What there is.
pub(super) struct Cluster {
    pub(super) snapshot: Snapshot,
    pub(super) scoring: Scoring,
    /// What is free on each node.
    pub(super) free: BTreeMap<Text, Resources>,
    /// The pods without a node, in the order in which they came.
    pub(super) waiting: Vec<PodId>,
    /// The nodes on which the last plan expects pods that wait.
    pub(super) expected: BTreeMap<PodId, Text>,
    /// What runs, by its pods.
    pub(super) tenants: BTreeMap<PodId, Tenant>,
    pods: BTreeMap<Replica, PodId>,
    /// How many pods and claims there have been.
    pub(super) made: usize,
}

/// A replica in the shape of a pod.
#[derive(Clone, Debug)]
pub(super) struct Tenant {
    replica: Replica,
    /// With the work that was left when the pod was made.
    pub(super) task: Task,
    pub(super) waits_since: Timestamp,
    pub(super) runs_since: Option<Timestamp>,
    /// Whether the replica ran before and was evicted.
    pub(super) moved: bool,
}

impl Cluster {
    /// Nothing runs, and one pool offers these machines.
    pub(super) fn new(machines: Vec<InstanceType>, policy: Consolidation, scoring: Scoring) -> Self {
        let mut snapshot = crate::cluster::empty(machines);
        for pool in Arc::make_mut(&mut snapshot.pools).values_mut() {
            let pool = Arc::make_mut(pool);
            pool.consolidation = policy;
            pool.min_savings_per_move = DEFAULT_SAVINGS;
        }
        Self {
            snapshot,
            scoring,
            free: BTreeMap::new(),
            waiting: Vec::new(),
            expected: BTreeMap::new(),
            tenants: BTreeMap::new(),
            pods: BTreeMap::new(),
            made: 0,
        }
    }

    /// How many replicas there are.
    pub(super) fn live(&self) -> usize {
        self.pods.len()
    }

    pub(super) fn start(&mut self, replica: Replica, task: Task, now: Timestamp) {
        self.make_pod(Tenant { replica, task, waits_since: now, runs_since: None, moved: false });
    }

    pub(super) fn end(&mut self, replica: Replica, now: Timestamp) {
        if let Some(pod) = self.pods.get(&replica).cloned() {
            self.finish(&pod, now);
        }
    }

    /// Has a pod go for good.
    pub(super) fn finish(&mut self, pod: &PodId, now: Timestamp) {
        if let Some(tenant) = self.take_pod(pod, now) {
            self.pods.remove(&tenant.replica);
        }
    }

    /// Has a pod go and another one come in its place, as its controller would.
    pub(super) fn evict(&mut self, pod: &PodId, now: Timestamp) {
        let Some(mut tenant) = self.take_pod(pod, now) else { return };
        if let (Some(work), Some(since)) = (&mut tenant.task.work, tenant.runs_since) {
            let done = now.duration_since(since).unsigned_abs();
            *work = work.saturating_sub(done);
        }
        self.make_pod(Tenant { waits_since: now, runs_since: None, moved: true, ..tenant });
    }

    fn make_pod(&mut self, tenant: Tenant) {
        self.made += 1;
        let id = PodId::new(NAMESPACE, &format!("{}-{:06}", tenant.task.app, self.made));
        let pod = Pod {
            id: id.clone(),
            uid: id.name.clone(),
            shape: tenant.task.shape.clone(),
            labels: Arc::new(Labels::new()),
            volume_claims: Arc::default(),
            nominated: None,
            state: PodState::Unschedulable { since: tenant.waits_since },
            deleting: false,
            stays_until: None,
            may_go: false,
            bound_at: None,
        };
        Arc::make_mut(&mut self.snapshot.pods).insert(id.clone(), Arc::new(pod));
        self.waiting.push(id.clone());
        self.pods.insert(tenant.replica, id.clone());
        self.tenants.insert(id, tenant);
    }

    fn take_pod(&mut self, id: &PodId, now: Timestamp) -> Option<Tenant> {
        let pod = Arc::make_mut(&mut self.snapshot.pods).remove(id)?;
        match pod.node() {
            Some(node) => {
                if let Some(free) = self.free.get_mut(node) {
                    free.add(&pod.shape.requests);
                }
                Arc::make_mut(&mut self.snapshot.last_pod_change).insert(node.clone(), now);
            }
            None => self.waiting.retain(|waiting| waiting != id),
        }
        self.tenants.remove(id)
    }

    /// What is wrong, which nothing should be: nodes with more on them than they hold, and replicas that are no more.
    pub(super) fn flaws(&self) -> Vec<String> {
        let mut taken: BTreeMap<&Text, Resources> = BTreeMap::new();
        for pod in self.snapshot.pods.values() {
            if let Some(node) = pod.node() {
                taken.entry(node).or_default().add(&pod.shape.requests);
            }
        }
        let overfull = taken.iter().filter_map(|(name, taken)| match self.snapshot.nodes.get(*name) {
            Some(node) if node.allocatable.covers(taken) => None,
            Some(node) => Some(format!("{name} holds {} and has {taken} on it", node.allocatable)),
            None => Some(format!("pods run on {name}, which is not there")),
        });
        let lost = self.pods.values().filter(|pod| !self.snapshot.pods.contains_key(*pod));
        let lost = lost.map(|pod| format!("pod {pod} is lost"));
        let waiting = self.snapshot.pods.values().filter(|pod| pod.node().is_none()).count();
        let forgotten = waiting.abs_diff(self.waiting.len());
        let forgotten = (forgotten > 0).then(|| format!("{forgotten} pods wait and nobody knows of them"));
        overfull.chain(lost).chain(forgotten).collect()
    }
}
