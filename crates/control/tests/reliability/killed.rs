//! Nodes are replaced or given back while the controller is killed: it ends as if nobody had been.

use std::pin::pin;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;
use windlass_api::{NodeClaim, conditions, labels};
use windlass_testkit::invariants::{Invariant, Kind, ObjectName};
use windlass_testkit::objects::deployment;
use windlass_testkit::{ControlPlane, eventually};

use crate::faults::Faults;
use crate::lab::{Lab, PATIENCE, is};
use crate::steps::{calm_lab, start};
use crate::trap::{Side, Trap};

/// Something that becomes of nodes by itself.
pub trait Scenario {
    /// What there is before any controller: settings, the provider, budgets.
    async fn prepare(&self, lab: &mut Lab);

    /// Builds the cluster, a controller being at work.
    async fn build(&self, lab: &Lab);

    /// Changes what makes it happen. Says which claims cannot be there in the end.
    async fn begin(&self, lab: &Lab) -> Vec<String>;

    /// What is there in the end.
    fn end(&self) -> End;
}

/// What is there when nothing is on its way in or out.
#[derive(Debug, PartialEq, Eq)]
pub struct End {
    /// The instance types of the nodes, in order.
    pub types: Vec<&'static str>,
    /// How many pods run.
    pub pods: usize,
}

/// How the controller is killed.
#[derive(Clone, Copy, Debug)]
pub enum Kills {
    /// Once in each round, on this side of an effect: of the first of these, and then of every so many more.
    Once { side: Side, first: usize, step: usize },
    /// Again and again in a single round, after so many effects, after one less, and so on down to one, and then from the
    /// start. A decision is of no use before all its claims and replacements are written, which takes a life that long.
    AllTheTime { most: usize },
}

/// Plays a scenario once undisturbed and then with kills, until there are fewer effects than the next would need. Fails
/// unless there were at least so many.
pub async fn play(plane: Arc<ControlPlane>, name: &str, scenario: impl Scenario, kills: Kills, least: usize) {
    let mut lab = calm_lab(plane, name).await;
    scenario.prepare(&mut lab).await;
    // Each of many processes and rounds says a few things about pool and provider, and that is no storm.
    for object in [(Kind::NodePool, lab.named("pool")), (Kind::NodeProvider, lab.named("sim"))] {
        lab.watcher().excuse(Invariant::NoWriteStorm, ObjectName::new(object.0, object.1));
    }
    assert_eq!(round(&lab, &scenario, |_| None).await, 0);
    let count = match kills {
        Kills::Once { side, first, step } => {
            let mut at = first;
            while round(&lab, &scenario, |kill| (kill == 0).then_some((at, side))).await > 0 {
                at += step;
            }
            (at - first) / step
        }
        Kills::AllTheTime { most } => {
            round(&lab, &scenario, |kill| Some((most - kill % most, Side::After))).await
        }
    };
    println!("{name}: killed {count} times");
    assert!(count >= least, "killed {count} times");
    lab.finish().await;
}

/// Plays a scenario once, with the kills that `next` wants after so many; says how many there were.
async fn round(lab: &Lab, scenario: &impl Scenario, next: impl Fn(usize) -> Option<(usize, Side)>) -> usize {
    let (faults, trap) = (Faults::default(), Trap::default());
    let mut running = start(lab, &faults);
    scenario.build(lab).await;
    let arm = |kills| match next(kills) {
        Some((at, side)) => trap.set(&faults, at, side),
        None => faults.heal(),
    };
    arm(0);
    let mut kills = 0;
    {
        let mut whole = pin!(async {
            let gone = scenario.begin(lab).await;
            ends_as(lab, &scenario.end(), &gone).await;
        });
        loop {
            tokio::select! {
                () = &mut whole => break,
                () = trap.sprung.notified() => {
                    running.crash().await;
                    kills += 1;
                    arm(kills);
                    running = start(lab, &faults);
                }
            }
        }
    }
    faults.heal();
    scale(lab, "web", 0, "1500m").await;
    scale(lab, "filler", 0, "2500m").await;
    lab.pool("pool", &json!({})).await;
    // One that was about to be killed when the end had come may have heard nothing since.
    running.crash().await;
    let running = start(lab, &faults);
    lab.everything_is_gone().await;
    running.crash().await;
    kills
}

