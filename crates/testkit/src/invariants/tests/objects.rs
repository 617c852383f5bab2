use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    ConfigMap, Node, NodeSpec, Pod, PodCondition, PodSpec, PodStatus, Taint as NodeTaint,
};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    FieldsV1, LabelSelector, ManagedFieldsEntry, ObjectMeta, Time,
};
use kube::{Resource, ResourceExt as _};
use serde_json::{Value, json};
use windlass_api::conditions::{self, Truth};
use windlass_api::{
    Adoption, ApiQuantity, ClaimOffering, ClaimPurpose, ClaimReason, JoinMethod, NodeClaim, NodeClaimSpec,
    NodePool, NodePoolSpec, ObjectRef, labels,
};

pub(super) const POOL: &str = "general";

/// A claim on a machine of 4 or 8 CPUs, with the UID `uid-<name>`.
pub(super) fn claim(name: &str) -> NodeClaim {
    let spec = NodeClaimSpec {
        pool_ref: ObjectRef { name: POOL.to_owned() },
        provider_ref: ObjectRef { name: "lab".to_owned() },
        reason: ClaimReason { purpose: ClaimPurpose::PendingPods, message: String::new(), pods: Vec::new() },
        offerings: ["4", "8"].map(offering).into(),
        adopt: None,
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        taints: Vec::new(),
        startup_taints: Vec::new(),
        termination_grace_period: None,
        join: JoinMethod::Image,
    };
    let mut claim = NodeClaim::new(name, spec);
    claim.metadata.uid = Some(format!("uid-{name}"));
    claim
}

fn offering(cpu: &str) -> ClaimOffering {
    ClaimOffering {
        instance_type: format!("cpu-{cpu}"),
        zone: "a".to_owned(),
        capacity_type: labels::ON_DEMAND.to_owned(),
        price: "0.1".to_owned(),
        capacity: quantities(&[("cpu", cpu)]),
        allocatable: quantities(&[("cpu", cpu)]),
    }
}

pub(super) fn quantities(amounts: &[(&str, &str)]) -> BTreeMap<String, ApiQuantity> {
    amounts.iter().map(|(name, amount)| ((*name).to_owned(), ApiQuantity::from(*amount))).collect()
}

/// The claim with the machine that [`machine`] makes for it.
pub(super) fn launched(mut claim: NodeClaim, cpu: &str) -> NodeClaim {
    let status = claim.status.get_or_insert_default();
    status.provider_id = Some(provider_id(&claim.metadata.name.clone().unwrap()));
    status.capacity = quantities(&[("cpu", cpu)]);
    claim
}

pub(super) fn initialized(claim: NodeClaim) -> NodeClaim {
    saying(launched(claim, "4"), conditions::INITIALIZED, Truth::True)
}

/// The claim with a condition.
pub(super) fn saying(mut claim: NodeClaim, kind: &str, truth: Truth) -> NodeClaim {
    let conditions = &mut claim.status.get_or_insert_default().conditions;
    conditions::set(conditions, kind, truth, "Fine", "", None, Timestamp::UNIX_EPOCH);
    claim
}

/// The claim, made for these pods.
pub(super) fn made_for(mut claim: NodeClaim, pods: &[&str]) -> NodeClaim {
    claim.spec.reason.pods = pods.iter().map(ToString::to_string).collect();
    claim
}

pub(super) fn replacing(mut claim: NodeClaim, victim: &str) -> NodeClaim {
    claim.annotations_mut().insert(labels::REPLACES.to_owned(), victim.to_owned());
    claim
}

pub(super) fn adopting(mut claim: NodeClaim, other: &str) -> NodeClaim {
    claim.spec.adopt = Some(Adoption { provider_id: provider_id(other), claim_uid: format!("uid-{other}") });
    claim.spec.offerings.clear();
    claim
}

pub(super) fn deleted<K: Resource>(mut object: K, at: Timestamp) -> K {
    object.meta_mut().deletion_timestamp = Some(Time(at));
    object
}

/// The ID of the machine of this name.
pub(super) fn provider_id(name: &str) -> String {
    format!("simulated://lab/{name}")
}

