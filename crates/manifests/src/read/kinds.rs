use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, ReplicationController};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::{CSINode, StorageClass};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::typed::typed;
use super::{quantities, schema};
use crate::fault::Flaw;
use crate::workload::{self, Template};
use crate::{Object, admit};

/// What came of a document.
pub(super) enum Reading {
    /// An object.
    Object(Box<Object>),
    /// An object of a kind that is known and that makes no difference to a plan.
    Irrelevant,
    /// An object of a kind that is not known here.
    Unknown,
}

/// Whether objects of a kind are in namespaces, for their names. Of kinds that are not known most are.
pub(super) fn is_namespaced(kind: &str) -> bool {
    !matches!(
        kind,
        "Node"
            | "Namespace"
            | "PersistentVolume"
            | "StorageClass"
            | "CSINode"
            | "PriorityClass"
            | "NodePool"
            | "NodeProvider"
            | "NodeClaim"
    )
}

/// Reads an object of a kind.
pub(super) fn read(version: &str, kind: &str, mut value: Value) -> Result<Reading, Flaw> {
    let object = match (version, kind) {
        ("v1", "Pod") => Object::Pod(admit::pod(standard(kind, &mut value)?)?),
        ("v1", "Node") => Object::Node(admit::node(standard(kind, &mut value)?)),
        ("v1", "Namespace") => Object::Namespace(standard(kind, &mut value)?),
        ("v1", "PersistentVolume") => {
            Object::PersistentVolume(standard::<PersistentVolume>(kind, &mut value)?)
        }
        ("v1", "PersistentVolumeClaim") => {
            Object::PersistentVolumeClaim(admit::in_namespace::<PersistentVolumeClaim>(standard(
                kind, &mut value,
            )?))
        }
        ("storage.k8s.io/v1", "StorageClass") => {
            Object::StorageClass(standard::<StorageClass>(kind, &mut value)?)
        }
        ("storage.k8s.io/v1", "CSINode") => Object::CSINode(standard::<CSINode>(kind, &mut value)?),
        ("scheduling.k8s.io/v1", "PriorityClass") => {
            Object::PriorityClass(standard::<PriorityClass>(kind, &mut value)?)
        }
        ("apps/v1", "DaemonSet") => {
            Object::DaemonSet(admit::daemon_set(standard::<DaemonSet>(kind, &mut value)?)?)
        }
        ("apps/v1", "Deployment") => return workload::<Deployment>(kind, &mut value),
        ("apps/v1", "ReplicaSet") => return workload::<ReplicaSet>(kind, &mut value),
        ("apps/v1", "StatefulSet") => return workload::<StatefulSet>(kind, &mut value),
        ("batch/v1", "Job") => return workload::<Job>(kind, &mut value),
        ("batch/v1", "CronJob") => return workload::<CronJob>(kind, &mut value),
        ("v1", "ReplicationController") => return workload::<ReplicationController>(kind, &mut value),
        ("policy/v1", "PodDisruptionBudget") => {
            standard::<PodDisruptionBudget>(kind, &mut value)?;
            return Ok(Reading::Irrelevant);
        }
        ("windlass.dev/v1alpha1", "NodePool") => Object::NodePool(ours(kind, value, admit::pool)?),
        ("windlass.dev/v1alpha1", "NodeProvider") => {
            Object::NodeProvider(ours(kind, value, admit::provider)?)
        }
        ("windlass.dev/v1alpha1", "NodeClaim") => {
            Object::NodeClaim(ours(kind, value, |claim| Ok(admit::claim(claim)))?)
        }
        _ => return Ok(Reading::Unknown),
    };
    Ok(Reading::Object(Box::new(object)))
}

/// An object of Kubernetes' own.
fn standard<K: DeserializeOwned + Serialize>(kind: &str, value: &mut Value) -> Result<K, Flaw> {
    must_be_named(kind, value)?;
    quantities::settle(kind, value)?;
    typed(value.take())
}

fn workload<K: DeserializeOwned + Serialize + Template>(
    kind: &str,
    value: &mut Value,
) -> Result<Reading, Flaw> {
    let made = workload::read(standard::<K>(kind, value)?)?;
    Ok(made.map_or(Reading::Irrelevant, |workload| Reading::Object(Box::new(Object::Workload(workload)))))
}

/// One of ours. The rules in words come before the schema, which only says that a value does not fit.
fn ours<K: DeserializeOwned + Serialize>(
    kind: &str,
    value: Value,
    admit: impl Fn(K) -> Result<K, Flaw>,
) -> Result<K, Flaw> {
    must_be_named(kind, &value)?;
    must_have_a_proper_name(&value)?;
    let object = admit(typed(value.clone())?)?;
    schema::check(kind, &value)?;
    Ok(object)
}

fn must_be_named(kind: &str, value: &Value) -> Result<(), Flaw> {
    let metadata = value.get("metadata");
    let said = |field: &str| {
        metadata.and_then(|all| all.get(field)).and_then(Value::as_str).is_some_and(|name| !name.is_empty())
    };
    if said("name") || (said("generateName") && matches!(kind, "Pod" | "Job")) {
        return Ok(());
    }
    match metadata.and_then(|all| all.get("name")) {
        None | Some(Value::Null) => Err(Flaw::new("metadata.name", "is missing: give the object a name")),
        Some(Value::String(_)) => Err(Flaw::new("metadata.name", "is empty: give the object a name")),
        Some(other) => Err(Flaw::new("metadata.name", format!("{other} is no text: write it in quotes"))),
    }
}

/// The names of custom resources are like those of hosts. Those of Kubernetes' own kinds follow several rules.
fn must_have_a_proper_name(value: &Value) -> Result<(), Flaw> {
    let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let end = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| {
        let bytes = part.as_bytes();
        bytes.first().is_some_and(end)
            && bytes.last().is_some_and(end)
            && bytes.iter().all(|byte| end(byte) || *byte == b'-')
    };
    if name.len() <= 253 && name.split('.').all(is_part) {
        return Ok(());
    }
    let message = format!(
        "{name:?} is no name for an object: write at most 253 lower-case letters, digits, dashes and dots, with a letter or \
         digit at both ends"
    );
    Err(Flaw::new("metadata.name", message))
}
