//! Whether kube-scheduler would put pods where a plan expects them, written from the Kubernetes documentation and
//! without a look at the planner: once all nodes of the plan are there, every pod must be able to be bound in some
//! order, each time under all the rules that bind it.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::Plan;
use windlass_core::model::{
    AffinityTerm, Effect, Labels, Node, Pod, PodId, PodOwner, PodShape, Requirements, Snapshot,
    SpreadConstraint, Taint,
};
use windlass_core::plan::Target;

use crate::cluster::Cluster;

/// Checks a plan; `way` says which of its ways to get a machine each launch is given.
pub fn check(cluster: &Cluster, plan: &Plan, way: usize) -> Result<(), String> {
    let ready = cluster.clone().after(plan).machines_launched(way).nodes_joined().nodes_ready();
    let claims = cluster.names_of(plan);
    let mut waiting: Vec<(&Pod, String)> = Vec::new();
    for placement in &plan.placements {
        let node = match &placement.target {
            Target::Node(node) => node.to_string(),
            Target::Claim(claim) => format!("node-of-{claim}"),
            Target::Launch(number) => format!("node-of-{}", claims[*number]),
        };
        waiting.push((&ready.0.pods[&placement.pod], node));
    }
    // Pods that mind others come first where they can: the others may come at any time. Where that does not do, every other
    // order of the workloads is tried.
    waiting.sort_by_key(|(pod, _)| std::cmp::Reverse(demands(pod)));
    let mut kinds: Vec<&Pod> = Vec::new();
    for (pod, _) in &waiting {
        if !kinds.iter().any(|kind| alike(kind, pod)) {
            kinds.push(pod);
        }
    }
    let mut order: Vec<usize> = (0..kinds.len()).collect();
    let stages =
        [names(cluster), names(&cluster.clone().machines_launched(way).nodes_joined()), names(&ready)];
    let mut answer = Ok(());
    for attempt in 0..ORDERS {
        let rank = |pod: &Pod| order.iter().position(|kind| alike(kinds[*kind], pod));
        waiting.sort_by_key(|(pod, _)| rank(pod));
        // Nodes may all have come before any pod is bound, or not.
        for stages in [&stages[2..], &stages[..]] {
            match bind_all(&ready.0, stages, waiting.clone()) {
                Ok(()) => return Ok(()),
                Err(why) => answer = Err(why),
            }
        }
        // Pods of one workload are all the same to the scheduler, so their order is not given either.
        waiting.sort_by_key(|(_, node)| {
            node.bytes().fold(attempt, |sum, byte| (sum * 31 + u64::from(byte)) % 997)
        });
        next_order(&mut order);
    }
    answer
}

/// As many orders as five workloads can be put in.
const ORDERS: u64 = 120;

fn alike(one: &Pod, other: &Pod) -> bool {
    one.labels == other.labels && one.shape == other.shape
}

/// The next order in the order of orders, which begins anew after the last.
fn next_order(order: &mut [usize]) {
    let Some(turn) = order.windows(2).rposition(|pair| pair[0] < pair[1]) else { return order.reverse() };
    if let Some(swap) = order.iter().rposition(|each| *each > order[turn]) {
        order.swap(turn, swap);
    }
    order[turn + 1..].reverse();
}

fn names(cluster: &Cluster) -> BTreeSet<String> {
    cluster.0.nodes.keys().map(ToString::to_string).collect()
}

/// Binds pods, in this order as far as possible: first on the nodes that are there, then on those that were on their way,
/// and then on all. The first that cannot be bound in the end is the error.
fn bind_all<'a>(
    snapshot: &'a Snapshot,
    stages: &[BTreeSet<String>],
    mut waiting: Vec<(&'a Pod, String)>,
) -> Result<(), String> {
    let mut world = World::new(snapshot);
    let all = std::mem::take(&mut world.nodes);
    for nodes in stages {
        world.nodes = all
            .iter()
            .filter(|(name, _)| nodes.contains(**name))
            .map(|(name, node)| (*name, *node))
            .collect();
        while let Some(next) = waiting.iter().position(|(pod, node)| world.refuses(pod, node).is_none()) {
            let (pod, node) = waiting.remove(next);
            world.bind(pod, &node);
        }
    }
    waiting.first().map_or(Ok(()), |(pod, node)| {
        Err(format!("{} on {node}: {}", pod.id, world.refuses(pod, node).unwrap_or_default()))
    })
}

/// How much a pod demands of others: of those above all among which it is not one itself.
fn demands(pod: &Pod) -> (usize, usize) {
    let shape = &pod.shape;
    let required = || shape.spread.iter().filter(|each| each.required);
    let of_others = required().filter(|each| !each.selector.matches(&pod.labels)).count();
    (of_others, required().count() + shape.pod_affinity.len() + shape.pod_anti_affinity.len())
}

/// Nodes and what is on them.
struct World<'a> {
    snapshot: &'a Snapshot,
    nodes: BTreeMap<&'a str, &'a Node>,
    pods: BTreeMap<&'a str, Vec<&'a Pod>>,
    daemons: BTreeMap<&'a str, Vec<&'a PodShape>>,
}

