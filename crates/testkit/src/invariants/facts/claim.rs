use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::core::DynamicObject;
use serde_json::Value;
use windlass_api::{LimitedDuration, conditions, labels};
use windlass_core::Quantity;

use super::{condition, items, text, true_condition};

/// Amounts of resources, in thousandths.
pub(in super::super) type Amounts = BTreeMap<String, i128>;

/// What is known of a claim.
#[derive(Debug)]
pub(in super::super) struct Claim {
    pub(in super::super) uid: String,
    pub(in super::super) name: String,
    pub(in super::super) pool: String,
    /// The machine that the claim has or takes over.
    pub(in super::super) provider_id: Option<String>,
    /// The claim for which the machine that this one takes over was launched.
    pub(in super::super) adopted_uid: Option<String>,
    /// The names of the claims it replaces.
    pub(in super::super) replaces: Vec<String>,
    /// The names of the claims that take its place, where it was decided that it is to go.
    pub(in super::super) replaced_by: Option<Vec<String>>,
    /// The pods that it was made for, as `namespace/name`.
    pub(in super::super) pods: Vec<String>,
    pub(in super::super) launched: bool,
    pub(in super::super) initialized: bool,
    /// How often its status has been written.
    pub(in super::super) revision: Option<i64>,
    /// Whether it is yet to become a node, and nobody has given it up.
    pub(in super::super) on_its_way: bool,
    pub(in super::super) deleted_at: Option<Timestamp>,
    /// When the provider will end its machine, if it has said so.
    pub(in super::super) ends_at: Option<Timestamp>,
    /// How long its drain may take.
    pub(in super::super) drain_limit: Option<Duration>,
    /// What counts against the pool's limits.
    pub(in super::super) amounts: Amounts,
}

impl Claim {
    /// Reads a claim. Its spec never changes, so what follows from the spec alone is taken from the claim as it was
    /// `before`.
    pub(in super::super) fn read(object: &DynamicObject, before: Option<&Self>) -> Self {
        let named = |key: &str| {
            let names = object.annotations().get(key)?.split(',').map(str::trim);
            Some(names.filter(|name| !name.is_empty()).map(str::to_owned).collect())
        };
        let drain_limit: Option<LimitedDuration> =
            text(object, "/spec/terminationGracePeriod").and_then(|written| written.parse().ok());
        Self {
            uid: object.uid().unwrap_or_default(),
            name: object.name_any(),
            pool: text(object, "/spec/poolRef/name").unwrap_or_default(),
            provider_id: text(object, "/status/providerID")
                .or_else(|| text(object, "/spec/adopt/providerID")),
            adopted_uid: text(object, "/spec/adopt/claimUID"),
            replaces: named(labels::REPLACES).unwrap_or_default(),
            replaced_by: named(labels::REPLACED_BY),
            pods: items(object, "/spec/reason/pods").filter_map(Value::as_str).map(str::to_owned).collect(),
            launched: true_condition(object, conditions::LAUNCHED).is_some(),
            initialized: true_condition(object, conditions::INITIALIZED).is_some(),
            revision: object.data.pointer("/status/revision").and_then(Value::as_i64),
            on_its_way: is_on_its_way(object),
            deleted_at: object.metadata.deletion_timestamp.as_ref().map(|time| time.0),
            ends_at: text(object, "/status/endsAt").and_then(|written| written.parse().ok()),
            drain_limit: drain_limit.and_then(LimitedDuration::limit),
            amounts: counted(object, before),
        }
    }

    /// Whether the drain has taken as long as it may, so that budgets no longer hold.
    pub(in super::super) fn drain_is_over(&self, now: Timestamp) -> bool {
        let (Some(deleted_at), Some(limit)) = (self.deleted_at, self.drain_limit) else {
            return false;
        };
        deleted_at.checked_add(limit).is_ok_and(|deadline| deadline <= now)
    }
}

fn is_on_its_way(object: &DynamicObject) -> bool {
    let is =
        |kind: &str, status: &str| condition(object, kind).is_some_and(|found| found["status"] == status);
    let ended = [
        (conditions::LAUNCHED, "False"),
        (conditions::REGISTERED, "True"),
        (conditions::REGISTERED, "False"),
        (conditions::DISRUPTED, "True"),
    ];
    object.metadata.deletion_timestamp.is_none() && !ended.into_iter().any(|(kind, status)| is(kind, status))
}

/// Once launched a claim counts what its machine has; until then, the most of each resource that any of its offerings
/// would bring, since nobody knows which of them it will be. Without a machine, in the end, it counts for nothing.
fn counted(object: &DynamicObject, before: Option<&Claim>) -> Amounts {
    if true_condition(object, conditions::TERMINATED).is_some() {
        return Amounts::new();
    }
    let mut counted = amounts(object.data.pointer("/status/capacity"));
    if counted.is_empty() {
        if let Some(before) = before {
            return before.amounts.clone();
        }
        for offering in items(object, "/spec/offerings") {
            for (resource, amount) in amounts(offering.get("capacity")) {
                let most = counted.entry(resource).or_default();
                *most = amount.max(*most);
            }
        }
    }
    counted.insert("nodes".to_owned(), 1000);
    counted
}

/// Reads a map of quantities. One that cannot be read counts as nothing; admission refuses those.
pub(in super::super) fn amounts(quantities: Option<&Value>) -> Amounts {
    let written = quantities.and_then(Value::as_object).into_iter().flatten();
    written
        .filter_map(|(resource, quantity)| {
            let quantity: Quantity = match quantity {
                Value::String(text) => text.parse().ok()?,
                number => number.to_string().parse().ok()?,
            };
            Some((resource.clone(), i128::from(quantity.milli())))
        })
        .collect()
}
