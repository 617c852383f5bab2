//! A cluster as it is described in a test.

use std::fmt;
use std::sync::Arc;

use windlass_core::model::{
    Claim, ClaimPhase, DaemonSet, Draw, InstanceType, Node, Offering, Pod, PodId, PodShape, PodState, Pool,
    Readiness, Snapshot, well_known,
};
use windlass_core::plan::Unplaced;
use windlass_core::{Plan, Report, plan};

use crate::shapes::{at, claim, joined, launched};

/// The moment of planning in all tests; things that stand have stood since 0.
pub const NOW: i64 = 1000;

/// The state of a pod that the scheduler has yet to look at.
pub fn just_made() -> PodState {
    PodState::Waiting { since: at(NOW) }
}

#[derive(Clone, Default)]
pub struct Cluster(pub Snapshot);

/// What matters of a cluster that a property does not hold for, on one screen.
impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for pool in self.0.pools.values() {
            let Pool { name, weight, limits, max_nodes, min_nodes, taints, instance_types, .. } = &**pool;
            writeln!(
                f,
                "pool {name} weight {weight} limits {limits} {max_nodes:?} min {min_nodes} {taints:?}"
            )?;
            for machine in instance_types.iter() {
                writeln!(f, "  {} with {}", machine.name, machine.allocatable)?;
                for Offering { zone, price, available, avoid_until, draws, .. } in &machine.offerings {
                    write!(f, "    in {zone} for {price} {available:?} {avoid_until:?}")?;
                    match draws {
                        Some(Draw { from, left, takes }) => writeln!(f, " of {from} ({left}) {takes}")?,
                        None => writeln!(f)?,
                    }
                }
            }
        }
        for claim in self.0.claims.values() {
            let Claim { name, phase, disrupted, deleting, .. } = &**claim;
            let ways: Vec<_> =
                claim.offerings.iter().map(|way| (&way.key.instance_type, &way.key.zone)).collect();
            writeln!(f, "claim {name} {phase:?} {disrupted:?} {deleting} {ways:?}")?;
        }
        for set in self.0.daemon_sets.values() {
            writeln!(f, "daemonset {} {:?}", set.id, set.shape)?;
        }
        for node in self.0.nodes.values() {
            let labels: Vec<_> = node.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
            writeln!(f, "node {} with {} {labels:?} {:?}", node.name, node.allocatable, node.taints)?;
        }
        for pod in self.0.pods.values() {
            writeln!(f, "pod {} {:?} {}", pod.id, pod.state, Told(&pod.shape))?;
        }
        Ok(())
    }
}

/// What is not as usual about a shape.
struct Told<'a>(&'a PodShape);

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = self.0;
        write!(f, "{} priority {}", shape.requests, shape.priority)?;
        for each in &shape.spread {
            write!(f, " {}spread {each:?}", if each.required { "" } else { "soft " })?;
        }
        for (verb, terms) in [("with", &shape.pod_affinity), ("away", &shape.pod_anti_affinity)] {
            for term in terms {
                write!(f, " {verb} {} {:?}", term.topology_key, term.selector)?;
            }
        }
        for (verb, wishes) in [("rather with", &shape.pod_preferences), ("rather away", &shape.pod_aversions)]
        {
            for wish in wishes {
                write!(f, " {verb} {} {:?}", wish.wish.topology_key, wish.wish.selector)?;
            }
        }
        let ports: Vec<u16> = shape.host_ports.iter().map(|port| port.port).collect();
        write!(f, " ports {ports:?} selecting {:?} {:?}", shape.node_selector, shape.node_affinity)?;
        write!(f, " tolerating {:?} preferring {:?}", shape.tolerations, shape.node_preferences)
    }
}

impl Cluster {
    pub fn new(pools: impl IntoIterator<Item = Pool>) -> Self {
        let mut cluster = Self::default();
        let pools = pools.into_iter().map(|pool| (pool.name.clone(), Arc::new(pool)));
        cluster.0.pools = Arc::new(pools.collect());
        // Enough to find what tests are about, and quick.
        cluster.0.settings.search_steps = 30;
        cluster
    }

    /// Pods of one shape, `default/<name>-1` and so on.
    pub fn pods(mut self, name: &str, count: usize, shape: PodShape, state: &PodState) -> Self {
        let shape = Arc::new(shape);
        let pods = Arc::make_mut(&mut self.0.pods);
        for number in 1..=count {
            let id = PodId::new("default", &format!("{name}-{number}"));
            let uid = id.to_string().into();
            let pod = Pod {
                id: id.clone(),
                uid,
                shape: shape.clone(),
                labels: Arc::default(),
                volume_claims: Arc::default(),
                nominated: None,
                state: state.clone(),
                deleting: false,
                stays_until: None,
                may_go: false,
                bound_at: None,
            };
            pods.insert(id, Arc::new(pod));
        }
        self
    }

