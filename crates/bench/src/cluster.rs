//! Clusters made of workloads and catalogues.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use windlass_core::Text;
use windlass_core::model::{
    Claim, ClaimOffering, ClaimPhase, InstanceType, Labels, Launched, Node, Pod, PodId, PodShape, PodState,
    Pool, Readiness, Snapshot, well_known,
};

use crate::demand::Demand;

pub(crate) const NAMESPACE: &str = "bench";
const POOL: &str = "bench";

/// A cluster without nodes in which one pool offers these machines.
pub fn empty(types: Vec<InstanceType>) -> Snapshot {
    let pool = Pool {
        name: POOL.into(),
        provider: "bench".into(),
        consolidate_after: Some(Duration::from_secs(30)),
        instance_types: Arc::new(types),
        ..Pool::default()
    };
    Snapshot { pools: Arc::new(BTreeMap::from([(pool.name.clone(), Arc::new(pool))])), ..Snapshot::default() }
}

/// The moment at which plans are made.
pub fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH + Duration::from_secs(1_750_000_000)
}

/// Adds pods that the scheduler found no node for.
pub fn wait(snapshot: &mut Snapshot, prefix: &str, demands: Vec<Demand>) {
    let since = now();
    add(snapshot, prefix, demands, |_| PodState::Unschedulable { since });
}

/// The same pods without any nodes, as if all of them had just come.
pub fn anew(snapshot: &Snapshot) -> Snapshot {
    let mut anew =
        Snapshot { pools: snapshot.pools.clone(), pods: snapshot.pods.clone(), ..Snapshot::default() };
    for pod in Arc::make_mut(&mut anew.pods).values_mut() {
        Arc::make_mut(pod).state = PodState::Unschedulable { since: now() };
    }
    anew
}

/// Adds pods that run on nodes.
pub fn run(snapshot: &mut Snapshot, prefix: &str, demands: Vec<Demand>, node: impl Fn(usize) -> Text) {
    add(snapshot, prefix, demands, |number| PodState::Bound(node(number)));
}

/// Pods share what they have in common, as in the controller's index.
fn add(snapshot: &mut Snapshot, prefix: &str, demands: Vec<Demand>, state: impl Fn(usize) -> PodState) {
    let mut shapes: BTreeMap<PodShape, Arc<PodShape>> = BTreeMap::new();
    let mut labels: BTreeMap<Labels, Arc<Labels>> = BTreeMap::new();
    let pods = Arc::make_mut(&mut snapshot.pods);
    for (number, (shape, own)) in demands.into_iter().enumerate() {
        let id = PodId::new(NAMESPACE, &format!("{prefix}-{number}"));
        let pod = Pod {
            id: id.clone(),
            uid: id.name.clone(),
            shape: shapes.entry(shape.clone()).or_insert_with(|| Arc::new(shape)).clone(),
            labels: labels.entry(own.clone()).or_insert_with(|| Arc::new(own)).clone(),
            volume_claims: Arc::default(),
            nominated: None,
            state: state(number),
            deleting: false,
            stays_until: None,
            may_go: false,
            bound_at: None,
        };
        pods.insert(id, Arc::new(pod));
    }
}

/// Adds a node of the pool that has been there for long.
pub fn stand(snapshot: &mut Snapshot, name: &str, machine: &InstanceType, offering: usize) {
    let Some(offering) = machine.offerings.get(offering) else { return };
    let (key, price) = (machine.key(offering), offering.price);
    let (capacity, allocatable) = (machine.capacity.clone(), machine.allocatable.clone());
    let labels = machine.labels_with(offering).with(well_known::POOL, POOL).with(well_known::HOSTNAME, name);
    let (name, uid): (Text, Text) = (name.into(), format!("uid-{name}").into());
    let provider_id: Text = format!("bench://{name}").into();
    let way = ClaimOffering {
        key: key.clone(),
        price,
        capacity: capacity.clone(),
        allocatable: allocatable.clone(),
    };
    let long_ago = now() - Duration::from_secs(86_400);
    let claim = Claim {
        name: name.clone(),
        uid: uid.clone(),
        pool: POOL.into(),
        offerings: vec![way],
        launched: Some(Launched {
            provider_id: provider_id.clone(),
            key,
            price,
            capacity: capacity.clone(),
            allocatable: allocatable.clone(),
            at: None,
        }),
        phase: ClaimPhase::Initialized,
        node: Some(name.clone()),
        labels: labels.clone(),
        taints: Vec::new(),
        startup_taints: Vec::new(),
        disrupted: None,
        decision: None,
        template: None,
        drift: None,
        ends_at: None,
        asked_to_go: false,
        deleting: false,
        given_up: false,
        created_at: long_ago,
        initialized_at: Some(long_ago),
        replaces: Vec::new(),
        pods: Vec::new(),
    };
    let node = Node {
        name: name.clone(),
        uid: format!("node-{name}").into(),
        provider_id: Some(provider_id),
        labels,
        taints: Vec::new(),
        capacity,
        allocatable,
        readiness: Readiness::Ready,
        conditions: Vec::new(),
        unschedulable: false,
        deleting: false,
        claim_uid: Some(uid),
        provider: Some("bench".into()),
        held: true,
        stays_until: None,
        asked_to_go: false,
    };
    Arc::make_mut(&mut snapshot.claims).insert(name.clone(), Arc::new(claim));
    Arc::make_mut(&mut snapshot.nodes).insert(name, Arc::new(node));
}
