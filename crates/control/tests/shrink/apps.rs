//! What runs on the sixty nodes: deployments of several sizes, some of them with a disruption budget.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use windlass_testkit::eventually;

use crate::hands::{PATIENCE, brief, budgets, deploy_pods};
use crate::lab::Lab;

/// On pods that are not about to be taken away.
pub const STAYS: &str = "stays";

/// How much of an app has to be there.
#[derive(Clone, Copy, Debug)]
pub enum Keeps {
    Anything,
    AllBut(i32),
    AllButPercent(i32),
    /// The number of pods that have to be there is written down, and all but this many of those that are left.
    AtLeastAllBut(i32),
}

#[derive(Clone, Copy, Debug)]
pub struct App {
    pub name: &'static str,
    /// Thousandths of a core.
    pub cpu: i64,
    pub memory: &'static str,
    pub replicas: i32,
    pub keeps: Keeps,
}

pub const APPS: [App; 7] = [
    App { name: "web", cpu: 500, memory: "1Gi", replicas: 80, keeps: Keeps::AllButPercent(10) },
    App { name: "api", cpu: 1000, memory: "2Gi", replicas: 50, keeps: Keeps::AllButPercent(25) },
    App { name: "cache", cpu: 250, memory: "2Gi", replicas: 60, keeps: Keeps::Anything },
    App { name: "batch", cpu: 2000, memory: "4Gi", replicas: 26, keeps: Keeps::Anything },
    App { name: "queue", cpu: 750, memory: "1500Mi", replicas: 40, keeps: Keeps::Anything },
    App { name: "db", cpu: 1500, memory: "6Gi", replicas: 12, keeps: Keeps::AllBut(1) },
    App { name: "ledger", cpu: 600, memory: "2Gi", replicas: 12, keeps: Keeps::AtLeastAllBut(1) },
];

impl App {
    /// How many of so many pods have to be healthy, as the budget's documentation has it: what may be missing is rounded
    /// up.
    pub fn must_be_healthy(&self, replicas: i32) -> i32 {
        match self.keeps {
            Keeps::Anything => 0,
            Keeps::AllBut(missing) | Keeps::AtLeastAllBut(missing) => replicas - missing,
            Keeps::AllButPercent(percent) => replicas - (replicas * percent + 99) / 100,
        }
    }

    fn budget(&self, replicas: i32) -> Option<PodDisruptionBudget> {
        let bounds: Value = match self.keeps {
            Keeps::Anything => return None,
            Keeps::AllBut(missing) => json!({"maxUnavailable": missing}),
            Keeps::AllButPercent(percent) => json!({"maxUnavailable": format!("{percent}%")}),
            Keeps::AtLeastAllBut(missing) => json!({"minAvailable": replicas - missing}),
        };
        let mut spec = json!({"selector": {"matchLabels": {"app": self.name}}});
        crate::lab::merge(&mut spec, &bounds);
        Some(serde_json::from_value(json!({"metadata": {"name": self.name}, "spec": spec})).unwrap())
    }

    pub async fn deploy(&self, lab: &Lab) {
        let pod = lab.pod(self.name, &format!("{}m", self.cpu)).memory(self.memory);
        deploy_pods(lab, self.name, self.replicas, brief(pod.label(STAYS, "yes"))).await;
    }

    /// Waits until the app's controller knows of so many pods that they stay. It counts those with all labels of its template.
    pub async fn has_heard_who_stays(&self, lab: &Lab, staying: i32) {
        let api: Api<ReplicaSet> = Api::namespaced(lab.client.clone(), &lab.namespace);
        let own = ListParams::default().labels(&format!("app={}", self.name));
        eventually(&format!("{} to know that {staying} pods stay", self.name), PATIENCE, async || {
            let sets = api.list(&own).await.map_err(|error| error.to_string())?;
            let counted = sets.items.iter().filter_map(|set| set.status.as_ref()?.fully_labeled_replicas);
            let counted: i32 = counted.sum();
            if counted == staying { Ok(()) } else { Err(counted.to_string()) }
        })
        .await;
    }

    pub async fn scale(&self, lab: &Lab, replicas: i32) {
        let api: Api<Deployment> = Api::namespaced(lab.client.clone(), &lab.namespace);
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        api.patch(self.name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// Protects so many pods, and waits until the budget counts them.
    pub async fn protect(&self, lab: &Lab, replicas: i32) {
        let Some(budget) = self.budget(replicas) else { return };
        let api = budgets(lab);
        api.create(&PostParams::default(), &budget).await.unwrap();
        eventually(&format!("the budget of {} to be in force", self.name), PATIENCE, async || {
            let status = api.get(self.name).await.ok()?.status?;
            let (healthy, wanted) = (status.current_healthy, status.desired_healthy);
            (healthy == Some(replicas) && wanted == Some(self.must_be_healthy(replicas))).then_some(())
        })
        .await;
    }
}
