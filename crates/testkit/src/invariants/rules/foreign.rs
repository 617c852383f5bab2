//! I3: nothing that lacks our mark is changed.
//!
//! Two kinds of evidence. What a test declares foreign has to stay as it is, whoever changes it. Of everything else the
//! managed fields tell what Windlass wrote, and it is a violation when that is
//! - a Node that carries none of our labels and whose provider ID is of no machine or claim ever seen;
//! - a disruption budget, or more of a Pod than the node that it is nominated to;
//! - the spec of a `NodePool` or a `NodeProvider`, which are the user's.
//!
//! In a journal, it is a violation to end or change a machine that was declared foreign, that belongs to another cluster,
//! or that was never launched.

use std::collections::{HashMap, HashSet};

use kube::core::DynamicObject;
use serde_json::Value;
use windlass_api::labels;

use super::super::event::{ApiEvent, Change, JournalEntry, Kind, ObjectName, Writer};
use super::super::facts::{Machine, Node};
use super::super::provenance;
use super::super::settled::{difference, settled};
use super::super::violation::{Finding, Invariant};
use super::Case;

/// What is foreign, and what is known to be ours.
#[derive(Debug, Default)]
pub(in super::super) struct ForeignThings {
    declared: HashMap<ObjectName, Value>,
    /// Every machine that a record, a claim or a journal has named, also after its end: its node outlives it.
    known_machines: HashSet<String>,
    /// Objects already reported by their managed fields, which stay there for good.
    reported: HashSet<ObjectName>,
}

impl ForeignThings {
    /// Declares an object foreign, as it is now.
    pub(in super::super) fn declare(&mut self, name: ObjectName, object: Value) {
        let baseline = settled(&name.kind.to_string(), object);
        self.declared.insert(name, baseline);
    }

    /// Takes note of a machine that somebody legitimately has.
    pub(in super::super) fn know_machine(&mut self, provider_id: &str) {
        if !self.known_machines.contains(provider_id) {
            self.known_machines.insert(provider_id.to_owned());
        }
    }

    /// Judges a change on the API.
    pub(in super::super) fn judge(&mut self, case: &mut Case<'_>, name: &ObjectName, event: &ApiEvent) {
        if self.declared.contains_key(name) {
            self.judge_declared(case, name, event);
            return;
        }
        if event.change == Change::Deleted {
            self.reported.remove(name);
            return;
        }
        let Some(trespass) = self.trespass(event) else {
            return;
        };
        if self.reported.insert(name.clone()) {
            let message = format!("Windlass wrote {name}, {trespass}");
            case.findings.push(Finding::new(Invariant::ForeignUntouched, message, vec![name.clone()]));
        }
    }

    fn judge_declared(&mut self, case: &mut Case<'_>, name: &ObjectName, event: &ApiEvent) {
        let Some(baseline) = self.declared.get_mut(name) else {
            return;
        };
        let what = if event.change == Change::Deleted {
            self.declared.remove(name);
            "was deleted".to_owned()
        } else {
            let now = serde_json::to_value(&event.object).unwrap_or_default();
            let now = settled(&name.kind.to_string(), now);
            let Some(difference) = difference(baseline, &now) else {
                return;
            };
            *baseline = now;
            format!("was changed: {difference}")
        };
        let message = format!("{name} is foreign and {what}");
        case.findings.push(Finding::new(Invariant::ForeignUntouched, message, vec![name.clone()]));
    }

    /// What Windlass should not have written, if it has.
    fn trespass(&self, event: &ApiEvent) -> Option<&'static str> {
        let metadata = &event.object.metadata;
        let wrote = event.writer == Writer::Windlass || provenance::ours(metadata).next().is_some();
        if !wrote {
            return None;
        }
        match event.kind {
            Kind::Node if !self.is_marked(&event.object) => Some("a node without our mark"),
            Kind::Pod if provenance::nominated_only(metadata) => None,
            Kind::Pod | Kind::PodDisruptionBudget => Some("which is never ours to write"),
            Kind::NodePool | Kind::NodeProvider if owns_spec(&event.object) => {
                Some("whose spec is the user's")
            }
            _ => None,
        }
    }

    fn is_marked(&self, object: &DynamicObject) -> bool {
        let node = Node::read(object);
        let finalizers = object.metadata.finalizers.iter().flatten();
        node.pool.is_some()
            || node.claim_uid.is_some()
            || node.provider_id.is_some_and(|id| self.known_machines.contains(&id))
            || finalizers.into_iter().any(|finalizer| finalizer == labels::FINALIZER)
    }

    /// Judges what a provider did to a machine; `machine` is what was known of it before.
    pub(in super::super) fn judge_journal(
        &mut self,
        case: &mut Case<'_>,
        name: &ObjectName,
        entry: &JournalEntry,
        machine: Option<&Machine>,
    ) {
        let (JournalEntry::Terminated { provider_id } | JournalEntry::Changed { provider_id }) = entry else {
            return;
        };
        let trespass = if self.declared.contains_key(name) {
            "is foreign"
        } else if machine.is_some_and(|machine| !case.options.scope.includes_cluster(&machine.cluster_id)) {
            "belongs to another cluster"
        } else if !self.known_machines.contains(provider_id) {
            "was never launched by Windlass"
        } else {
            return;
        };
        let message = format!("machine {provider_id} {trespass} and was ended or changed");
        case.findings.push(Finding::new(Invariant::ForeignUntouched, message, vec![name.clone()]));
    }
}

fn owns_spec(object: &DynamicObject) -> bool {
    let has_spec = |fields: &Value| fields.get("f:spec").is_some();
    provenance::ours(&object.metadata)
        .any(|entry| entry.fields_v1.as_ref().is_some_and(|fields| has_spec(&fields.0)))
}
