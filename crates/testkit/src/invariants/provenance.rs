//! Who wrote an object, as far as its managed fields tell.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use serde_json::json;
use windlass_api::labels::FIELD_MANAGER;

/// The managed fields that Windlass has written.
pub(super) fn ours(metadata: &ObjectMeta) -> impl Iterator<Item = &ManagedFieldsEntry> {
    entries(metadata).filter(|entry| is_windlass(entry))
}

/// Whether the node that a pod is nominated to is all that Windlass has written of it.
pub(super) fn nominated_only(metadata: &ObjectMeta) -> bool {
    let nominated = json!({"f:status": {"f:nominatedNodeName": {}}});
    let mut written = ours(metadata).peekable();
    written.peek().is_some()
        && written.all(|entry| entry.fields_v1.as_ref().is_some_and(|fields| fields.0 == nominated))
}

/// When Windlass last wrote the object, to the second.
pub(super) fn last_written_by_us(metadata: &ObjectMeta) -> Option<Timestamp> {
    ours(metadata).filter_map(written_at).max()
}

/// Whether the latest write is certainly Windlass's. `before` is when Windlass had last written the object as it was
/// before this change. Times are in whole seconds: when Windlass and another both wrote within the same second, only
/// the first write of Windlass in that second is told apart, so writes are missed rather than invented.
pub(super) fn latest_is_ours(metadata: &ObjectMeta, before: Option<Timestamp>) -> bool {
    let Some(ours) = last_written_by_us(metadata) else {
        return false;
    };
    let others = entries(metadata).filter(|entry| !is_windlass(entry)).filter_map(written_at).max();
    Some(ours) != before || others.is_none_or(|others| others < ours)
}

fn entries(metadata: &ObjectMeta) -> impl Iterator<Item = &ManagedFieldsEntry> {
    metadata.managed_fields.iter().flatten()
}

/// A manager is the one named in a write or else the first part of the client's user agent, so that a forgotten
/// field manager still shows.
fn is_windlass(entry: &ManagedFieldsEntry) -> bool {
    let rest = entry.manager.as_deref().and_then(|manager| manager.strip_prefix(FIELD_MANAGER));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

fn written_at(entry: &ManagedFieldsEntry) -> Option<Timestamp> {
    entry.time.as_ref().map(|time| time.0)
}
