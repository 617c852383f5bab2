//! Sixty nodes of three sizes, filled and then thinned out at random.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use windlass_api::labels;
use windlass_testkit::invariants::{Invariant, Kind, ObjectName};
use windlass_testkit::{ControlPlane, eventually};

use crate::apps::{APPS, App, STAYS};
use crate::hands::{PATIENCE, app_runs, at_work_for, new_lab};
use crate::lab::{Lab, Running, instance_type};

/// The instance types, the cores of each, and what each costs in millionths of a dollar per hour.
const TYPES: [(&str, u32, &str); 3] = [("two", 2, "0.10"), ("four", 4, "0.20"), ("eight", 8, "0.40")];

/// How many nodes there are of each type.
const OF_EACH: usize = 20;

/// How much of the nodes' processors is asked for in the end, in percent.
const BUSY: i64 = 45;

/// For how long nothing must have come to a node or left it before it may go.
const AFTER: Duration = Duration::from_secs(2);

/// How often it is planned at least.
const PLANS_EVERY: Duration = Duration::from_millis(500);

pub struct Cluster {
    pub lab: Lab,
    pub running: Running,
    /// How many pods each app has in the end.
    pub replicas: BTreeMap<&'static str, i32>,
    random: fastrand::Rng,
}

impl Cluster {
    /// Sixty nodes on which the apps run.
    pub async fn filled(plane: Arc<ControlPlane>, name: &str, seed: u64) -> Self {
        let mut lab = new_lab(plane, name).await;
        lab.settings.plan_interval = PLANS_EVERY;
        // A search that ends by the clock finds less where tests run beside each other.
        lab.settings.search_time = None;
        // Machines boot within a second here, and pods have just come.
        lab.settings.plan.moves_apart = Duration::ZERO;
        lab.settings.plan.start_up = Duration::from_secs(2);
        let overhead = json!({"overhead": {"cpu": "100m", "memory": "256Mi"}});
        let types: Vec<Value> =
            TYPES.iter().map(|(name, cores, price)| instance_type(name, *cores, price, &overhead)).collect();
        lab.provider(&json!({"bootDelay": "1s", "instanceTypes": types})).await;
        // A pool of sixty nodes says a lot about itself while they come and go, and that is no storm.
        lab.watcher().excuse(Invariant::NoWriteStorm, ObjectName::new(Kind::NodePool, lab.named("pool")));
        let running = lab.spawn(lab.settings.clone(), lab.controller_client(), |factory| Arc::new(factory));
        for (number, (kind, _, _)) in TYPES.iter().enumerate() {
            let only = json!([{"key": labels::INSTANCE_TYPE, "operator": "In", "values": [kind]}]);
            let nodes = (number + 1) * OF_EACH;
            let template = json!({"spec": {"requirements": only}});
            let frozen = json!({"budgets": [{"nodes": "0"}]});
            lab.pool("pool", &json!({"minNodes": nodes, "template": template, "disruption": frozen})).await;
            lab.ready_claims(nodes).await;
        }
        for app in APPS {
            app.deploy(&lab).await;
        }
        for app in APPS {
            app_runs(&lab, app.name, usize::try_from(app.replicas).unwrap()).await;
        }
        let random = fastrand::Rng::with_seed(seed);
        let cluster = Self { lab, running, replicas: BTreeMap::new(), random };
        cluster.leave_no_node_empty().await;
        cluster
    }

    /// The scheduler may have passed a node over; further pods go to the emptiest.
    async fn leave_no_node_empty(&self) {
        let small = APPS.iter().min_by_key(|app| app.cpu).unwrap();
        for more in 1.. {
            let used: BTreeSet<String> = self.pods().await.iter().map(node_of).collect();
            if used.len() == TYPES.len() * OF_EACH {
                return;
            }
            small.scale(&self.lab, small.replicas + more).await;
            app_runs(&self.lab, small.name, usize::try_from(small.replicas + more).unwrap()).await;
        }
    }

