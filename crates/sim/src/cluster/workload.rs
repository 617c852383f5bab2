//! Apps and the pods that are made for them.

use std::time::Duration;

use serde_json::json;

use super::{Cluster, NAMESPACE, PodFact, Turn};

/// What a user has deployed.
#[derive(Clone, Debug)]
pub(crate) struct App {
    pub(crate) replicas: u32,
    /// Millicores for each pod.
    pub(crate) cpu: u32,
    /// Mebibytes for each pod.
    pub(crate) memory: u32,
    /// The pool that its pods ask for.
    pub(crate) pool: Option<u32>,
    /// How many pods are to be there at least.
    pub(crate) budget: Option<u32>,
}

/// How long the controller waits before it makes pods anew.
const PAUSE: Duration = Duration::from_millis(300);

impl Cluster {
    pub(crate) fn deploy(&mut self, number: u32, app: App) {
        self.apps.insert(number, app);
    }

    pub(crate) fn scale(&mut self, number: u32, replicas: u32) {
        if let Some(app) = self.apps.get_mut(&number) {
            app.replicas = replicas;
        }
    }

    pub(crate) fn remove(&mut self, number: u32) {
        if let Some(app) = self.apps.get_mut(&number) {
            app.replicas = 0;
            app.budget = None;
        }
    }

    /// Budgets that allow nothing are loosened, so that drains can come to an end.
    pub(crate) fn loosen_budgets(&mut self) {
        for app in self.apps.values_mut() {
            let most = app.replicas.checked_sub(1);
            app.budget = app.budget.and_then(|least| Some(least.min(most?))).filter(|least| *least > 0);
        }
    }

    /// Keeps as many pods of each app as there are to be: makes new ones, and deletes those that run last.
    pub(super) fn run_apps(&mut self, turn: &mut Turn<'_>) {
        for (number, app) in &self.apps {
            let name = format!("app-{number}");
            let standing: Vec<&PodFact> =
                self.pods.values().filter(|pod| pod.app == name && !pod.deleting).collect();
            let wanted = usize::try_from(app.replicas).unwrap_or(usize::MAX);
            for _ in standing.len()..wanted {
                self.pods_made += 1;
                let pod = new_pod(&name, self.pods_made, app);
                let _ = turn.server.create(pod, turn.today);
                turn.again_at(turn.now + PAUSE);
            }
            let mut surplus = standing;
            surplus.sort_by_key(|pod| (pod.node.is_some(), pod.ready, std::cmp::Reverse(pod.since)));
            let count = surplus.len().saturating_sub(wanted);
            for pod in surplus.into_iter().take(count) {
                let _ = turn.server.delete("Pod", Some(NAMESPACE), &pod.name, None, turn.today);
            }
        }
    }
}

fn new_pod(app: &str, number: u32, spec: &App) -> serde_json::Value {
    let requests = json!({"cpu": format!("{}m", spec.cpu), "memory": format!("{}Mi", spec.memory)});
    let selector = spec.pool.map(|pool| json!({"windlass.dev/pool": format!("pool-{pool}")}));
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("{app}-{number:04}"), "namespace": NAMESPACE, "labels": {"app": app},
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": format!("{app}-set"),
                "controller": true,
            }],
        },
        "spec": {
            "schedulerName": "default-scheduler", "priority": 0, "terminationGracePeriodSeconds": 30,
            "nodeSelector": selector.unwrap_or_else(|| json!({})),
            "containers": [{"name": "main", "image": "app", "resources": {"requests": requests}}],
        },
        "status": {"phase": "Pending"},
    })
}
