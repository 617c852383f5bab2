//! Asking pods to leave and sending them to nodes.

use std::sync::Arc;

use serde_json::{Value, json};

use super::delete::Deletion;
use super::kind::KINDS;
use super::metadata::time;
use super::pod::{has_ended, is_ready, set_condition};
use super::proposal::Proposal;
use super::refusal::{StatusError, details};
use super::selector::selects;
use super::server::{Author, Place, Server};
use super::stored::{Stored, entry, is_leaving, remove, text};
use super::write::Part;

const BUDGET: usize = 10;

/// How many evictions a budget keeps in mind before someone has confirmed them.
const MOST_DISRUPTED: usize = 2000;

impl Server {
    /// Evicts a pod if the budgets allow it. A real server tries for ten seconds whether a conflict goes away; here
    /// nothing happens in between, so the conflict is the answer.
    pub(super) fn evict(
        &mut self,
        place: &Place<'_>,
        eviction: &Value,
        author: &Author,
    ) -> Result<(), StatusError> {
        if text(eviction, "name") != place.name {
            return Err(StatusError::bad_request("name in URL does not match name in Eviction object"));
        }
        let options = Deletion::read(&eviction["deleteOptions"]);
        let pod = self.find(place).ok_or_else(|| place.not_found())?.clone();
        if !is_free_to_go(pod.value())
            && let Some(budget) = self.budget_of(&pod)?
        {
            self.spend(&budget, &pod, author)?;
        }
        self.mark_and_remove(place, &options, author)
    }

    /// The one budget that protects a pod.
    fn budget_of(&self, pod: &Stored) -> Result<Option<Arc<Stored>>, StatusError> {
        let labels = &pod.value()["metadata"]["labels"];
        let mut budgets = self.all(&KINDS[BUDGET]).values().filter(|budget| {
            budget.namespace() == pod.namespace() && selects(budget.value()["spec"].get("selector"), labels)
        });
        let first = budgets.next().cloned();
        if budgets.next().is_some() {
            let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
            return Err(StatusError::new(500, "", message));
        }
        Ok(first)
    }

    /// Takes an eviction off what a budget allows, unless the pod is sick and its going disrupts nothing.
    fn spend(&mut self, budget: &Stored, pod: &Stored, author: &Author) -> Result<(), StatusError> {
        let (spec, status) = (&budget.value()["spec"], &budget.value()["status"]);
        let count = |field: &str| status[field].as_i64().unwrap_or(0);
        if !is_ready(pod.value()) {
            let enough = count("currentHealthy") >= count("desiredHealthy") && count("desiredHealthy") > 0;
            if enough || spec["unhealthyPodEvictionPolicy"] == "AlwaysAllow" {
                return Ok(());
            }
        }
        let name = budget.name();
        let generation = budget.value()["metadata"]["generation"].as_i64().unwrap_or(0);
        if count("observedGeneration") < generation {
            let cause = format!("The disruption budget {name} is still being processed by the server.");
            return Err(too_many(&cause, 10));
        }
        let disrupted = status["disruptedPods"].as_object().map_or(0, serde_json::Map::len);
        if disrupted > MOST_DISRUPTED {
            let message = format!(
                "poddisruptionbudget.policy \"{name}\" is forbidden: DisruptedPods map too big - too many evictions not confirmed by PDB controller"
            );
            let details = details("policy", "poddisruptionbudget", name);
            return Err(StatusError { details, ..StatusError::new(403, "Forbidden", message) });
        }
        let allowed = count("disruptionsAllowed");
        if allowed == 0 {
            return Err(too_many(&why_not(budget), 0));
        }
        let place = Place { kind: &KINDS[BUDGET], namespace: budget.namespace(), name };
        let now = time(author.now);
        self.update(&place, Part::Status, author, |before| {
            let mut value = before.value().clone();
            let status = entry(&mut value, "status");
            status["disruptionsAllowed"] = json!(allowed - 1);
            entry(status, "disruptedPods")[pod.name()] = now.clone();
            if allowed == 1 {
                forbid_disruptions(status, generation, &now);
            }
            Proposal::patched(place.kind, value)
        })?;
        Ok(())
    }

    fn mark_and_remove(
        &mut self,
        place: &Place<'_>,
        options: &Deletion,
        author: &Author,
    ) -> Result<(), StatusError> {
        let now = time(author.now);
        let marked = self.update(place, Part::Status, author, |before| {
            options.check(place, before)?;
            let mut pod = before.value().clone();
            let condition = json!({
                "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting",
            });
            set_condition(&mut pod, condition, &now);
            Proposal::patched(place.kind, pod)
        })?;
        // The mark itself is no reason not to go on.
        let version = options.version.is_some().then(|| marked.version().to_string());
        self.remove(place, &Deletion { version, ..options.clone() }, author).map(drop)
    }

