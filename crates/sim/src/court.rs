//! The court: sees every change and every call, has the judge decide at each of them, and counts what has occurred.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use kube::api::{DynamicObject, ObjectMeta};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_api::labels;
use windlass_testkit::invariants::{
    ApiEvent, Change, Event, JournalEntry, Judge, Kind, ObjectName, Options, Scope, Writer,
};

use crate::api::Commit;
use crate::cloud::CLUSTER;
use crate::cluster::condition;
use crate::history::{Call, CallFault};

/// What is judged, and what has been found.
#[derive(Debug)]
pub(crate) struct Court {
    judge: Judge,
    findings: Vec<Finding>,
    counts: BTreeMap<String, u64>,
    /// When Windlass last wrote something that is not a lease or an event, and what.
    last_write: Option<(Timestamp, String)>,
    holder: Option<String>,
}

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Which rule it is against, in a few words that stay the same.
    pub rule: String,
    /// What happened, for people.
    pub message: String,
}

impl Court {
    /// A court for a history in which clocks may be this far ahead: whoever believes such a clock cannot be blamed for
    /// taking what is announced for what is due.
    pub(crate) fn new(clocks_ahead: SignedDuration) -> Self {
        let minutes = SignedDuration::from_mins;
        let last_call = SignedDuration::from_secs(65).saturating_add(clocks_ahead);
        let options = Options {
            last_call,
            scope: Scope { cluster_id: Some(CLUSTER.to_owned()), pool_prefix: "pool-".to_owned() },
            // While there is trouble, nobody can be blamed for not clearing up.
            orphan_grace: minutes(20),
            // The controller's view of a pool may be as old as watches can lag.
            limit_tolerance: minutes(5),
            claims_per_pool_per_hour: 200,
            ..Options::default()
        };
        let judge = Judge::new(options);
        Self { judge, findings: Vec::new(), counts: BTreeMap::new(), last_write: None, holder: None }
    }

    /// Judges a change on the API.
    pub(crate) fn commit(&mut self, commit: &Commit, now: Timestamp) {
        let value = commit.object.value();
        let kind = match commit.kind.kind {
            "NodeClaim" => Kind::NodeClaim,
            "NodePool" => Kind::NodePool,
            "NodeProvider" => Kind::NodeProvider,
            "Node" => Kind::Node,
            "Pod" => Kind::Pod,
            "PodDisruptionBudget" => Kind::PodDisruptionBudget,
            "Lease" => return self.see_lease(value),
            _ => return,
        };
        if commit.writer == Writer::Windlass {
            let name = value["metadata"]["name"].as_str().unwrap_or_default();
            self.last_write = Some((now, format!("{kind} {name}")));
        }
        if kind == Kind::NodeClaim {
            self.see_claim(commit);
        }
        let Some(object) = dynamic(value) else {
            return self.find("simulation", format!("{kind} is no object: {value}"));
        };
        // What follows from an eviction or a deletion is the API server's doing; a watch would not say whose it is either.
        let follows = kind == Kind::PodDisruptionBudget || kind == Kind::Pod && is_leaving(value);
        let writer =
            if follows && commit.writer == Writer::Windlass { Writer::Unknown } else { commit.writer };
        let event = ApiEvent { kind, change: commit.change, object, writer };
        self.observe(&Event::Api(Box::new(event)), now);
    }

    /// Judges what a provider did.
    pub(crate) fn journal(&mut self, entry: &JournalEntry, now: Timestamp) {
        self.observe(&Event::Provider(entry.clone()), now);
    }

    /// Judges that time has passed.
    pub(crate) fn tick(&mut self, now: Timestamp) {
        self.observe(&Event::Tick, now);
    }

    fn observe(&mut self, event: &Event, now: Timestamp) {
        for violation in self.judge.observe(event, now) {
            let finding = Finding { rule: violation.invariant.to_string(), message: violation.to_string() };
            self.findings.push(finding);
        }
    }

    /// From now on nobody may touch this.
    pub(crate) fn foreign(&mut self, kind: Kind, name: &str, object: &Value) {
        if let Err(error) = self.judge.foreign(ObjectName::new(kind, name), object) {
            self.find("simulation", format!("{kind} {name} cannot be declared foreign: {error}"));
        }
    }

    pub(crate) fn find(&mut self, rule: &str, message: String) {
        self.findings.push(Finding { rule: rule.to_owned(), message });
    }

    pub(crate) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    pub(crate) fn last_write(&self) -> Option<&(Timestamp, String)> {
        self.last_write.as_ref()
    }

    /// Counts something that has occurred.
    pub(crate) fn count(&mut self, what: &str) {
        match self.counts.get_mut(what) {
            Some(count) => *count += 1,
            None => drop(self.counts.insert(what.to_owned(), 1)),
        }
    }

    pub(crate) fn count_status(&mut self, status: u16) {
        self.count(&format!("request answered {status}"));
    }

    pub(crate) fn count_call(&mut self, call: Call, fault: Option<CallFault>) {
        if let Some(fault) = fault {
            self.count(&format!("provider: {call:?} {fault:?}"));
        }
    }

    /// Whether the provider has said so often that there is nothing that it may pass for the truth.
    pub(crate) fn provider_lied(&self) -> bool {
        let lies = self.counts.iter().filter(|(what, _)| what.ends_with("Denied"));
        lies.map(|(_, count)| count).sum::<u64>() >= 2
    }

    pub(crate) fn counts(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }

    fn see_lease(&mut self, lease: &Value) {
        let holder = lease["spec"]["holderIdentity"].as_str().filter(|holder| !holder.is_empty());
        let Some(holder) = holder.map(ToOwned::to_owned) else { return };
        if self.holder.as_ref().is_some_and(|before| *before != holder) {
            self.count("leader changed");
        }
        self.holder = Some(holder);
    }

    /// Counts the decisions that show on claims.
    fn see_claim(&mut self, commit: &Commit) {
        if commit.writer != Writer::Windlass {
            return;
        }
        if commit.change == Change::Added {
            self.count("claim made");
        }
        let decided = |object: &Value| {
            let decision = object["metadata"]["annotations"][labels::DISRUPTION].as_str()?;
            decision.split(':').next().map(ToOwned::to_owned)
        };
        let before = commit.before.as_ref().and_then(|before| decided(before.value()));
        let after = decided(commit.object.value());
        match (before, after) {
            (None, Some(reason)) => self.count(&format!("decided: {reason}")),
            (Some(_), None) if commit.change != Change::Deleted => self.count("decision taken back"),
            _ => {}
        }
        let sick = |object: &Value| {
            condition(object, "Disrupted")
                .is_some_and(|one| one["status"] == "True" && one["reason"] == "Sick")
        };
        let was_sick = commit.before.as_ref().is_some_and(|before| sick(before.value()));
        if !was_sick && sick(commit.object.value()) {
            self.count("node found sick");
        }
    }
}

/// The object as the judge reads it, without the detour by which it would be decoded from a copy.
fn dynamic(value: &Value) -> Option<DynamicObject> {
    let metadata = ObjectMeta::deserialize(&value["metadata"]).ok()?;
    let rest = value.as_object()?.iter().filter(|(key, _)| *key != "metadata");
    let data = rest.map(|(key, value)| (key.clone(), value.clone())).collect();
    Some(DynamicObject { types: None, metadata, data: Value::Object(data) })
}

/// Whether a pod is being deleted or about to be.
fn is_leaving(pod: &Value) -> bool {
    condition(pod, "DisruptionTarget").is_some() || pod["metadata"].get("deletionTimestamp").is_some()
}
