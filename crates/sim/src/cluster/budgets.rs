//! The controller of disruption budgets: one for each app that wants one, with what it allows kept up to date.

use serde_json::json;

use super::{Cluster, NAMESPACE, Turn};

impl Cluster {
    pub(super) fn keep_budgets(&mut self, turn: &mut Turn<'_>) {
        for (number, app) in &self.apps {
            let name = format!("app-{number}");
            let known = turn.server.get("PodDisruptionBudget", Some(NAMESPACE), &name);
            let Some(least) = app.budget else {
                if known.is_some() {
                    let _ =
                        turn.server.delete("PodDisruptionBudget", Some(NAMESPACE), &name, None, turn.today);
                }
                continue;
            };
            let Some(known) = known else {
                let budget = json!({
                    "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                    "metadata": {"name": name, "namespace": NAMESPACE},
                    "spec": {"minAvailable": least, "selector": {"matchLabels": {"app": name}}},
                });
                let _ = turn.server.create(budget, turn.today);
                turn.again_at(turn.now);
                continue;
            };
            if known.value()["spec"]["minAvailable"] != json!(least) {
                let _ =
                    turn.server.edit("PodDisruptionBudget", Some(NAMESPACE), &name, turn.today, |value| {
                        value["spec"]["minAvailable"] = json!(least);
                    });
                turn.again_at(turn.now);
                continue;
            }
            let of_app = || self.pods.values().filter(|pod| pod.app == name);
            let healthy = of_app().filter(|pod| pod.ready && !pod.deleting).count();
            let status = json!({
                "observedGeneration": known.value()["metadata"]["generation"],
                "currentHealthy": healthy,
                "desiredHealthy": least,
                "expectedPods": app.replicas,
                "disruptionsAllowed": healthy.saturating_sub(usize::try_from(least).unwrap_or(usize::MAX)),
            });
            let changed = known.value()["status"].as_object().is_none_or(|before| {
                status
                    .as_object()
                    .is_some_and(|now| now.iter().any(|(key, value)| before.get(key) != Some(value)))
            });
            if changed {
                let _ = turn.server.edit_status(
                    "PodDisruptionBudget",
                    Some(NAMESPACE),
                    &name,
                    turn.today,
                    |value| {
                        value["status"] = status;
                    },
                );
            }
        }
    }
}
