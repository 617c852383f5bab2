use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Resource;
use serde::Serialize;
use windlass_api::{NodeClaim, NodePool};

use super::super::{
    ApiEvent, Change, Event, Invariant, JournalEntry, Judge, Kind, Options, Violation, Writer,
};

/// Tells a judge what happens, one thing after the other, and keeps what the judge says.
pub(super) struct Script {
    pub(super) judge: Judge,
    now: Timestamp,
    version: u64,
    writer: Writer,
    violations: Vec<Violation>,
}

/// Objects that can be told of.
pub(super) trait Watched: Resource + Serialize {
    const KIND: Kind;
}

macro_rules! watched {
    ($($object:ident is $kind:ident),+) => {
        $(impl Watched for $object { const KIND: Kind = Kind::$kind; })+
    };
}

watched!(
    NodeClaim is NodeClaim, NodePool is NodePool, Node is Node, Pod is Pod,
    PodDisruptionBudget is PodDisruptionBudget, ConfigMap is Machine
);

impl Script {
    pub(super) fn new() -> Self {
        Self::with(Options::default())
    }

    pub(super) fn with(options: Options) -> Self {
        let (judge, now) = (Judge::new(options), "2026-01-01T00:00:00Z".parse().unwrap());
        Self { judge, now, version: 1, writer: Writer::Unknown, violations: Vec::new() }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.now
    }

    /// From here on it is known who does things.
    pub(super) fn by(&mut self, writer: Writer) -> &mut Self {
        self.writer = writer;
        self
    }

    pub(super) fn find(&mut self, object: &impl Watched) -> &mut Self {
        self.tell(Change::Found, object)
    }

    pub(super) fn add(&mut self, object: &impl Watched) -> &mut Self {
        self.tell(Change::Added, object)
    }

    pub(super) fn change(&mut self, object: &impl Watched) -> &mut Self {
        self.tell(Change::Modified, object)
    }

    pub(super) fn remove(&mut self, object: &impl Watched) -> &mut Self {
        self.tell(Change::Deleted, object)
    }

    pub(super) fn journal(&mut self, entry: JournalEntry) -> &mut Self {
        self.observe(&Event::Provider(entry))
    }

    pub(super) fn pass(&mut self, seconds: i64) -> &mut Self {
        self.now += SignedDuration::from_secs(seconds);
        self.observe(&Event::Tick)
    }

    fn tell<K: Watched>(&mut self, change: Change, object: &K) -> &mut Self {
        self.version += 1;
        let mut object = serde_json::to_value(object).unwrap();
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let mut event = ApiEvent::new(K::KIND, change, serde_json::from_value(object).unwrap());
        event.writer = self.writer;
        self.observe(&Event::Api(Box::new(event)))
    }

    fn observe(&mut self, event: &Event) -> &mut Self {
        self.violations.extend(self.judge.observe(event, self.now));
        self
    }

    /// Nothing was violated so far.
    #[track_caller]
    pub(super) fn is_clean(&self) {
        let texts: Vec<_> = self.violations.iter().map(ToString::to_string).collect();
        assert!(texts.is_empty(), "{}", texts.join("\n"));
    }

    /// Just this was violated, and the message has all of these words.
    #[track_caller]
    pub(super) fn is_caught(&self, invariant: Invariant, words: &[&str]) {
        let texts: Vec<_> = self.violations.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 1, "{}", texts.join("\n"));
        assert_eq!(self.violations[0].invariant, invariant, "{}", texts[0]);
        for word in words {
            assert!(texts[0].contains(word), "{word:?} is not in: {}", texts[0]);
        }
        assert!(!self.violations[0].events.is_empty(), "nothing is said about what led to it");
    }
}