impl<'a> World<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let nodes: BTreeMap<&str, &Node> =
            snapshot.nodes.iter().map(|(name, node)| (&**name, &**node)).collect();
        let mut pods: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
        for pod in snapshot.pods.values() {
            if let Some(node) = pod.node() {
                pods.entry(node).or_default().push(pod);
            }
        }
        let mut world = Self { snapshot, nodes, pods, daemons: BTreeMap::new() };
        world.expect_daemons();
        world
    }

    /// Nodes without a pod of a daemonset that would run there will get one.
    fn expect_daemons(&mut self) {
        for (name, node) in &self.nodes {
            let fresh = self.snapshot.claims.values().any(|claim| {
                claim.node.as_deref() == Some(name)
                    && claim.initialized_at == Some(crate::shapes::at(crate::cluster::NOW))
            });
            let here = self.pods.get(name).into_iter().flatten();
            let present = here.filter(|pod| pod.shape.owner == PodOwner::DaemonSet).count();
            for set in self.snapshot.daemon_sets.values().filter(|_| fresh && present == 0) {
                if tolerated(&set.shape, &node.taints)
                    && selected(&set.shape, &node.labels)
                    && node.allocatable.covers(&set.shape.requests)
                {
                    self.daemons.entry(name).or_default().push(&set.shape);
                }
            }
        }
    }

    fn bind(&mut self, pod: &'a Pod, node: &str) {
        let (name, _) = self.nodes.get_key_value(node).unwrap();
        self.pods.entry(name).or_default().push(pod);
    }

    fn on(&self, node: &str) -> impl Iterator<Item = &'a Pod> {
        self.pods.get(node).into_iter().flatten().copied()
    }

    /// Why kube-scheduler would not bind a pod to a node.
    fn refuses(&self, pod: &Pod, name: &str) -> Option<String> {
        let Some(node) = self.nodes.get(name) else { return Some("there is no such node".to_owned()) };
        let shape = &pod.shape;
        if !tolerated(shape, &node.taints) {
            return Some(format!("taints {:?}", node.taints));
        }
        if !selected(shape, &node.labels) {
            return Some(format!("labels {:?}", node.labels));
        }
        self.resources(pod, node)
            .or_else(|| self.ports(pod, node))
            .or_else(|| self.volumes(pod, node))
            .or_else(|| {
                shape.spread.iter().filter(|each| each.required).find_map(|each| self.spread(pod, node, each))
            })
            .or_else(|| self.anti_affinity(pod, node))
            .or_else(|| self.affinity(pod, node))
    }

    fn shapes_on(&self, node: &str) -> impl Iterator<Item = &PodShape> {
        let daemons = self.daemons.get(node).into_iter().flatten().copied();
        self.on(node).map(|pod| &*pod.shape).chain(daemons)
    }

    fn resources(&self, pod: &Pod, node: &Node) -> Option<String> {
        let mut free = node.allocatable.clone();
        for shape in self.shapes_on(&node.name) {
            free.subtract(&shape.requests);
        }
        free.lacking(&pod.shape.requests).map(|(name, there, wanted)| format!("{name} {there} < {wanted}"))
    }

    fn ports(&self, pod: &Pod, node: &Node) -> Option<String> {
        let taken = self.shapes_on(&node.name).flat_map(|shape| &shape.host_ports);
        let clash = |other: &windlass_core::model::HostPort| {
            pod.shape.host_ports.iter().any(|own| {
                let overlap = own.address == other.address
                    || &*own.address == "0.0.0.0"
                    || &*other.address == "0.0.0.0";
                own.port == other.port && own.protocol == other.protocol && overlap
            })
        };
        taken.into_iter().find(|other| clash(other)).map(|other| format!("port {other:?}"))
    }

    fn volumes(&self, pod: &Pod, node: &Node) -> Option<String> {
        let mut attached: BTreeMap<&str, BTreeSet<PodId>> = BTreeMap::new();
        for other in self.on(&node.name).chain([pod]) {
            for name in other.volume_claims.iter() {
                let id = PodId { namespace: other.id.namespace.clone(), name: name.clone() };
                let Some(claim) = self.snapshot.volume_claims.get(&id) else { continue };
                let volume = claim.volume.as_ref().and_then(|volume| self.snapshot.volumes.get(volume));
                let class = claim.class.as_ref().and_then(|class| self.snapshot.storage_classes.get(class));
                let (places, driver) = match (volume, class) {
                    (Some(volume), _) => {
                        (&volume.node_affinity, volume.attached_by.as_ref().map(|(driver, _)| driver))
                    }
                    (None, Some(class)) => (&class.allowed_topologies, Some(&class.provisioner)),
                    (None, None) => return Some(format!("no volume for {id}")),
                };
                if other.id == pod.id && !places.is_empty() && !any_meets(places, &node.labels) {
                    return Some(format!("volume of {id} is elsewhere"));
                }
                if let Some(driver) = driver {
                    attached.entry(driver).or_default().insert(id);
                }
            }
        }
        let limits = self.snapshot.attach_limits.get(&node.name)?;
        let over = attached.iter().find(|(driver, volumes)| {
            limits.get(**driver).is_some_and(|limit| volumes.len() > *limit as usize)
        });
        over.map(|(driver, volumes)| format!("{} volumes of {driver}", volumes.len()))
    }

    /// `skew = pods there, with this one - the fewest in any domain`, over the nodes that the constraint looks at.
    fn spread(&self, pod: &Pod, node: &Node, constraint: &SpreadConstraint) -> Option<String> {
        let key = &constraint.topology_key;
        let Some(here) = node.labels.get(key) else { return Some(format!("no label {key}")) };
        let required = || pod.shape.spread.iter().filter(|each| each.required);
        let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
        for other in self.nodes.values() {
            let labelled = required().all(|each| other.labels.get(&each.topology_key).is_some());
            let suits = !constraint.honors_node_affinity || selected(&pod.shape, &other.labels);
            let open = !constraint.honors_taints || tolerated(&pod.shape, &other.taints);
            let Some(domain) = other.labels.get(key).filter(|_| labelled && suits && open) else { continue };
            let meant = |each: &&Pod| {
                !each.deleting
                    && each.id.namespace == pod.id.namespace
                    && constraint.selector.matches(&each.labels)
            };
            *counts.entry(domain).or_default() +=
                i64::try_from(self.on(&other.name).filter(meant).count()).unwrap();
        }
        let too_few = constraint.min_domains.is_some_and(|least| counts.len() < least as usize);
        let fewest = if too_few { 0 } else { counts.values().copied().min().unwrap_or(0) };
        let itself = i64::from(constraint.selector.matches(&pod.labels));
        let skew = counts.get(&**here).copied().unwrap_or(0) + itself - fewest;
        (skew > i64::from(constraint.max_skew)).then(|| format!("skew {skew} over {key}: {counts:?}"))
    }

    fn means(&self, term: &AffinityTerm, pod: &Pod) -> bool {
        let namespace = &pod.id.namespace;
        let labels = self.snapshot.namespaces.get(namespace);
        let included = term.namespaces.listed.contains(namespace)
            || labels.is_some_and(|labels| term.namespaces.selector.matches(labels));
        included && term.selector.matches(&pod.labels)
    }

    /// All pods on nodes that have the same value of a label as this one.
    fn beside(&self, node: &Node, key: &str) -> Vec<&'a Pod> {
        let Some(here) = node.labels.get(key) else { return Vec::new() };
        let same = self.nodes.values().filter(|other| other.labels.get(key) == Some(here));
        same.flat_map(|other| self.on(&other.name)).collect()
    }

    fn anti_affinity(&self, pod: &Pod, node: &Node) -> Option<String> {
        for term in &pod.shape.pod_anti_affinity {
            if let Some(other) =
                self.beside(node, &term.topology_key).iter().find(|other| self.means(term, other))
            {
                return Some(format!("must be away from {}", other.id));
            }
        }
        let shy = self.pods.iter().flat_map(|(name, pods)| pods.iter().map(move |pod| (*name, *pod)));
        for (name, other) in shy {
            let Some(there) = self.nodes.get(name) else { continue };
            for term in other.shape.pod_anti_affinity.iter().filter(|term| self.means(term, pod)) {
                let (here, there) =
                    (node.labels.get(&term.topology_key), there.labels.get(&term.topology_key));
                if here.is_some() && here == there {
                    return Some(format!("{} must be away from it", other.id));
                }
            }
        }
        None
    }

    /// The pods that are meant are those that meet all terms; where there are none anywhere, a pod that is one itself
    /// may be the first.
    fn affinity(&self, pod: &Pod, node: &Node) -> Option<String> {
        let terms = &pod.shape.pod_affinity;
        if terms.is_empty() {
            return None;
        }
        let meant = |other: &Pod| terms.iter().all(|term| self.means(term, other));
        if let Some(term) = terms.iter().find(|term| node.labels.get(&term.topology_key).is_none()) {
            return Some(format!("no label {}", term.topology_key));
        }
        let met =
            |term: &AffinityTerm| self.beside(node, &term.topology_key).iter().any(|other| meant(other));
        if terms.iter().all(met) {
            return None;
        }
        let anywhere = self.nodes.values().any(|other| {
            let known = terms.iter().any(|term| other.labels.get(&term.topology_key).is_some());
            known && self.on(&other.name).any(meant)
        });
        (anywhere || !meant(pod)).then(|| "must be with others".to_owned())
    }
}

fn tolerated(shape: &PodShape, taints: &[Taint]) -> bool {
    let passing = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    taints
        .iter()
        .filter(|taint| taint.effect != Effect::PreferNoSchedule && !passing.contains(&&*taint.key))
        .all(|taint| shape.tolerations.iter().any(|toleration| toleration.tolerates(taint)))
}

fn selected(shape: &PodShape, labels: &Labels) -> bool {
    shape.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value))
        && (shape.node_affinity.is_empty() || any_meets(&shape.node_affinity, labels))
}

fn any_meets(terms: &[Requirements], labels: &Labels) -> bool {
    terms.iter().any(|term| !term.is_empty() && term.check(labels).is_ok())
}
