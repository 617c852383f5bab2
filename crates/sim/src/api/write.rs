//! Creating and changing objects.

use std::sync::Arc;

use serde_json::{Value, json};

use super::builtin;
use super::kind::{KINDS, ResourceKind};
use super::metadata;
use super::owners::Owners;
use super::pod;
use super::proposal::{Proposal, check_name, settle_namespace};
use super::refusal::{StatusError, details};
use super::schema::Schema;
use super::server::{Author, Place, Server};
use super::stored::{Stored, entry, finalizers, is_leaving, put, remove, text};

/// Which part of an object a request writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Everything but the status, where that is written apart.
    Whole,
    /// The status.
    Status,
}

impl Server {
    /// Creates an object.
    pub(super) fn post(
        &mut self,
        kind: &'static ResourceKind,
        namespace: &str,
        object: Value,
        author: &Author,
    ) -> Result<Arc<Stored>, StatusError> {
        let mut proposal = Proposal::sent(kind, object)?;
        metadata::wipe(&mut proposal.value);
        self.bring_about(kind, namespace, proposal, Part::Whole, author)
    }

    pub(super) fn bring_about(
        &mut self,
        kind: &'static ResourceKind,
        namespace: &str,
        proposal: Proposal,
        part: Part,
        author: &Author,
    ) -> Result<Arc<Stored>, StatusError> {
        let Proposal { mut value, owners } = proposal;
        settle_namespace(kind, &mut value, namespace)?;
        self.admit_into(kind, namespace)?;
        let owners = owners
            .or_else(|| Some(Owners::of_new(&value, Schema::of(kind)?, &author.as_manager(part, false))));
        let stem = text(&value, "generateName").to_owned();
        if text(&value, "name").is_empty() && !stem.is_empty() {
            let suffix: String = (0..5).map(|_| self.letter()).collect();
            entry(&mut value, "metadata")["name"] = json!(format!("{stem}{suffix}"));
        }
        value["metadata"]["uid"] = json!(self.uid());
        value["metadata"]["creationTimestamp"] = metadata::time(author.now);
        if kind.custom {
            remove(&mut value, "status");
            value["metadata"]["generation"] = json!(1);
        } else {
            builtin::prepare_new(kind, &mut value);
        }
        let name = text(&value, "name").to_owned();
        let place = Place { kind, namespace, name: &name };
        if let Some(why) = fault(kind, &value) {
            return Err(StatusError::invalid(kind, &name, why));
        }
        if remove(&mut value["metadata"], "resourceVersion").is_some_and(|version| version != "0") {
            return Err(StatusError::new(
                500,
                "",
                "resourceVersion should not be set on objects to be created",
            ));
        }
        if let Some(existing) = self.find(&place) {
            return Err(StatusError::already_exists(kind, &name, existing.is_leaving()));
        }
        Ok(self.commit(&place, value, owners.unwrap_or_default(), author))
    }

    /// Changes an object into what `change` makes of it.
    pub(super) fn update(
        &mut self,
        place: &Place<'_>,
        part: Part,
        author: &Author,
        change: impl FnOnce(&Stored) -> Result<Proposal, StatusError>,
    ) -> Result<Arc<Stored>, StatusError> {
        let (kind, name) = (place.kind, place.name);
        let before = self.find(place).ok_or_else(|| place.not_found())?.clone();
        let Proposal { mut value, owners } = change(&before)?;
        settle_namespace(kind, &mut value, place.namespace)?;
        check_name(&value, name)?;
        let version = text(&value, "resourceVersion");
        if version.is_empty() || version == "0" {
            if !kind.unconditional {
                let why = "metadata.resourceVersion: Invalid value: 0: must be specified for an update";
                return Err(StatusError::invalid(kind, name, why));
            }
        } else if version != text(before.value(), "resourceVersion") {
            return Err(StatusError::stale(kind, name));
        }
        value["metadata"]["resourceVersion"] = before.value()["metadata"]["resourceVersion"].clone();

        let owners = owners.unwrap_or_else(|| {
            let mut owners = before.owners.clone();
            if let Some(schema) = Schema::of(kind) {
                owners.written(before.value(), &value, schema, &author.as_manager(part, false));
            }
            owners
        });
        put(&mut value["metadata"], "generation", before.value()["metadata"].get("generation"));
        prepare_change(kind, part, &mut value, before.value());
        metadata::keep(&mut value, before.value());
        let why = metadata::fault(kind, &value)
            .or_else(|| metadata::fault_in_change(&value, before.value()))
            .or_else(|| fault_in_change(kind, part, &value, before.value()));
        if let Some(why) = why {
            return Err(StatusError::invalid(kind, name, why));
        }
        if kind.kind == "Pod" {
            let now = metadata::time(author.now);
            pod::note_nomination(&mut value, Some(before.value()), &author.manager, &now);
        }

        if is_let_go(&value, before.value()) {
            self.commit_removal(place, author);
            return Ok(Arc::new(Stored::new(value, before.version(), Owners::default())));
        }
        if value == *before.value() && owners == before.owners {
            return Ok(before);
        }
        Ok(self.commit(place, value, owners, author))
    }

