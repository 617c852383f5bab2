//! `CapacityBuffer` objects: room that somebody wants kept ready for pods that may come.
//!
//! The resource is the Cluster Autoscaler's and need not be installed, so it is not watched but read every now and then.
//! What each buffer asks for is found out (`demand`) and goes into the index, where planning takes it for pods that wait;
//! what became of it is written into the buffer's status.

mod demand;

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::PodTemplate;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::sleep;
use tracing::{info, warn};
use windlass_api::conditions::{self, Truth};
use windlass_api::labels;
use windlass_core::model::{Labels, Pod, PodId};
use windlass_core::plan::Reserved;
use windlass_providers::Clock;

use crate::Settings;
use crate::adapt;
use crate::controller::Bus;
use crate::kubernetes::is_not_found;
use demand::{BufferSpec, Demand, Scalable};

/// Room is there, or will be, for what the buffer asks for.
const PROVISIONING: &str = "Provisioning";
/// It is known what the buffer asks for.
const READY: &str = "ReadyForProvisioning";

/// Reads buffers and writes what became of them.
pub(crate) struct Buffers {
    pub(crate) client: Client,
    pub(crate) bus: Arc<Bus>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: Arc<Settings>,
}

impl Buffers {
    /// Reads them again and again, for ever.
    pub(crate) async fn run(&self) {
        loop {
            if let Err(error) = self.read().await {
                warn!(%error, "the CapacityBuffers could not be read, so those known before count");
            }
            sleep(self.settings.buffer_interval).await;
        }
    }

    async fn read(&self) -> Result<(), kube::Error> {
        let buffers = list(&self.client, &self.settings.scope_selector()).await?;
        let mut pods = Vec::new();
        for buffer in &buffers {
            let demand = demand_of(&self.client, buffer).await?;
            pods.extend(reserved_for(buffer, &demand));
            self.report(buffer, &demand).await;
        }
        let changed = self.bus.index.lock().saw_buffered(pods);
        if changed.plan {
            info!(buffers = buffers.len(), "what CapacityBuffers ask for has changed");
        }
        self.bus.announce(changed);
        Ok(())
    }

    async fn report(&self, buffer: &DynamicObject, demand: &Result<Demand, String>) {
        let reserved = self.bus.index.lock().reserved(&id(buffer));
        let known = buffer.data.get("status").cloned().unwrap_or_else(|| json!({}));
        let status = status(&known, demand, reserved.as_ref(), buffer.metadata.generation, self.clock.now());
        if status == known {
            return;
        }
        let namespace = buffer.namespace().unwrap_or_default();
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &namespace, &resource());
        let body = json!({
            "apiVersion": "autoscaling.x-k8s.io/v1beta1", "kind": "CapacityBuffer",
            "metadata": {"name": buffer.name_any(), "namespace": namespace}, "status": status,
        });
        let parameters = PatchParams::apply(labels::FIELD_MANAGER).force();
        if let Err(error) = api.patch_status(&buffer.name_any(), &parameters, &Patch::Apply(body)).await {
            warn!(buffer = buffer.name_any(), %error, "the CapacityBuffer's status could not be written");
        }
    }
}

/// The pods that buffers of this selector of labels want room for, once and without writing anything; and in words which of
/// them cannot be understood.
pub(crate) async fn wanted(client: &Client, ours: &str) -> Result<(Vec<Arc<Pod>>, Vec<String>), kube::Error> {
    let (mut pods, mut notes) = (Vec::new(), Vec::new());
    for buffer in list(client, ours).await? {
        let demand = demand_of(client, &buffer).await?;
        pods.extend(reserved_for(&buffer, &demand));
        notes.extend(demand.err().map(|why| format!("CapacityBuffer {} is left out: {why}", id(&buffer))));
    }
    Ok((pods, notes))
}

/// All buffers of this selector of labels; none where their definition is not installed.
async fn list(client: &Client, ours: &str) -> Result<Vec<DynamicObject>, kube::Error> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource());
    match api.list(&ListParams::default().labels(ours)).await {
        Ok(buffers) => Ok(buffers.items),
        Err(error) if is_not_found(&error) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// What a buffer asks for, or in words why that cannot be said.
async fn demand_of(client: &Client, buffer: &DynamicObject) -> Result<Result<Demand, String>, kube::Error> {
    let spec: BufferSpec = match serde_json::from_value(buffer.data["spec"].clone()) {
        Ok(spec) => spec,
        Err(error) => return Ok(Err(format!("its spec makes no sense: {error}"))),
    };
    let namespace = buffer.namespace().unwrap_or_default();
    if let Some(template) = &spec.pod_template_ref {
        let api: Api<PodTemplate> = Api::namespaced(client.clone(), &namespace);
        let found = api.get_opt(&template.name).await?;
        let generation = found.as_ref().and_then(|found| found.metadata.generation);
        let found = found.and_then(|found| found.template);
        return Ok(match found {
            Some(found) => spec.demand(found, None, generation),
            None => Err(format!("there is no PodTemplate {namespace}/{}", template.name)),
        });
    }
    let Some(scalable) = &spec.scalable_ref else {
        return Ok(Err("it has neither podTemplateRef nor scalableRef".to_owned()));
    };
    let Some(kind) = scalable.resource() else {
        return Ok(Err(format!(
            "{} of group {:?} cannot be its scalableRef: Deployments, StatefulSets, ReplicaSets and ReplicationControllers can",
            scalable.kind, scalable.api_group
        )));
    };
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &kind);
    Ok(match api.get_opt(&scalable.name).await? {
        None => Err(format!("there is no {} {namespace}/{}", scalable.kind, scalable.name)),
        Some(found) => match Scalable::read(&found.data) {
            Some(Scalable { template, replicas }) => spec.demand(template, Some(replicas), None),
            None => Err(format!("{} {namespace}/{} has no pod template", scalable.kind, scalable.name)),
        },
    })
}

