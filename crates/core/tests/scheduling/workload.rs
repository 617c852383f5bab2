//! Workloads as a test describes them, and the machines that most tests have.

use std::sync::Arc;

use windlass_core::model::{
    AffinityTerm, HostPort, InstanceType, Labels, Namespaces, Nomination, Operator, Pod, PodId, PodShape,
    PodState, Pool, Requirements, Selector, SpreadConstraint, Toleration, VolumeClaim, Weighted, well_known,
};

use crate::cluster::{Cluster, NOW};
use crate::shapes::{asks, at, machine, node, offering, pool, size, term, tolerating};

pub const ZONE: &str = well_known::ZONE;
pub const HOST: &str = well_known::HOSTNAME;

/// Pods that are alike, labelled `app=<name>`.
#[derive(Clone, Debug)]
pub struct Workload {
    pub name: String,
    pub count: usize,
    pub shape: PodShape,
    pub labels: Labels,
    pub namespace: String,
    pub claims: Vec<String>,
    pub state: PodState,
    pub nominated: Option<String>,
    pub deleting: bool,
}

/// One small pod that the scheduler found no node for.
pub fn app(name: &str) -> Workload {
    Workload {
        name: name.to_owned(),
        count: 1,
        shape: asks(100, 128),
        labels: Labels::new().with("app", name),
        namespace: "default".to_owned(),
        claims: Vec::new(),
        state: PodState::Unschedulable { since: at(NOW - 5) },
        nominated: None,
        deleting: false,
    }
}

/// The pods of a workload.
pub fn those_of(app: &str) -> Selector {
    Selector::Matching(Requirements::from_labels(&Labels::new().with("app", app)))
}

/// The pods of a workload in the default namespace, by a label of their nodes.
pub fn near(key: &str, app: &str) -> AffinityTerm {
    AffinityTerm {
        topology_key: key.into(),
        selector: those_of(app),
        namespaces: Namespaces::only("default".into()),
    }
}

/// A demand that pods of a workload be spread.
pub fn spread(key: &str, max_skew: u32, app: &str) -> SpreadConstraint {
    SpreadConstraint {
        topology_key: key.into(),
        max_skew,
        min_domains: None,
        required: true,
        selector: those_of(app),
        honors_node_affinity: true,
        honors_taints: false,
    }
}

impl Workload {
    pub fn pods(self, count: usize) -> Self {
        Self { count, ..self }
    }

    pub fn asking(mut self, milli: i64, mib: i64) -> Self {
        self.shape.requests = asks(milli, mib).requests;
        self
    }

    pub fn asking_for(mut self, resource: &str, amount: i64) -> Self {
        self.shape.requests.set(resource, amount);
        self
    }

    pub fn labelled(mut self, key: &str, value: &str) -> Self {
        self.labels.set(key, value);
        self
    }

    pub fn in_namespace(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.namespace);
        self
    }

    pub fn selecting(mut self, key: &str, value: &str) -> Self {
        self.shape.node_selector.set(key, value);
        self
    }

    /// Adds a term to its required node affinity; one of them must hold.
    pub fn requiring(mut self, key: &str, operator: Operator, values: &[&str]) -> Self {
        self.shape.node_affinity.push(term(key, operator, values));
        self
    }

    pub fn preferring(mut self, weight: i32, key: &str, values: &[&str]) -> Self {
        self.shape.node_preferences.push(Weighted { weight, wish: term(key, Operator::In, values) });
        self
    }

    /// Spreads it over the values of a label.
    pub fn spread(self, key: &str, max_skew: u32) -> Self {
        let constraint = spread(key, max_skew, &self.name.clone());
        self.spread_as(constraint)
    }

    pub fn spread_as(mut self, constraint: SpreadConstraint) -> Self {
        self.shape.spread.push(constraint);
        self
    }

    /// It must be with pods of a workload.
    pub fn with(self, key: &str, app: &str) -> Self {
        self.with_those(near(key, app))
    }

    pub fn with_those(mut self, term: AffinityTerm) -> Self {
        self.shape.pod_affinity.push(term);
        self
    }

    /// It must be away from pods of a workload.
    pub fn away(self, key: &str, app: &str) -> Self {
        self.away_from(near(key, app))
    }

    pub fn away_from(mut self, term: AffinityTerm) -> Self {
        self.shape.pod_anti_affinity.push(term);
        self
    }

    pub fn rather_with(mut self, weight: i32, key: &str, app: &str) -> Self {
        self.shape.pod_preferences.push(Weighted { weight, wish: near(key, app) });
        self
    }

    pub fn rather_away(mut self, weight: i32, key: &str, app: &str) -> Self {
        self.shape.pod_aversions.push(Weighted { weight, wish: near(key, app) });
        self
    }

    pub fn rather_spread(self, key: &str, max_skew: u32) -> Self {
        let constraint = SpreadConstraint { required: false, ..spread(key, max_skew, &self.name.clone()) };
        self.spread_as(constraint)
    }

    pub fn port(self, port: u16) -> Self {
        self.port_at("TCP", "0.0.0.0", port)
    }

    pub fn port_at(mut self, protocol: &str, address: &str, port: u16) -> Self {
        let (protocol, address) = (protocol.into(), address.into());
        self.shape.host_ports.push(HostPort { protocol, address, port });
        self
    }

    pub fn tolerating(mut self, key: &str) -> Self {
        self.shape = tolerating(key, self.shape);
        self
    }

    pub fn with_toleration(mut self, toleration: Toleration) -> Self {
        self.shape.tolerations.push(toleration);
        self
    }

    pub fn priority(mut self, priority: i32) -> Self {
        self.shape.priority = priority;
        self
    }

    /// A volume claim that all its pods use. One that ends in `-` is completed by the number of each pod.
    pub fn using(mut self, claim: &str) -> Self {
        self.claims.push(claim.to_owned());
        self
    }

    /// It runs on a node.
    pub fn on(mut self, node: &str) -> Self {
        self.state = PodState::Bound(node.into());
        self
    }

    pub fn nominated_to(mut self, node: &str) -> Self {
        self.nominated = Some(node.to_owned());
        self
    }

    pub fn deleting(self) -> Self {
        Self { deleting: true, ..self }
    }

    pub fn in_state(self, state: PodState) -> Self {
        Self { state, ..self }
    }
}

