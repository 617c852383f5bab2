//! Nodes that could go, what is changed about them, and what a plan makes of them.

use std::sync::Arc;

use windlass_core::Plan;
use windlass_core::model::{
    Claim, Consolidation, DisruptionReason, InstanceType, Node, Pod, PodBudget, PodId, PodOwner, Pool,
    Readiness, Selector,
};
use windlass_core::plan::Disruption;

use crate::cluster::{Cluster, NOW};
use crate::shapes::{at, machine, pool};
use crate::workload::{Workload, app, zonal};

/// 2 cores for 0.10.
pub fn small() -> InstanceType {
    zonal("small", 2, 8, "0.10", &["a", "b", "c"])
}

/// 8 cores for 0.40.
pub fn large() -> InstanceType {
    zonal("large", 8, 32, "0.40", &["a", "b", "c"])
}

/// 2 cores for 0.10 in one zone.
pub fn small_in(zone: &str) -> InstanceType {
    zonal("small", 2, 8, "0.10", &[zone])
}

/// A machine that nobody offers any more.
pub fn discontinued() -> InstanceType {
    machine("discontinued", 8, 32, "0.50")
}

/// A pool whose nodes are given back when their pods can run for less.
pub fn thrifty() -> Pool {
    thrifty_with(vec![small(), large()])
}

pub fn thrifty_with(machines: Vec<InstanceType>) -> Pool {
    Pool { consolidation: Consolidation::Underutilized, ..pool("general", machines) }
}

/// The same, and nothing may be launched.
pub fn frugal() -> Pool {
    Pool { max_nodes: Some(0), ..thrifty() }
}

/// Small nodes of `thrifty`, named by letters, each with a pod `web-<letter>-1` that takes so many thousandths of a core.
pub fn half_empty(names: &str, milli: i64) -> Cluster {
    half_empty_in(thrifty(), names, milli)
}

pub fn half_empty_in(pool: Pool, names: &str, milli: i64) -> Cluster {
    let pool_name = pool.name.clone();
    names.chars().fold(Cluster::new([pool]), |cluster, letter| {
        cluster.standing(&letter.to_string(), &pool_name, &small()).run(web(letter, milli))
    })
}

/// The pod of a node of that letter.
pub fn web(letter: char, milli: i64) -> Workload {
    app(&format!("web-{letter}")).asking(milli, 128).on(&format!("node-of-{letter}"))
}

/// One pod of an owner.
pub fn owned(name: &str, owner: PodOwner) -> Workload {
    let mut workload = app(name);
    workload.shape.owner = owner;
    workload
}

impl Cluster {
    pub fn small(self, name: &str) -> Self {
        self.standing(name, "general", &small())
    }

    pub fn large(self, name: &str) -> Self {
        self.standing(name, "general", &large())
    }

    /// A small node in a zone.
    pub fn small_in(self, name: &str, zone: &str) -> Self {
        self.standing(name, "general", &small_in(zone))
    }

    /// Changes a pod in the default namespace.
    pub fn pod_but(mut self, name: &str, change: impl FnOnce(&mut Pod)) -> Self {
        let pods = Arc::make_mut(&mut self.0.pods);
        change(Arc::make_mut(pods.get_mut(&PodId::new("default", name)).unwrap()));
        self
    }

    pub fn without_pod(mut self, name: &str) -> Self {
        Arc::make_mut(&mut self.0.pods).remove(&PodId::new("default", name)).unwrap();
        self
    }

    /// Changes the node of a claim.
    pub fn node_but(mut self, claim: &str, change: impl FnOnce(&mut Node)) -> Self {
        let nodes = Arc::make_mut(&mut self.0.nodes);
        change(Arc::make_mut(nodes.get_mut(format!("node-of-{claim}").as_str()).unwrap()));
        self
    }

    pub fn claim_but(mut self, claim: &str, change: impl FnOnce(&mut Claim)) -> Self {
        change(Arc::make_mut(Arc::make_mut(&mut self.0.claims).get_mut(claim).unwrap()));
        self
    }

    pub fn without_claim(mut self, claim: &str) -> Self {
        Arc::make_mut(&mut self.0.claims).remove(claim).unwrap();
        self
    }

    pub fn pool_but(mut self, pool: &str, change: impl FnOnce(&mut Pool)) -> Self {
        change(Arc::make_mut(Arc::make_mut(&mut self.0.pools).get_mut(pool).unwrap()));
        self
    }

    pub fn with_pool(mut self, pool: Pool) -> Self {
        Arc::make_mut(&mut self.0.pools).insert(pool.name.clone(), pool.into());
        self
    }

    pub fn without_pool(mut self, pool: &str) -> Self {
        Arc::make_mut(&mut self.0.pools).remove(pool).unwrap();
        self
    }

