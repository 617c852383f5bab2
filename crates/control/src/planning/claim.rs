use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::ObjectMeta;
use windlass_api::{
    Adoption, ClaimOffering, ClaimPurpose, ClaimReason, JoinMethod, LimitedDuration, NodeClaim,
    NodeClaimSpec, ObjectRef, labels,
};
use windlass_core::Text;
use windlass_core::model::{self, Labels};
use windlass_core::plan::{Launch, LaunchPurpose};
use windlass_providers::Machine;

use crate::adapt::{PoolDefinition, api_taint, quantities};

/// The claim for a launch.
pub(super) fn launched_claim(
    name: String,
    launch: &Launch,
    pool: &PoolDefinition,
    scope: Option<&str>,
) -> NodeClaim {
    let purpose = match launch.purpose {
        LaunchPurpose::PendingPods => ClaimPurpose::PendingPods,
        LaunchPurpose::MinNodes => ClaimPurpose::MinNodes,
        LaunchPurpose::Replacement => ClaimPurpose::Replacement,
        LaunchPurpose::Headroom => ClaimPurpose::Headroom,
    };
    let pods = launch.pods.iter().map(ToString::to_string).collect();
    let reason = ClaimReason { purpose, message: launch.message.clone(), pods };
    let mut claim = base(name, pool, scope, reason);
    claim.spec.offerings = launch.offerings.iter().map(offering).collect();
    // What is known of the node in advance, so that pods can be planned onto it before it is there.
    claim.spec.labels.extend(map(&launch.labels));
    claim.spec.labels.remove(labels::POOL);
    if !launch.replaces.is_empty() {
        let names: Vec<&str> = launch.replaces.iter().map(|name| &**name).collect();
        let annotations = claim.metadata.annotations.get_or_insert_default();
        annotations.insert(labels::REPLACES.to_owned(), names.join(","));
    }
    claim
}

/// The claim for a machine that Cluster Autoscaler asks for: it is to be exactly this one.
pub(crate) fn asked_claim(
    name: String,
    wanted: &model::ClaimOffering,
    node_labels: &Labels,
    message: String,
    pool: &PoolDefinition,
    scope: Option<&str>,
) -> NodeClaim {
    let reason = ClaimReason { purpose: ClaimPurpose::ClusterAutoscaler, message, pods: Vec::new() };
    let mut claim = base(name, pool, scope, reason);
    claim.spec.offerings = vec![offering(wanted)];
    claim.spec.labels.extend(map(node_labels));
    claim.spec.labels.remove(labels::POOL);
    claim
}

/// The claim for a machine that exists already. Its name follows from the machine, so that it cannot be adopted twice.
pub(crate) fn adopted_claim(machine: &Machine, pool: &PoolDefinition, scope: Option<&str>) -> NodeClaim {
    let suffix: String = machine.tag.claim_uid.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    let name = format!("{}-adopted-{}", pool.pool.name, suffix.to_lowercase());
    let reason = ClaimReason {
        purpose: ClaimPurpose::Adoption,
        message: format!("machine {} had no claim and runs pods", machine.provider_id),
        pods: Vec::new(),
    };
    let mut claim = base(name, pool, scope, reason);
    claim.spec.adopt = Some(Adoption {
        provider_id: machine.provider_id.to_string(),
        claim_uid: machine.tag.claim_uid.to_string(),
    });
    claim
}

fn offering(offering: &model::ClaimOffering) -> ClaimOffering {
    ClaimOffering {
        instance_type: offering.key.instance_type.to_string(),
        zone: offering.key.zone.to_string(),
        capacity_type: offering.key.capacity_type.to_string(),
        price: offering.price.to_string(),
        capacity: quantities(&offering.capacity),
        allocatable: quantities(&offering.allocatable),
    }
}

fn base(name: String, definition: &PoolDefinition, scope: Option<&str>, reason: ClaimReason) -> NodeClaim {
    let pool = &definition.pool;
    let mut own_labels = BTreeMap::from([(labels::POOL.to_owned(), pool.name.to_string())]);
    if let Some(scope) = scope {
        own_labels.insert(labels::SCOPE.to_owned(), scope.to_owned());
    }
    let owner = OwnerReference {
        api_version: format!("{}/v1alpha1", labels::GROUP),
        kind: "NodePool".to_owned(),
        name: pool.name.to_string(),
        uid: definition.uid.to_string(),
        block_owner_deletion: Some(true),
        controller: Some(true),
    };
    NodeClaim {
        metadata: ObjectMeta {
            name: Some(name),
            labels: Some(own_labels),
            annotations: pool
                .template
                .as_ref()
                .map(|template| BTreeMap::from([(labels::TEMPLATE.to_owned(), template.to_string())])),
            // From the first moment: there is no time at which the claim could vanish and leave a machine.
            finalizers: Some(vec![labels::FINALIZER.to_owned()]),
            // Who deletes a pool wants its nodes drained and returned.
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        spec: NodeClaimSpec {
            pool_ref: ObjectRef { name: pool.name.to_string() },
            provider_ref: ObjectRef { name: pool.provider.to_string() },
            reason,
            offerings: Vec::new(),
            adopt: None,
            labels: map(&pool.labels),
            annotations: map(&pool.annotations),
            taints: pool.taints.iter().map(api_taint).collect(),
            startup_taints: pool.startup_taints.iter().map(api_taint).collect(),
            termination_grace_period: pool.termination_grace_period.map(LimitedDuration::After),
            join: match definition.user_data {
                Some(_) => JoinMethod::UserData,
                None => JoinMethod::Image,
            },
        },
        status: None,
    }
}

fn map(labels: &Labels) -> BTreeMap<String, String> {
    labels.iter().map(|(key, value): (&Text, &Text)| (key.to_string(), value.to_string())).collect()
}