    /// Has pods deleted at random until the nodes are as busy as they are to be, none of them empty, and then protects
    /// those that are left.
    pub async fn thin_out(&mut self) {
        let mut pods = self.pods().await;
        let (mut on_node, mut asked): (BTreeMap<String, usize>, i64) = (BTreeMap::new(), 0);
        for pod in &pods {
            *on_node.entry(node_of(pod)).or_default() += 1;
            *self.replicas.entry(app_of(pod).name).or_default() += 1;
            asked += app_of(pod).cpu;
        }
        let most = self.allocatable().await * BUSY / 100;
        self.random.shuffle(&mut pods);
        let mut chosen = Vec::new();
        for pod in &pods {
            let (app, left) = (app_of(pod), on_node.get_mut(&node_of(pod)).unwrap());
            let left_of_app = self.replicas.get_mut(app.name).unwrap();
            if asked > most && *left > 1 && *left_of_app > 3 {
                (asked, *left, *left_of_app) = (asked - app.cpu, *left - 1, *left_of_app - 1);
                chosen.push(pod.name_any());
            }
        }
        self.delete(&chosen).await;
        for app in APPS {
            app.protect(&self.lab, self.replicas[app.name]).await;
        }
    }

    /// Scales all apps down so that these pods go and no others: not before their controllers have heard which ones.
    async fn delete(&self, pods: &[String]) {
        let (api, first) = (self.lab.pod_api(), "controller.kubernetes.io/pod-deletion-cost");
        let patch = json!({"metadata": {"annotations": {first: "-1"}, "labels": {STAYS: null}}});
        stream::iter(pods)
            .for_each_concurrent(16, async |pod| {
                api.patch(pod, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
            })
            .await;
        for app in APPS {
            app.has_heard_who_stays(&self.lab, self.replicas[app.name]).await;
        }
        for app in APPS {
            app.scale(&self.lab, self.replicas[app.name]).await;
        }
        let wanted: i32 = self.replicas.values().sum();
        eventually("the pods to be gone", PATIENCE, async || {
            let left = self.pods().await;
            let others = left.iter().filter(|pod| pod.labels().contains_key(STAYS)).count();
            assert!(i32::try_from(others).unwrap() >= wanted, "a pod went that was to stay");
            if i32::try_from(left.len()) == Ok(wanted) { Ok(()) } else { Err(format!("{} pods", left.len())) }
        })
        .await;
    }

    pub async fn pods(&self) -> Vec<Pod> {
        self.lab.pod_api().list(&ListParams::default()).await.unwrap().items
    }

    /// The processors of all nodes together, in thousandths.
    pub async fn allocatable(&self) -> i64 {
        let claims = self.lab.claims().await;
        let cpu = claims.iter().map(|claim| claim.status.as_ref().unwrap().allocatable["cpu"].0.clone());
        cpu.map(|cpu| match cpu.strip_suffix('m') {
            Some(thousandths) => thousandths.parse::<i64>().unwrap(),
            None => 1000 * cpu.parse::<i64>().unwrap(),
        })
        .sum()
    }

    /// How much of the nodes' processors is asked for, in percent.
    pub async fn busy(&self) -> i64 {
        let asked: i64 = self.pods().await.iter().map(|pod| app_of(pod).cpu).sum();
        asked * 100 / self.allocatable().await
    }

    /// Waits until all nodes have been left alone for as long as they have to be before they may go.
    pub async fn keep_still(&self) {
        at_work_for(&self.lab, 2 * AFTER).await;
    }

    /// Lets nodes go whose pods can run for less elsewhere.
    pub async fn let_it_shrink(&self) {
        let after = format!("{}s", AFTER.as_secs());
        let disruption = json!({
            "consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": after, "budgets": [],
        });
        self.lab.pool("pool", &json!({"minNodes": 0, "disruption": disruption})).await;
    }
}

pub fn app_of(pod: &Pod) -> App {
    *APPS.iter().find(|app| app.name == pod.labels()["app"]).unwrap()
}

fn node_of(pod: &Pod) -> String {
    pod.spec.as_ref().unwrap().node_name.clone().unwrap()
}
