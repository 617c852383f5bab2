//! What users and operators do, and what they look at.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use windlass_api::{NodeClaim, conditions};
use windlass_providers::{Clock, SystemClock};
use windlass_testkit::objects::{PodBuilder, budget, deployment};
use windlass_testkit::{ControlPlane, eventually};

use crate::lab::{Lab, instance_type};

/// How long a test waits for something that should happen. Kubernetes itself takes up to a minute to remove the pods of a
/// node that is gone.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// Two instance types of the same size, `first` the cheaper of them.
pub fn two_types() -> Value {
    json!([instance_type("first", 4, "0.10", &json!({})), instance_type("second", 4, "0.12", &json!({}))])
}

/// A lab whose controller need not fear for its lease when the machine that runs the tests is slow.
pub async fn new_lab(plane: Arc<ControlPlane>, name: &str) -> Lab {
    let mut lab = Lab::new(plane, name).await;
    (lab.settings.lease_duration, lab.settings.renew_deadline) =
        (Duration::from_secs(10), Duration::from_secs(8));
    lab
}

pub fn now() -> Timestamp {
    SystemClock.now()
}

/// A pod that is gone a second after it is asked to leave, or, where nobody ends it, may be taken for gone then.
pub fn brief(pod: PodBuilder) -> PodBuilder {
    pod.spec(|spec| spec.termination_grace_period_seconds = Some(1))
}

pub async fn deploy(lab: &Lab, app: &str, replicas: i32, cpu: &str) {
    deploy_pods(lab, app, replicas, brief(lab.pod(app, cpu))).await;
}

pub async fn deploy_pods(lab: &Lab, app: &str, replicas: i32, pod: PodBuilder) {
    let api: Api<Deployment> = Api::namespaced(lab.client.clone(), &lab.namespace);
    api.create(&PostParams::default(), &deployment(app, replicas, pod)).await.unwrap();
}

pub async fn protect(lab: &Lab, app: &str, min_available: i32) {
    let api = budgets(lab);
    api.create(&PostParams::default(), &budget(app, min_available)).await.unwrap();
    eventually("the budget to be in force", PATIENCE, async || {
        let status = api.get(app).await.ok()?.status?;
        (status.expected_pods > Some(0) && status.current_healthy >= Some(min_available)).then_some(())
    })
    .await;
}

pub fn budgets(lab: &Lab) -> Api<PodDisruptionBudget> {
    Api::namespaced(lab.client.clone(), &lab.namespace)
}

/// Waits until exactly so many pods of a deployment run, those on their way out aside.
pub async fn app_runs(lab: &Lab, app: &str, count: usize) -> Vec<Pod> {
    let of_app = ListParams::default().labels(&format!("app={app}"));
    eventually(&format!("{count} pods of {app} run"), PATIENCE, async || {
        let pods = lab.pod_api().list(&of_app).await.map_err(|error| error.to_string())?.items;
        let staying: Vec<Pod> =
            pods.into_iter().filter(|pod| pod.metadata.deletion_timestamp.is_none()).collect();
        let runs =
            |pod: &&Pod| pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running");
        match (staying.len(), staying.iter().filter(runs).count()) {
            (all, running) if all == count && running == count => Ok(staying),
            counts => Err(format!("(pods, running) = {counts:?}")),
        }
    })
    .await
}

pub async fn delete_claim(lab: &Lab, name: &str) {
    lab.claim_api().delete(name, &DeleteParams::default()).await.unwrap();
}

pub async fn delete_pods(lab: &Lab) {
    lab.pod_api().delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
}

/// Removes a claim past its finalizer while no controller looks, so that its machine has none.
pub async fn disown(lab: &mut Lab, claim: &str) {
    lab.crash().await;
    delete_claim(lab, claim).await;
    let nothing = json!({"metadata": {"finalizers": null}});
    lab.claim_api().patch(claim, &PatchParams::default(), &Patch::Merge(nothing)).await.unwrap();
    lab.start().await;
}

