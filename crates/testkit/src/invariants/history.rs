use std::collections::VecDeque;
use std::fmt::Write as _;

use jiff::Timestamp;
use kube::ResourceExt as _;
use kube::core::DynamicObject;
use serde_json::Value;

use super::event::{ApiEvent, JournalEntry, ObjectName};

/// How many events are remembered in all: enough that a test's own objects are among them, and little memory.
const REMEMBERED: usize = 2048;
/// How many events a violation shows.
const SHOWN: usize = 10;

/// The last events, so that a violation can say what led to it.
#[derive(Debug, Default)]
pub(super) struct History {
    lines: VecDeque<(Timestamp, ObjectName, String)>,
}

impl History {
    pub(super) fn record_api(&mut self, at: Timestamp, name: ObjectName, event: &ApiEvent) {
        self.record(at, name, format!("{:?}{}", event.change, describe(&event.object)));
    }

    pub(super) fn record_journal(&mut self, at: Timestamp, name: ObjectName, entry: &JournalEntry) {
        self.record(at, name, format!("{entry:?}"));
    }

    fn record(&mut self, at: Timestamp, name: ObjectName, line: String) {
        if self.lines.len() == REMEMBERED {
            self.lines.pop_front();
        }
        self.lines.push_back((at, name, line));
    }

    /// The last events about any of these objects, oldest first.
    pub(super) fn about(&self, objects: &[ObjectName]) -> Vec<String> {
        let concerning = self.lines.iter().rev().filter(|(_, name, _)| objects.contains(name)).take(SHOWN);
        let mut lines: Vec<_> = concerning.map(|(at, name, line)| format!("{at} {name}: {line}")).collect();
        lines.reverse();
        lines
    }
}

/// What most often explains a violation: how far the object has come and whether it is on its way out.
fn describe(object: &DynamicObject) -> String {
    let mut text = format!(" rv={}", object.resource_version().unwrap_or_default());
    if object.metadata.deletion_timestamp.is_some() {
        text.push_str(" deleting");
    }
    for (name, pointer) in [("providerID", "/status/providerID"), ("node", "/spec/nodeName")] {
        if let Some(value) = object.data.pointer(pointer).and_then(Value::as_str) {
            let _ = write!(text, " {name}={value}");
        }
    }
    let conditions = object.data.pointer("/status/conditions").and_then(Value::as_array);
    for condition in conditions.into_iter().flatten().filter(|condition| condition["status"] == "True") {
        let _ = write!(text, " {}", condition["type"].as_str().unwrap_or_default());
    }
    text
}