    pub fn not_ready(self, claim: &str, second: i64) -> Self {
        self.node_but(claim, |node| node.readiness = Readiness::NotReady { since: at(second) })
    }

    /// A budget of pods of a namespace.
    pub fn pod_budget(mut self, namespace: &str, name: &str, selector: Selector, allowed: u32) -> Self {
        let budget = PodBudget { selector, allowed };
        Arc::make_mut(&mut self.0.pod_budgets).insert(PodId::new(namespace, name), budget);
        self
    }

    /// The one decision of a plan to consolidate.
    pub fn decision(&self) -> Option<Disruption> {
        let (plan, _) = self.plan();
        let mut decisions = plan.disruptions.into_iter();
        let decision = decisions.find(|each| each.reason == DisruptionReason::Underutilized);
        assert!(decisions.next().is_none(), "there is one at a time");
        decision
    }

    /// The claims that are to go because their pods can run for less, sorted. Where nothing changes they do go once what
    /// takes their place stands.
    pub fn consolidated(&self) -> Vec<String> {
        let Some(decision) = self.decision() else { return Vec::new() };
        let mut claims: Vec<String> = decision.claims.iter().map(|(claim, _)| claim.to_string()).collect();
        claims.sort();
        let (plan, _) = self.plan();
        let stands = self.decided(&plan).machines_launched(0).nodes_joined().nodes_ready();
        let (then, _) = stands.plan();
        assert_eq!(then.cancellations, [], "{self:?}");
        assert_eq!(then.removals.len(), claims.len(), "{then:?}");
        claims
    }

    /// The claims that are to give way to others for a reason, sorted. Where nothing changes they do go once what takes
    /// their place stands, and nothing else does.
    pub fn rotated(&self, reason: DisruptionReason) -> Vec<String> {
        let (plan, _) = self.plan();
        assert!(plan.disruptions.iter().all(|each| each.reason == reason), "{plan:?}");
        let claims = plan.disruptions.iter().flat_map(|each| &each.claims);
        let mut claims: Vec<String> = claims.map(|(claim, _)| claim.to_string()).collect();
        claims.sort();
        let (then, _) = self.decided(&plan).replaced().plan();
        assert_eq!((then.cancellations.len(), then.removals.len()), (0, claims.len()), "{then:?}");
        claims
    }

    /// The machines that are to take the place of others, first choices only, sorted.
    pub fn machines(&self) -> Vec<String> {
        let (plan, _) = self.plan();
        let numbers = plan.disruptions.iter().flat_map(|each| &each.replacements);
        let kinds = numbers.map(|number| plan.launches[*number].offerings[0].key.instance_type.to_string());
        let mut kinds: Vec<String> = kinds.collect();
        kinds.sort();
        kinds
    }

    /// The claims that are to go because nothing runs on them, sorted.
    pub fn emptied(&self) -> Vec<String> {
        let (plan, _) = self.plan();
        let empty = plan.disruptions.iter().filter(|each| each.reason == DisruptionReason::Empty);
        let mut claims: Vec<String> =
            empty.flat_map(|each| &each.claims).map(|(claim, _)| claim.to_string()).collect();
        claims.sort();
        claims
    }

    /// The cluster once a plan was carried out and the nodes that are to go are closed.
    pub fn decided(&self, plan: &Plan) -> Self {
        let claims = plan.disruptions.iter().flat_map(|each| &each.claims);
        claims.fold(self.clone().after(plan), |cluster, (claim, _)| cluster.closed(claim))
    }

    /// The cluster once its own plan was decided.
    pub fn going_on(&self) -> Self {
        self.decided(&self.plan().0)
    }

    /// The replacements of the plan stand.
    pub fn replaced(self) -> Self {
        self.machines_launched(0).nodes_joined().nodes_ready()
    }

    /// The claims whose decisions are taken back, with why.
    pub fn taken_back(&self) -> Vec<(String, String)> {
        let (plan, _) = self.plan();
        let taken = plan.cancellations.iter();
        taken.map(|each| (each.claim.to_string(), each.message.clone())).collect()
    }

    /// The claims that are deleted now.
    pub fn removed(&self) -> Vec<String> {
        self.plan().0.removals.iter().map(|each| each.claim.to_string()).collect()
    }
}

/// One decision that was taken back.
pub fn stays(claim: &str, why: &str) -> Vec<(String, String)> {
    vec![(claim.to_owned(), why.to_owned())]
}

/// For ever.
pub fn always() -> jiff::Timestamp {
    jiff::Timestamp::MAX
}

/// In so many seconds.
pub fn soon(seconds: i64) -> jiff::Timestamp {
    at(NOW + seconds)
}

pub const NOTHING: [&str; 0] = [];
