//! What a plan comes to, told in the words of the tests.

use std::collections::BTreeMap;

use windlass_core::model::{Labels, well_known};
use windlass_core::plan::{Target, Unplaced};
use windlass_core::{Plan, Report};

use crate::cluster::Cluster;
use crate::referee;

/// A plan and the cluster once all its nodes are there.
pub struct Outcome {
    pub plan: Plan,
    pub report: Report,
    before: Cluster,
    after: Cluster,
}

impl Cluster {
    /// Plans, and lets the referee look at the plan: whichever way machines are got, and that nothing is left to do.
    pub fn outcome(&self) -> Outcome {
        let (plan, report) = self.plan();
        for way in 0..3 {
            if let Err(why) = referee::check(self, &plan, way) {
                panic!("kube-scheduler would not follow with way {way}: {why}\n{plan:#?}");
            }
        }
        assert!(report.lower_bound <= report.cost);
        let (again, _) = self.clone().after(&plan).plan();
        assert!(again.is_empty(), "{plan:#?}\nthen {again:#?}");
        let after = self.clone().after(&plan).machines_launched(0).nodes_joined().nodes_ready();
        Outcome { plan, report, before: self.clone(), after }
    }
}

impl Outcome {
    fn node_name(&self, target: &Target) -> String {
        match target {
            Target::Node(node) => node.to_string(),
            Target::Claim(claim) => format!("node-of-{claim}"),
            Target::Launch(number) => format!("node-of-{}", self.before.names_of(&self.plan)[*number]),
        }
    }

    fn labels(&self, target: &Target) -> Labels {
        self.after.0.nodes[&*self.node_name(target)].labels.clone()
    }

    /// How many pods of a workload go to nodes with each value of a label.
    pub fn by(&self, key: &str, app: &str) -> Vec<(String, usize)> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for placement in self.plan.placements.iter().filter(|placement| of(app, &placement.pod.name)) {
            let labels = self.labels(&placement.target);
            *counts.entry(labels.get(key).map_or("-".to_owned(), ToString::to_string)).or_default() += 1;
        }
        counts.into_iter().collect()
    }

    /// How many pods of a workload go to each zone.
    pub fn zones(&self, app: &str) -> Vec<(String, usize)> {
        self.by(well_known::ZONE, app)
    }

    /// How many pods of a workload go to each node, the fullest last.
    pub fn hosts(&self, app: &str) -> Vec<usize> {
        let mut counts: Vec<usize> =
            self.by(well_known::HOSTNAME, app).into_iter().map(|(_, count)| count).collect();
        counts.sort_unstable();
        counts
    }

    /// The nodes of a workload's pods.
    pub fn nodes(&self, app: &str) -> Vec<String> {
        self.by(well_known::HOSTNAME, app).into_iter().map(|(node, _)| node).collect()
    }

    pub fn placed(&self, app: &str) -> usize {
        self.plan.placements.iter().filter(|placement| of(app, &placement.pod.name)).count()
    }

    pub fn pending(&self, app: &str) -> usize {
        let pods = self.report.unplaced.iter().flat_map(|unplaced| &unplaced.pods);
        pods.filter(|pod| of(app, &pod.name)).count()
    }

    /// The machines that are launched, first choices only, sorted.
    pub fn machines(&self) -> Vec<String> {
        let first = self.plan.launches.iter().map(|launch| launch.offerings[0].key.instance_type.to_string());
        let mut machines: Vec<String> = first.collect();
        machines.sort();
        machines
    }

    pub fn launched(&self) -> usize {
        self.plan.launches.len()
    }

    /// The pools of what is launched, sorted.
    pub fn pools(&self) -> Vec<String> {
        let mut pools: Vec<String> =
            self.plan.launches.iter().map(|launch| launch.pool.to_string()).collect();
        pools.sort();
        pools
    }

    /// Why the first pods that stay pending do.
    pub fn why(&self) -> String {
        self.report.unplaced.first().map(Unplaced::summary).unwrap_or_default()
    }
}

/// Whether a pod is one of a workload's, by its name.
fn of(app: &str, pod: &str) -> bool {
    pod.rsplit_once('-').is_some_and(|(name, _)| name == app)
}