impl Cluster {
    pub fn run(mut self, workload: Workload) -> Self {
        let Workload { name, count, shape, labels, namespace, claims, state, nominated, deleting } = workload;
        let (shape, labels) = (Arc::new(shape), Arc::new(labels));
        let pods = Arc::make_mut(&mut self.0.pods);
        for number in 1..=count {
            let id = PodId::new(&namespace, &format!("{name}-{number}"));
            let own = |claim: &String| {
                if claim.ends_with('-') { format!("{claim}{number}").into() } else { claim.as_str().into() }
            };
            let pod = Pod {
                id: id.clone(),
                uid: id.to_string().into(),
                shape: shape.clone(),
                labels: labels.clone(),
                volume_claims: claims.iter().map(own).collect(),
                nominated: nominated.as_deref().map(|node| Nomination { node: node.into(), ours: false }),
                state: state.clone(),
                deleting,
                stays_until: None,
                may_go: false,
                bound_at: None,
            };
            pods.insert(id, Arc::new(pod));
        }
        self
    }

    /// A ready node of a size in a zone.
    pub fn node_in(self, name: &str, zone: &str, cores: i64, gib: i64) -> Self {
        self.node_with(name, cores, gib, &[(ZONE, zone)])
    }

    /// A ready node with some labels.
    pub fn node_with(self, name: &str, cores: i64, gib: i64, labels: &[(&str, &str)]) -> Self {
        let mut node = node(name, size(cores, gib));
        for (key, value) in labels {
            node.labels.set(*key, *value);
        }
        self.node(node)
    }

    pub fn namespace(mut self, name: &str, labels: Labels) -> Self {
        Arc::make_mut(&mut self.0.namespaces).insert(name.into(), labels);
        self
    }

    pub fn volume_claim(mut self, name: &str, volume: Option<&str>, class: Option<&str>) -> Self {
        let claim =
            VolumeClaim { volume: volume.map(Into::into), class: class.map(Into::into), deleting: false };
        Arc::make_mut(&mut self.0.volume_claims).insert(PodId::new("default", name), claim);
        self
    }

    pub fn attach_limit(mut self, node: &str, driver: &str, limit: u32) -> Self {
        let limits = Arc::make_mut(&mut self.0.attach_limits);
        limits.entry(node.into()).or_default().insert(driver.into(), limit);
        self
    }
}

/// A machine that can be had in several zones at the same price.
pub fn zonal(name: &str, cores: i64, gib: i64, price: &str, zones: &[&str]) -> InstanceType {
    let offerings = zones.iter().map(|zone| offering(zone, price)).collect();
    InstanceType { offerings, ..machine(name, cores, gib, price) }
}

/// A pool with small and large machines in zones `a`, `b` and `c`.
pub fn general() -> Pool {
    let zones = ["a", "b", "c"];
    pool("general", vec![zonal("small", 2, 8, "0.10", &zones), zonal("large", 16, 64, "0.80", &zones)])
}

pub fn three_zones() -> Cluster {
    Cluster::new([general()])
}

/// `[("a", 1)]` as an outcome tells it.
pub fn told(counts: &[(&str, usize)]) -> Vec<(String, usize)> {
    counts.iter().map(|(value, count)| ((*value).to_owned(), *count)).collect()
}