async fn ends_as(lab: &Lab, end: &End, gone: &[String]) {
    eventually(&format!("{end:?} without {gone:?}"), 2 * PATIENCE, async || {
        let claims = lab.claims().await;
        if let Some(left) = claims.iter().find(|claim| gone.contains(&claim.name_any())) {
            return Err(format!("{} is there", left.name_any()));
        }
        let found = at_rest(lab, &claims).await?;
        let found = (found.0.iter().map(String::as_str).collect::<Vec<_>>(), found.1);
        if found == (end.types.clone(), end.pods) { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
}

/// The instance types of the nodes and the number of pods, if nothing is on its way in or out.
async fn at_rest(lab: &Lab, claims: &[NodeClaim]) -> Result<(Vec<String>, usize), String> {
    for claim in claims {
        let decided = [labels::DISRUPTION, labels::DISRUPTED_AT, labels::REPLACED_BY]
            .into_iter()
            .find(|key| claim.annotations().contains_key(*key));
        if claim.metadata.deletion_timestamp.is_some() || decided.is_some() {
            return Err(format!("{} is on its way out: {decided:?}", claim.name_any()));
        }
        if !is(claim, conditions::READY) || is(claim, conditions::DISRUPTED) {
            return Err(format!("{} is not ready: {:?}", claim.name_any(), claim.status));
        }
    }
    let (nodes, machines) = (lab.nodes().await, lab.machines().await.len());
    if let Some(closed) = nodes.iter().find(|node| is_closed(node)) {
        return Err(format!("node {} is closed: {:?}", closed.name_any(), closed.spec));
    }
    if (nodes.len(), machines) != (claims.len(), claims.len()) {
        return Err(format!("{} claims, {} nodes, {machines} machines", claims.len(), nodes.len()));
    }
    let pods = lab.pod_api().list(&ListParams::default()).await.map_err(|error| error.to_string())?.items;
    if let Some(pod) = pods.iter().find(|pod| !runs(pod)) {
        return Err(format!("pod {} does not run", pod.name_any()));
    }
    let types = claims.iter().filter_map(|claim| claim.status.as_ref()?.instance_type.clone());
    let mut types: Vec<String> = types.collect();
    types.sort();
    Ok((types, pods.len()))
}

fn is_closed(node: &Node) -> bool {
    node.spec.as_ref().is_some_and(|spec| {
        let taints = spec.taints.as_deref().unwrap_or_default();
        spec.unschedulable == Some(true) || taints.iter().any(|taint| taint.key == labels::DISRUPTED_TAINT)
    })
}

fn runs(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    pod.metadata.deletion_timestamp.is_none() && phase == Some("Running")
}

/// Makes an app of so many pods, or changes how many it has.
pub async fn scale(lab: &Lab, app: &str, replicas: i32, cpu: &str) {
    let pod = lab.pod(app, cpu).spec(|spec| spec.termination_grace_period_seconds = Some(1));
    let mut wanted = serde_json::to_value(deployment(app, replicas, pod)).unwrap();
    (wanted["apiVersion"], wanted["kind"]) = (json!("apps/v1"), json!("Deployment"));
    let api: Api<Deployment> = Api::namespaced(lab.client.clone(), &lab.namespace);
    let parameters = PatchParams::apply("lab-user").force();
    api.patch(app, &parameters, &Patch::Apply(wanted)).await.unwrap();
}

/// So many nodes, each filled by a pod of two and a half cores and one of one and a half.
pub async fn fill(lab: &Lab, nodes: i32, pool: &serde_json::Value) {
    let mut spec = json!({"minNodes": nodes});
    crate::lab::merge(&mut spec, pool);
    lab.pool("pool", &spec).await;
    lab.ready_claims(usize::try_from(nodes).unwrap()).await;
    scale(lab, "filler", nodes, "2500m").await;
    lab.all_pods_run().await;
    scale(lab, "web", nodes, "1500m").await;
    pods_run(lab, 2 * nodes).await;
}

/// Waits until so many pods are there and run.
pub async fn pods_run(lab: &Lab, count: i32) {
    eventually(&format!("{count} pods run"), PATIENCE, async || {
        let pods = lab.pod_api().list(&ListParams::default()).await.map_err(|error| error.to_string())?.items;
        let running = pods.iter().filter(|pod| runs(pod)).count();
        let all = running == pods.len() && i32::try_from(running) == Ok(count);
        if all { Ok(()) } else { Err(format!("{running} of {}", pods.len())) }
    })
    .await;
}

/// Protects all but one of the pods of an app, of which there will be so many.
pub async fn protect_all_but_one(lab: &Lab, app: &str, replicas: i32) {
    let api: Api<k8s_openapi::api::policy::v1::PodDisruptionBudget> =
        Api::namespaced(lab.client.clone(), &lab.namespace);
    let budget = windlass_testkit::objects::budget(app, replicas - 1);
    api.create(&kube::api::PostParams::default(), &budget).await.unwrap();
}

/// Waits until an app's budget allows one of its pods to go.
pub async fn one_may_go(lab: &Lab, app: &str) {
    let api: Api<k8s_openapi::api::policy::v1::PodDisruptionBudget> =
        Api::namespaced(lab.client.clone(), &lab.namespace);
    eventually("the budget lets one pod go", PATIENCE, async || {
        let status = api.get(app).await.map_err(|error| error.to_string())?.status.unwrap_or_default();
        if status.disruptions_allowed == Some(1) { Ok(()) } else { Err(format!("{status:?}")) }
    })
    .await;
}
