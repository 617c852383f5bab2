use jiff::Timestamp;
use windlass_api::{NodeClaim, NodeClaimStatus, conditions, labels as marks};
use windlass_core::model::{
    Claim, ClaimOffering, ClaimPhase, Decision, DisruptionReason, Launched, OfferingKey, PodId, well_known,
};
use windlass_core::{Price, Text};

use super::{api_resources, labels, taints, text};

/// A claim from the API.
pub fn claim(claim: &NodeClaim) -> Claim {
    let (metadata, spec) = (&claim.metadata, &claim.spec);
    let empty = NodeClaimStatus::default();
    let status = claim.status.as_ref().unwrap_or(&empty);
    let decided = decided(claim);
    let mut labels = labels(&spec.labels);
    labels.set(well_known::POOL, spec.pool_ref.name.as_str());
    Claim {
        name: text(metadata.name.as_ref()),
        uid: text(metadata.uid.as_ref()),
        pool: spec.pool_ref.name.as_str().into(),
        offerings: spec.offerings.iter().map(offering).collect(),
        launched: launched(status),
        phase: phase(status),
        node: status.node_name.as_deref().map(Into::into),
        labels,
        taints: taints(&spec.taints),
        startup_taints: taints(&spec.startup_taints),
        disrupted: disrupted(status).or(decided.as_ref().map(|(reason, _)| *reason)),
        decision: decided.map(|(_, decision)| decision),
        deleting: metadata.deletion_timestamp.is_some(),
        given_up: [conditions::LAUNCHED, conditions::REGISTERED].into_iter().any(|kind| {
            conditions::find(&status.conditions, kind).is_some_and(|condition| condition.status == "False")
        }),
        created_at: metadata.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        initialized_at: conditions::find(&status.conditions, conditions::INITIALIZED)
            .filter(|condition| condition.status == "True")
            .map(|condition| condition.last_transition_time.0),
        template: annotation(claim, marks::TEMPLATE).map(Into::into),
        drift: status.drift.as_deref().map(Into::into),
        ends_at: status.ends_at.as_ref().map(|time| time.0),
        asked_to_go: annotation(claim, marks::REPLACE) == Some("true"),
        replaces: names(claim, marks::REPLACES),
        pods: spec
            .reason
            .pods
            .iter()
            .filter_map(|pod| pod.split_once('/'))
            .map(|(namespace, name)| PodId::new(namespace, name))
            .collect(),
    }
}

fn offering(offering: &windlass_api::ClaimOffering) -> ClaimOffering {
    ClaimOffering {
        key: OfferingKey {
            instance_type: offering.instance_type.as_str().into(),
            zone: offering.zone.as_str().into(),
            capacity_type: offering.capacity_type.as_str().into(),
        },
        price: offering.price.parse().unwrap_or(Price::ZERO),
        capacity: api_resources(&offering.capacity),
        allocatable: api_resources(&offering.allocatable),
    }
}

fn launched(status: &NodeClaimStatus) -> Option<Launched> {
    Some(Launched {
        provider_id: status.provider_id.as_deref()?.into(),
        key: OfferingKey {
            instance_type: text(status.instance_type.as_ref()),
            zone: text(status.zone.as_ref()),
            capacity_type: text(status.capacity_type.as_ref()),
        },
        price: status.price.as_deref().and_then(|price| price.parse().ok()).unwrap_or(Price::ZERO),
        capacity: api_resources(&status.capacity),
        allocatable: api_resources(&status.allocatable),
        at: conditions::find(&status.conditions, conditions::LAUNCHED)
            .filter(|condition| condition.status == "True")
            .map(|condition| condition.last_transition_time.0),
    })
}

fn phase(status: &NodeClaimStatus) -> ClaimPhase {
    let is = |kind| conditions::is_true(&status.conditions, kind);
    if is(conditions::INITIALIZED) {
        ClaimPhase::Initialized
    } else if is(conditions::REGISTERED) {
        ClaimPhase::Registered
    } else if status.provider_id.is_some() {
        ClaimPhase::Launched
    } else {
        ClaimPhase::Pending
    }
}

fn disrupted(status: &NodeClaimStatus) -> Option<DisruptionReason> {
    let condition = conditions::find(&status.conditions, conditions::DISRUPTED)?;
    (condition.status == "True" && condition.reason == DisruptionReason::Sick.as_str())
        .then_some(DisruptionReason::Sick)
}

/// What was decided about the claim and why, as its annotations say.
fn decided(claim: &NodeClaim) -> Option<(DisruptionReason, Decision)> {
    let (reason, message) = annotation(claim, marks::DISRUPTION)?.split_once(": ")?;
    let since = annotation(claim, marks::DISRUPTED_AT)?.parse().ok()?;
    let decision =
        Decision { since, replacements: names(claim, marks::REPLACED_BY), message: message.into() };
    Some((reason.parse().ok()?, decision))
}

fn names(claim: &NodeClaim, key: &str) -> Vec<Text> {
    let names = annotation(claim, key).unwrap_or_default().split(',');
    names.filter(|name| !name.is_empty()).map(Into::into).collect()
}

fn annotation<'c>(claim: &'c NodeClaim, key: &str) -> Option<&'c str> {
    Some(claim.metadata.annotations.as_ref()?.get(key)?.as_str())
}
