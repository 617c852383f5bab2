//! Short ways to write pods, machines, pools, nodes and claims. What a test is about it sets itself.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use windlass_core::model::{
    Claim, ClaimOffering, ClaimPhase, Effect, InstanceType, Labels, Launched, Node, Offering, Operator,
    PodShape, Pool, Readiness, Requirement, Requirements, Resources, Taint, Toleration, TolerationOperator,
    well_known,
};
use windlass_core::{Price, Text};

pub fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

/// Cores and GiB, with places for pods.
pub fn size(cores: i64, gib: i64) -> Resources {
    Resources::from_iter([("cpu", cores * 1000), ("memory", gib << 30), ("pods", 110)])
}

/// A pod that asks for thousandths of a core and MiB.
pub fn asks(milli: i64, mib: i64) -> PodShape {
    let requests = Resources::from_iter([("cpu", milli), ("memory", mib << 20), ("pods", 1)]);
    PodShape { requests, ..PodShape::default() }
}

pub fn selecting(key: &str, value: &str, shape: PodShape) -> PodShape {
    PodShape { node_selector: shape.node_selector.clone().with(key, value), ..shape }
}

pub fn tolerating(key: &str, shape: PodShape) -> PodShape {
    let mut tolerations = shape.tolerations.clone();
    let operator = TolerationOperator::Exists;
    tolerations.push(Toleration { key: Some(key.into()), operator, value: "".into(), effect: None });
    PodShape { tolerations, ..shape }
}

pub fn term(key: &str, operator: Operator, values: &[&str]) -> Requirements {
    let values: Vec<Text> = values.iter().map(|value| (*value).into()).collect();
    let mut requirements = Requirements::new();
    requirements.add(&key.into(), Requirement::new(&key.into(), operator, &values).unwrap());
    requirements
}

pub fn taint(key: &str) -> Taint {
    Taint::new(key, "", Effect::NoSchedule)
}

pub fn offering(zone: &str, price: &str) -> Offering {
    let price: Price = price.parse().unwrap();
    Offering {
        zone: zone.into(),
        capacity_type: "on-demand".into(),
        price,
        available: None,
        draws: None,
        avoid_until: None,
    }
}

/// A machine that can be had in zone `a`.
pub fn machine(name: &str, cores: i64, gib: i64, price: &str) -> InstanceType {
    InstanceType {
        name: name.into(),
        capacity: size(cores, gib),
        allocatable: size(cores, gib),
        labels: Labels::new().with(well_known::ARCH, "amd64"),
        offerings: vec![offering("a", price)],
    }
}

pub fn pool(name: &str, machines: Vec<InstanceType>) -> Pool {
    Pool {
        name: name.into(),
        provider: "simulated".into(),
        consolidate_after: Some(Duration::from_secs(30)),
        instance_types: Arc::new(machines),
        ..Pool::default()
    }
}

/// A ready node, nobody's.
pub fn node(name: &str, allocatable: Resources) -> Node {
    Node {
        name: name.into(),
        uid: format!("node-{name}").into(),
        provider_id: None,
        labels: Labels::new().with(well_known::HOSTNAME, name).with(well_known::ARCH, "amd64"),
        taints: Vec::new(),
        capacity: allocatable.clone(),
        allocatable,
        readiness: Readiness::Ready,
        conditions: Vec::new(),
        unschedulable: false,
        deleting: false,
        claim_uid: None,
        provider: None,
        held: false,
        stays_until: None,
        asked_to_go: false,
    }
}

/// A claim that may become any of the machines, each in its first offering.
pub fn claim(name: &str, pool: &str, machines: &[InstanceType]) -> Claim {
    let ways = machines.iter().filter_map(|machine| {
        let offering = machine.offerings.first()?;
        Some(ClaimOffering {
            key: machine.key(offering),
            price: offering.price,
            capacity: machine.capacity.clone(),
            allocatable: machine.allocatable.clone(),
        })
    });
    Claim {
        name: name.into(),
        uid: format!("uid-{name}").into(),
        pool: pool.into(),
        offerings: ways.collect(),
        launched: None,
        phase: ClaimPhase::Pending,
        node: None,
        labels: Labels::new().with(well_known::POOL, pool),
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
        created_at: at(0),
        initialized_at: None,
        replaces: Vec::new(),
        pods: Vec::new(),
    }
}

/// The same claim with the machine of its way of this number.
pub fn launched(claim: Claim, way: usize) -> Claim {
    let ClaimOffering { key, price, capacity, allocatable } =
        claim.offerings[way % claim.offerings.len()].clone();
    let provider_id = format!("sim://{}", claim.name).into();
    let launched = Some(Launched { provider_id, key, price, capacity, allocatable, at: None });
    Claim { launched, phase: ClaimPhase::Launched, ..claim }
}

/// The node of a claim's machine as its kubelet makes it: with its own labels and taints and none of ours.
pub fn joined(claim: &Claim, now: Timestamp) -> Node {
    let launched = claim.launched.as_ref().unwrap();
    Node {
        provider_id: Some(launched.provider_id.clone()),
        taints: [taint("node.kubernetes.io/not-ready"), taint("windlass.dev/unregistered")]
            .into_iter()
            .chain(claim.startup_taints.clone())
            .collect(),
        readiness: Readiness::NotReady { since: now },
        ..node(&format!("node-of-{}", claim.name), launched.allocatable.clone())
    }
}
