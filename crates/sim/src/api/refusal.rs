use bytes::Bytes;
use serde_json::{Value, json};

use super::kind::ResourceKind;

/// An answer that is not the one hoped for, as Kubernetes words it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct StatusError {
    /// The HTTP status.
    pub code: u16,
    /// The reason for programs; empty where Kubernetes gives none.
    pub reason: &'static str,
    /// The reason for people.
    pub message: String,
    /// What it is about.
    pub details: Value,
}

impl StatusError {
    pub(super) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: Value::Null }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(super) fn not_found(kind: &ResourceKind, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} \"{name}\" not found", kind.qualified)).about(kind, name)
    }

    pub(super) fn already_exists(kind: &ResourceKind, name: &str, is_leaving: bool) -> Self {
        let leaving = if is_leaving { "object is being deleted: " } else { "" };
        let message = format!("{leaving}{} \"{name}\" already exists", kind.qualified);
        Self::new(409, "AlreadyExists", message).about(kind, name)
    }

    pub(super) fn conflict(kind: &ResourceKind, name: &str, why: impl AsRef<str>) -> Self {
        let message =
            format!("Operation cannot be fulfilled on {} \"{name}\": {}", kind.qualified, why.as_ref());
        Self::new(409, "Conflict", message).about(kind, name)
    }

    /// A write of something that is not the newest.
    pub(super) fn stale(kind: &ResourceKind, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(kind, name, why)
    }

    pub(super) fn invalid(kind: &ResourceKind, name: &str, why: impl AsRef<str>) -> Self {
        let dot = if kind.group.is_empty() { "" } else { "." };
        let message = format!("{}{dot}{} \"{name}\" is invalid: {}", kind.kind, kind.group, why.as_ref());
        Self { details: details(kind.group, kind.kind, name), ..Self::new(422, "Invalid", message) }
    }

    fn about(self, kind: &ResourceKind, name: &str) -> Self {
        Self { details: details(kind.group, kind.plural, name), ..self }
    }

    /// The `Status` object that says so.
    pub fn body(&self) -> Bytes {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        if !self.details.is_null() {
            status["details"] = self.details.clone();
        }
        bytes(&status)
    }
}

pub(super) fn details(group: &str, kind: &str, name: &str) -> Value {
    let mut details = json!({"name": name, "kind": kind});
    if !group.is_empty() {
        details["group"] = json!(group);
    }
    details
}

/// JSON as it goes over the wire.
pub(super) fn bytes(value: &Value) -> Bytes {
    Bytes::from(serde_json::to_vec(value).unwrap_or_default())
}