/// A machine of this name for the claim of that name.
pub(super) fn machine(name: &str, claim: &str) -> ConfigMap {
    let mut machine = ConfigMap { metadata: named(name), ..ConfigMap::default() };
    machine.metadata.namespace = Some("windlass".to_owned());
    for (key, value) in [
        ("windlass.dev/simulated-machine", "lab".to_owned()),
        ("windlass.dev/cluster-id", "ours".to_owned()),
        (labels::CLAIM_UID, format!("uid-{claim}")),
    ] {
        machine.labels_mut().insert(key.to_owned(), value);
    }
    machine
}

pub(super) fn pool(limits: &[(&str, &str)]) -> NodePool {
    let spec = NodePoolSpec {
        provider_ref: ObjectRef { name: "lab".to_owned() },
        limits: quantities(limits),
        ..serde_json::from_value(json!({"providerRef": {"name": "lab"}})).unwrap()
    };
    NodePool::new(POOL, spec)
}

/// The node of the machine of this name.
pub(super) fn node(name: &str) -> Node {
    let spec = NodeSpec { provider_id: Some(provider_id(name)), ..NodeSpec::default() };
    let mut node = Node { metadata: named(name), spec: Some(spec), status: None };
    node.labels_mut().insert(labels::POOL.to_owned(), POOL.to_owned());
    node
}

pub(super) fn tainted(mut node: Node) -> Node {
    let taint = NodeTaint {
        key: labels::DISRUPTED_TAINT.to_owned(),
        effect: "NoSchedule".to_owned(),
        ..NodeTaint::default()
    };
    node.spec.get_or_insert_default().taints.get_or_insert_default().push(taint);
    node
}

/// A ready pod with the label `app: web`.
pub(super) fn pod(name: &str, node: &str) -> Pod {
    let spec = PodSpec { node_name: Some(node.to_owned()), ..PodSpec::default() };
    let mut pod = Pod { metadata: named(name), spec: Some(spec), status: None };
    pod.metadata.namespace = Some("default".to_owned());
    pod.labels_mut().insert("app".to_owned(), "web".to_owned());
    with_condition(pod, "Ready", "")
}

pub(super) fn evicted(pod: Pod) -> Pod {
    with_condition(pod, "DisruptionTarget", "EvictionByEvictionAPI")
}

fn with_condition(mut pod: Pod, kind: &str, reason: &str) -> Pod {
    let condition = PodCondition {
        type_: kind.to_owned(),
        status: "True".to_owned(),
        reason: Some(reason.to_owned()),
        ..PodCondition::default()
    };
    pod.status.get_or_insert_with(PodStatus::default).conditions.get_or_insert_default().push(condition);
    pod
}

/// A budget for the pods of [`pod`].
pub(super) fn budget(allowed: i32) -> PodDisruptionBudget {
    let web = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
    let selector = LabelSelector { match_labels: Some(web), ..LabelSelector::default() };
    let mut metadata = named("web");
    metadata.namespace = Some("default".to_owned());
    metadata.generation = Some(1);
    PodDisruptionBudget {
        metadata,
        spec: Some(PodDisruptionBudgetSpec {
            selector: Some(selector),
            ..PodDisruptionBudgetSpec::default()
        }),
        status: Some(PodDisruptionBudgetStatus {
            disruptions_allowed: Some(allowed),
            observed_generation: Some(1),
            ..PodDisruptionBudgetStatus::default()
        }),
    }
}

/// The object as the API server shows it after a manager has written some of its fields.
pub(super) fn written<K: Resource>(mut object: K, manager: &str, at: Timestamp, fields: Value) -> K {
    let entries = object.meta_mut().managed_fields.get_or_insert_default();
    entries.retain(|entry| entry.manager.as_deref() != Some(manager));
    entries.push(ManagedFieldsEntry {
        manager: Some(manager.to_owned()),
        operation: Some("Apply".to_owned()),
        time: Some(Time(at.round(jiff::Unit::Second).unwrap())),
        fields_v1: Some(FieldsV1(fields)),
        ..ManagedFieldsEntry::default()
    });
    object
}

pub(super) fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}