    /// Pods that the scheduler found no node for.
    pub fn pending(self, name: &str, count: usize, shape: PodShape) -> Self {
        self.pods(name, count, shape, &PodState::Unschedulable { since: at(NOW - 5) })
    }

    pub fn bound(self, name: &str, count: usize, shape: PodShape, node: &str) -> Self {
        self.pods(name, count, shape, &PodState::Bound(node.into()))
    }

    pub fn deleting_pods(mut self) -> Self {
        for pod in Arc::make_mut(&mut self.0.pods).values_mut() {
            Arc::make_mut(pod).deleting = true;
        }
        self
    }

    pub fn daemon_set(mut self, name: &str, shape: PodShape) -> Self {
        let id = PodId::new("kube-system", name);
        let set = DaemonSet { id: id.clone(), shape: Arc::new(shape) };
        Arc::make_mut(&mut self.0.daemon_sets).insert(id, Arc::new(set));
        self
    }

    pub fn node(mut self, node: Node) -> Self {
        Arc::make_mut(&mut self.0.nodes).insert(node.name.clone(), Arc::new(node));
        self
    }

    pub fn claim(mut self, claim: Claim) -> Self {
        Arc::make_mut(&mut self.0.claims).insert(claim.name.clone(), Arc::new(claim));
        self
    }

    /// A claim whose node `node-of-<name>` has been ready since second 0, changed as the test wants.
    pub fn standing_but(
        self,
        name: &str,
        pool: &str,
        machine: &InstanceType,
        change: impl FnOnce(&mut Claim, &mut Node),
    ) -> Self {
        let (mut claim, mut node) = stand(launched(claim(name, pool, std::slice::from_ref(machine)), 0), 0);
        change(&mut claim, &mut node);
        self.node(node).claim(claim)
    }

    pub fn standing(self, name: &str, pool: &str, machine: &InstanceType) -> Self {
        self.standing_but(name, pool, machine, |_, _| {})
    }

    pub fn pod_changed(mut self, node: &str, second: i64) -> Self {
        Arc::make_mut(&mut self.0.last_pod_change).insert(node.into(), at(second));
        self
    }

    pub fn plan(&self) -> (Plan, Report) {
        plan(&self.0, at(NOW))
    }

    /// The plan's launches as the first choice of machine and the number of pods, sorted.
    pub fn launches(&self) -> Vec<(String, usize)> {
        let (plan, _) = self.plan();
        let told = plan
            .launches
            .iter()
            .map(|launch| (launch.offerings[0].key.instance_type.to_string(), launch.pods.len()));
        let mut told: Vec<_> = told.collect();
        told.sort();
        told
    }

    /// The claims that the plan removes or that it is decided will go.
    pub fn removals(&self) -> Vec<String> {
        let (plan, _) = self.plan();
        let decided = plan.disruptions.iter().flat_map(|each| &each.claims).map(|(claim, _)| claim);
        let mut going: Vec<_> = plan
            .removals
            .iter()
            .map(|removal| &removal.claim)
            .chain(decided)
            .map(ToString::to_string)
            .collect();
        going.sort();
        going
    }

    /// Why a claim stays or goes.
    pub fn why(&self, claim: &str) -> String {
        let (_, report) = self.plan();
        report.nodes.into_iter().find(|node| &*node.claim == claim).map(|node| node.why).unwrap_or_default()
    }

    /// Why the first class of pods that stays pending does.
    pub fn excuse(&self) -> String {
        self.plan().1.unplaced.first().map(Unplaced::summary).unwrap_or_default()
    }
}

/// A launched claim and its node once it has been initialized.
pub fn stand(claim: Claim, second: i64) -> (Claim, Node) {
    let mut node = joined(&claim, at(second));
    let key = claim.launched.as_ref().map(|launched| launched.key.clone()).unwrap();
    node.labels.extend(&claim.labels);
    node.labels.set(well_known::INSTANCE_TYPE, key.instance_type);
    node.labels.set(well_known::ZONE, key.zone);
    node.labels.set(well_known::CAPACITY_TYPE, key.capacity_type);
    node.taints.clone_from(&claim.taints);
    node.readiness = Readiness::Ready;
    node.claim_uid = Some(claim.uid.clone());
    let (phase, name) = (ClaimPhase::Initialized, Some(node.name.clone()));
    (Claim { phase, node: name, initialized_at: Some(at(second)), ..claim }, node)
}
