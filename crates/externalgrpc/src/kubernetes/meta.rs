//! Metadata, moments and quantities, which Nodes and Pods have in common.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

use super::messages;

/// A text that says something. Kubernetes writes one that is not set as an empty one.
pub(super) fn said(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// A text that may be missing, as it is written.
pub(super) fn text(text: Option<&String>) -> String {
    text.cloned().unwrap_or_default()
}

pub(super) fn quantities(list: Option<&BTreeMap<String, Quantity>>) -> BTreeMap<String, messages::Quantity> {
    let entry = |(name, quantity): (&String, &Quantity)| {
        (name.clone(), messages::Quantity { text: quantity.0.clone() })
    };
    list.into_iter().flatten().map(entry).collect()
}

pub(super) fn api_quantities(
    list: BTreeMap<String, messages::Quantity>,
) -> Option<BTreeMap<String, Quantity>> {
    let list: BTreeMap<_, _> =
        list.into_iter().map(|(name, quantity)| (name, Quantity(quantity.text))).collect();
    Some(list).filter(|list| !list.is_empty())
}

/// A moment that Kubernetes can express, if it is one.
pub(super) fn api_time(time: Option<messages::Time>) -> Option<Time> {
    let messages::Time { seconds: Some(seconds), nanos } = time? else { return None };
    Timestamp::new(seconds, nanos.unwrap_or_default()).ok().map(Time)
}

impl From<&Time> for messages::Time {
    fn from(time: &Time) -> Self {
        Self { seconds: Some(time.0.as_second()), nanos: Some(time.0.subsec_nanosecond()) }
    }
}

impl From<&ObjectMeta> for messages::ObjectMeta {
    fn from(meta: &ObjectMeta) -> Self {
        Self {
            name: text(meta.name.as_ref()),
            namespace: text(meta.namespace.as_ref()),
            uid: text(meta.uid.as_ref()),
            resource_version: text(meta.resource_version.as_ref()),
            creation_timestamp: meta.creation_timestamp.as_ref().map(Into::into),
            deletion_timestamp: meta.deletion_timestamp.as_ref().map(Into::into),
            labels: meta.labels.clone().unwrap_or_default(),
            annotations: meta.annotations.clone().unwrap_or_default(),
        }
    }
}

impl From<messages::ObjectMeta> for ObjectMeta {
    fn from(meta: messages::ObjectMeta) -> Self {
        Self {
            name: said(meta.name),
            namespace: said(meta.namespace),
            uid: said(meta.uid),
            resource_version: said(meta.resource_version),
            creation_timestamp: api_time(meta.creation_timestamp),
            deletion_timestamp: api_time(meta.deletion_timestamp),
            labels: Some(meta.labels).filter(|labels| !labels.is_empty()),
            annotations: Some(meta.annotations).filter(|annotations| !annotations.is_empty()),
            ..Self::default()
        }
    }
}