    /// Sends a pod to a node.
    pub(super) fn bind_pod(
        &mut self,
        place: &Place<'_>,
        binding: &Value,
        author: &Author,
    ) -> Result<(), StatusError> {
        if text(binding, "name") != place.name {
            return Err(StatusError::bad_request("name in URL does not match name in Binding object"));
        }
        let node = binding["target"]["name"].as_str().unwrap_or_default();
        let before = self.find(place).ok_or_else(|| place.not_found())?.clone();
        let pod = before.value();
        let refuse = |why: String| Err(StatusError::conflict(place.kind, place.name, why));
        let (uid, version) = (text(binding, "uid"), text(binding, "resourceVersion"));
        if !uid.is_empty() && uid != before.uid() {
            return refuse(format!(
                "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
                before.uid()
            ));
        }
        if !version.is_empty() && version != text(pod, "resourceVersion") {
            return refuse("Precondition failed: ResourceVersion in precondition".to_owned());
        }
        let why = if is_leaving(pod) {
            format!("pod {} is being deleted, cannot be assigned to a host", place.name)
        } else if let Some(bound) = pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty()) {
            format!("pod {} is already assigned to node \"{bound}\"", place.name)
        } else if pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
            format!("pod {} has non-empty .spec.schedulingGates", place.name)
        } else {
            String::new()
        };
        if !why.is_empty() {
            let message = format!("Operation cannot be fulfilled on pods/binding \"{}\": {why}", place.name);
            let details = details("", "pods/binding", place.name);
            return Err(StatusError { details, ..StatusError::new(409, "Conflict", message) });
        }
        let mut bound = pod.clone();
        bound["spec"]["nodeName"] = json!(node);
        for field in ["labels", "annotations"] {
            for (key, value) in binding["metadata"][field].as_object().into_iter().flatten() {
                entry(entry(&mut bound, "metadata"), field)[key] = value.clone();
            }
        }
        remove(entry(&mut bound, "status"), "nominatedNodeName");
        remove(entry(&mut bound, "metadata"), "managedFields");
        set_condition(&mut bound, json!({"type": "PodScheduled", "status": "True"}), &time(author.now));
        self.commit(place, bound, before.owners.clone(), author);
        Ok(())
    }
}

/// Whether no budget can hold a pod back: it does not run yet, runs no more, or is going.
fn is_free_to_go(pod: &Value) -> bool {
    has_ended(pod) || pod["status"]["phase"] == "Pending" || is_leaving(pod)
}

fn too_many(cause: &str, retry_after: u32) -> StatusError {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let mut details = json!({"causes": [{"reason": "DisruptionBudget", "message": cause}]});
    if retry_after > 0 {
        details["retryAfterSeconds"] = json!(retry_after);
    }
    StatusError { details, ..StatusError::new(429, "TooManyRequests", message) }
}

/// Why a budget allows no eviction.
fn why_not(budget: &Stored) -> String {
    let (name, status) = (budget.name(), &budget.value()["status"]);
    let count = |field: &str| status[field].as_i64().unwrap_or(0);
    let conditions = status["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let condition = conditions.iter().find(|each| each["type"] == "DisruptionAllowed");
    let said = condition
        .filter(|each| each["status"] == "False" && each["message"].as_str().is_some_and(|m| !m.is_empty()));
    let part = |field: &str| said.and_then(|said| said[field].as_str()).unwrap_or_default();
    let (healthy, desired) = (count("currentHealthy"), count("desiredHealthy"));
    if part("reason") == "SyncFailed" {
        format!(
            "The disruption budget {name} does not allow evicting pods currently because it failed sync: {}",
            part("message")
        )
    } else if healthy <= desired {
        format!("The disruption budget {name} needs {desired} healthy pods and has {healthy} currently")
    } else if said.is_some() {
        format!(
            "The disruption budget {name} does not allow evicting pods currently ({}): {}",
            part("reason"),
            part("message")
        )
    } else {
        format!("The disruption budget {name} does not allow evicting pods currently")
    }
}

/// Notes in a budget's status that it allows nothing any more.
fn forbid_disruptions(status: &mut Value, generation: i64, now: &Value) {
    let condition = json!({
        "type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": "",
        "observedGeneration": generation, "lastTransitionTime": now,
    });
    let mut conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    match conditions.iter_mut().find(|known| known["type"] == "DisruptionAllowed") {
        Some(known) if known["status"] == "False" => {
            let since = known["lastTransitionTime"].clone();
            *known = condition;
            known["lastTransitionTime"] = since;
        }
        Some(known) => *known = condition,
        None => conditions.push(condition),
    }
    status["conditions"] = json!(conditions);
}