    /// Whether new objects may come to a namespace.
    fn admit_into(&self, kind: &ResourceKind, namespace: &str) -> Result<(), StatusError> {
        if !kind.namespaced {
            return Ok(());
        }
        let place = Place { kind: &KINDS[2], namespace: "", name: namespace };
        let found = self.find(&place).ok_or_else(|| place.not_found())?;
        if found.is_leaving() {
            let message = format!(
                "{} is forbidden: unable to create new content in namespace {namespace} because it is being terminated",
                kind.qualified
            );
            let mut details = details(kind.group, kind.plural, "");
            let cause = format!("namespace {namespace} is being terminated");
            details["causes"] =
                json!([{"reason": "NamespaceTerminating", "message": cause, "field": "metadata.namespace"}]);
            return Err(StatusError { details, ..StatusError::new(403, "Forbidden", message) });
        }
        Ok(())
    }

    fn letter(&mut self) -> char {
        let letters = b"bcdfghjklmnpqrstvwxz2456789";
        self.random.choice(letters).map_or('x', |letter| char::from(*letter))
    }

    fn uid(&mut self) -> String {
        let (high, low) = (self.random.u64(..), self.random.u64(..));
        // A version 4 UUID says so in these places.
        let high = high & 0xffff_ffff_ffff_0fff | 0x4000;
        let low = low & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000;
        let hex = format!("{high:016x}{low:016x}");
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }
}

fn prepare_change(kind: &ResourceKind, part: Part, value: &mut Value, before: &Value) {
    if !kind.custom {
        return builtin::prepare_change(kind, value, before, part == Part::Status);
    }
    match part {
        Part::Status => {
            let status = value.get("status").cloned();
            *value = before.clone();
            put(value, "status", status.as_ref());
        }
        Part::Whole => {
            put(value, "status", before.get("status"));
            if value.get("spec") != before.get("spec") {
                metadata::count_generation(value);
            }
        }
    }
}

fn fault(kind: &ResourceKind, value: &Value) -> Option<String> {
    metadata::fault(kind, value).or_else(|| match Schema::of(kind) {
        Some(schema) => schema.fault(value).map(|fault| fault.to_string()),
        None => builtin::fault(kind, value),
    })
}

fn fault_in_change(kind: &ResourceKind, part: Part, value: &Value, before: &Value) -> Option<String> {
    let Some(schema) = Schema::of(kind) else {
        return match part {
            Part::Whole => {
                builtin::fault(kind, value).or_else(|| builtin::fault_in_change(kind, value, before))
            }
            Part::Status => builtin::fault_in_status(kind, value, before),
        };
    };
    if schema.spec_is_final && value.get("spec") != before.get("spec") {
        return Some(
            "Invalid value: a claim's spec never changes: delete the claim to get another machine".to_owned(),
        );
    }
    schema.fault(value).map(|fault| fault.to_string())
}

/// Whether a change takes the last hold off an object that is being deleted.
fn is_let_go(value: &Value, before: &Value) -> bool {
    let grace = before["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
    let holds = before["kind"] == "Namespace" && before["spec"].get("finalizers").is_some();
    finalizers(value).is_empty() && is_leaving(before) && grace == 0 && !holds
}

impl Server {
    /// Replaces an object, or creates it where its kind is created that way. Says whether it did.
    pub(super) fn put(
        &mut self,
        place: &Place<'_>,
        part: Part,
        object: Value,
        author: &Author,
    ) -> Result<(Arc<Stored>, bool), StatusError> {
        let kind = place.kind;
        let mut proposal = Proposal::sent(kind, object)?;
        settle_namespace(kind, &mut proposal.value, place.namespace)?;
        check_name(&proposal.value, place.name)?;
        let uid = text(&proposal.value, "uid").to_owned();
        if self.find(place).is_none() && kind.created_by_update && part == Part::Whole {
            if !uid.is_empty() {
                let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: ");
                return Err(StatusError::conflict(kind, place.name, why));
            }
            remove(entry(&mut proposal.value, "metadata"), "resourceVersion");
            return Ok((self.bring_about(kind, place.namespace, proposal, part, author)?, true));
        }
        let updated = self.update(place, part, author, |before| {
            if !uid.is_empty() && uid != before.uid() {
                let why = format!(
                    "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
                    before.uid()
                );
                return Err(StatusError::conflict(kind, place.name, why));
            }
            Ok(proposal)
        })?;
        Ok((updated, false))
    }
}