/// Waits for a claim to say this in one of its conditions; answers with the condition's message.
pub async fn claim_says(lab: &Lab, claim: &str, condition: &str, truth: &str, why: &str) -> String {
    eventually(&format!("{condition}={truth} ({why}) of claim {claim}"), PATIENCE, async || {
        let claim = lab.claim_api().get(claim).await.map_err(|error| error.to_string())?;
        let all = claim.status.map(|status| status.conditions).unwrap_or_default();
        match conditions::find(&all, condition) {
            Some(found) if found.status == truth && found.reason == why => Ok(found.message.clone()),
            other => Err(format!("{other:?}")),
        }
    })
    .await
}

/// Waits for the only claim that there is.
pub async fn only_claim(lab: &Lab) -> NodeClaim {
    eventually("a claim", PATIENCE, async || lab.claims().await.pop()).await
}

pub fn node_of(claim: &NodeClaim) -> String {
    claim.status.as_ref().unwrap().node_name.clone().unwrap()
}

/// All events about an object: type, reason and note.
pub async fn events(lab: &Lab, kind: &str, name: &str) -> Vec<Event> {
    let api: Api<Event> = Api::all(lab.client.clone());
    let all = api.list(&ListParams::default()).await.unwrap().items;
    let about = |event: &Event| {
        let regarding = event.regarding.as_ref();
        event.reporting_controller.as_deref() == Some("windlass.dev/controller")
            && regarding
                .is_some_and(|it| it.kind.as_deref() == Some(kind) && it.name.as_deref() == Some(name))
    };
    all.into_iter().filter(about).collect()
}

/// Waits for an event about an object with this reason and with all these words; answers with its note.
pub async fn told(lab: &Lab, kind: &str, name: &str, reason: &str, words: &[&str]) -> String {
    eventually(&format!("event {reason} about {kind} {name} with {words:?}"), PATIENCE, async || {
        let events = events(lab, kind, name).await;
        let fits = |event: &&Event| {
            let note = event.note.as_deref().unwrap_or_default();
            event.reason.as_deref() == Some(reason) && words.iter().all(|word| note.contains(word))
        };
        let seen: Vec<_> = events.iter().map(|event| (&event.reason, &event.note)).collect();
        events.iter().find(fits).and_then(|event| event.note.clone()).ok_or(format!("{seen:?}"))
    })
    .await
}

pub fn lease_api(lab: &Lab) -> Api<Lease> {
    Api::namespaced(lab.client.clone(), &lab.namespace)
}

pub fn lease_name(lab: &Lab) -> String {
    format!("windlass-{}", lab.name)
}

/// Waits until this controller leads.
pub async fn leads(lab: &Lab, identity: &str) {
    eventually(&format!("{identity} leads"), PATIENCE, async || {
        let spec = lease_api(lab).get(&lease_name(lab)).await.map_err(|error| error.to_string())?.spec;
        let holder = spec.and_then(|spec| spec.holder_identity).unwrap_or_default();
        if holder == identity { Ok(()) } else { Err(holder) }
    })
    .await;
}

/// Waits until the leader has been at work for so long from now on.
pub async fn at_work_for(lab: &Lab, time: Duration) {
    let until = now().saturating_add(time).unwrap();
    eventually(&format!("the lease to be renewed after {until}"), PATIENCE, async || {
        let renewed = lease_api(lab).get(&lease_name(lab)).await.ok()?.spec?.renew_time?.0;
        (renewed > until).then_some(())
    })
    .await;
}

/// A pool's `Ready` condition as status, reason and message, once it says so.
pub async fn pool_says(lab: &Lab, pool: &str, truth: &str, words: &str) {
    eventually(&format!("Ready={truth} with {words:?} of pool {pool}"), PATIENCE, async || {
        let pool = lab.pool_api().get(pool).await.map_err(|error| error.to_string())?;
        let all = pool.status.map(|status| status.conditions).unwrap_or_default();
        match conditions::find(&all, conditions::READY) {
            Some(ready) if ready.status == truth && ready.message.contains(words) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
}

pub fn names<K: ResourceExt>(objects: &[K]) -> Vec<String> {
    let mut names: Vec<String> = objects.iter().map(ResourceExt::name_any).collect();
    names.sort();
    names
}