fn reserved_for(buffer: &DynamicObject, demand: &Result<Demand, String>) -> Vec<Arc<Pod>> {
    match demand {
        Ok(demand) => adapt::reserve(&id(buffer), &demand.template, demand.replicas, &Labels::new()),
        Err(_) => Vec::new(),
    }
}

/// The status of a buffer, from what it was.
fn status(
    known: &Value,
    demand: &Result<Demand, String>,
    reserved: Option<&Reserved>,
    generation: Option<i64>,
    now: Timestamp,
) -> Value {
    let mut all: Vec<Condition> = known
        .get("conditions")
        .and_then(|conditions| serde_json::from_value(conditions.clone()).ok())
        .unwrap_or_default();
    let mut set = |kind: &str, truth, reason: &str, message: &str| {
        conditions::set(&mut all, kind, truth, reason, message, generation, now);
    };
    match demand {
        Ok(demand) => {
            set(READY, Truth::True, "Resolved", &format!("room for {} pods is asked for", demand.replicas));
            let (truth, reason, message) = provisioning(demand.replicas, reserved);
            set(PROVISIONING, truth, reason, &message);
        }
        Err(why) => {
            set(READY, Truth::False, "NotResolved", why);
            set(PROVISIONING, Truth::False, "NotReadyForProvisioning", why);
        }
    }
    let mut status = json!({"conditions": all});
    if let Ok(demand) = demand {
        status["replicas"] = json!(demand.replicas);
        let strategy = demand.strategy.as_deref().unwrap_or(demand::ACTIVE);
        status["provisioningStrategy"] = json!(strategy);
        if let Some(generation) = demand.template_generation {
            status["podTemplateGeneration"] = json!(generation);
        }
    }
    status
}

fn provisioning(replicas: usize, reserved: Option<&Reserved>) -> (Truth, &'static str, String) {
    let Some(reserved) = reserved.filter(|reserved| reserved.wanted == replicas) else {
        let nothing = replicas == 0;
        let reason = if nothing { "BufferEmpty" } else { "NotPlannedYet" };
        return (if nothing { Truth::True } else { Truth::Unknown }, reason, String::new());
    };
    let Reserved { wanted, ready, coming, .. } = reserved;
    match reserved.missing() {
        0 if *coming == 0 => (Truth::True, "FitsExistingCapacity", format!("there is room for all {wanted}")),
        0 => (Truth::False, "RequiresNewCapacity", format!("room for {coming} of {wanted} is on its way")),
        missing => {
            let message = format!("no pool has room for {missing} of {wanted}; for {ready} it is there");
            (Truth::False, "NoCapacity", message)
        }
    }
}

fn id(buffer: &DynamicObject) -> PodId {
    PodId::new(&buffer.namespace().unwrap_or_default(), &buffer.name_any())
}

fn resource() -> ApiResource {
    let kind = GroupVersionKind::gvk("autoscaling.x-k8s.io", "v1beta1", "CapacityBuffer");
    ApiResource::from_gvk_with_plural(&kind, "capacitybuffers")
}

#[cfg(test)]
mod tests {
    use jiff::{Timestamp, ToSpan};
    use k8s_openapi::api::core::v1::PodTemplateSpec;
    use serde_json::json;
    use windlass_core::model::PodId;
    use windlass_core::plan::Reserved;

    use super::demand::Demand;
    use super::status;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn demand() -> Demand {
        Demand {
            template: PodTemplateSpec::default(),
            replicas: 3,
            strategy: None,
            template_generation: Some(2),
        }
    }

    fn reserved(ready: usize, coming: usize) -> Reserved {
        Reserved { id: PodId::new("d", "b"), wanted: 3, ready, coming }
    }

    #[test]
    fn a_buffer_says_whether_there_is_room_or_will_be() {
        for (ready, coming, truth, reason) in [
            (3, 0, "True", "FitsExistingCapacity"),
            (1, 2, "False", "RequiresNewCapacity"),
            (1, 1, "False", "NoCapacity"),
        ] {
            let told = status(&json!({}), &Ok(demand()), Some(&reserved(ready, coming)), Some(1), NOW);
            let condition = &told["conditions"][1];
            assert_eq!(
                (condition["status"].as_str(), condition["reason"].as_str()),
                (Some(truth), Some(reason))
            );
            assert_eq!((&told["replicas"], &told["podTemplateGeneration"]), (&json!(3), &json!(2)));
        }
    }

    #[test]
    fn a_buffer_that_cannot_be_understood_says_why() {
        let told = status(&json!({}), &Err("there is no PodTemplate d/t".to_owned()), None, Some(1), NOW);
        assert_eq!(told["conditions"][0]["message"], "there is no PodTemplate d/t");
        assert_eq!(told["conditions"][1]["reason"], "NotReadyForProvisioning");
    }

    #[test]
    fn nothing_is_written_where_nothing_has_changed() {
        let first = status(&json!({}), &Ok(demand()), Some(&reserved(3, 0)), Some(1), NOW);
        assert_eq!(status(&first, &Ok(demand()), Some(&reserved(3, 0)), Some(1), NOW + 1.hour()), first);
    }
}
