use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use serde_json::{Value, json};
use windlass_testkit::invariants::Change;

use super::history::Commit;
use super::kind::ResourceKind;
use super::refusal::{StatusError, bytes};
use super::route::{Query, Target};
use super::selector::Selector;
use super::server::Server;
use super::stored::entry;

/// How long a watch lasts at least on a real server whose client does not say.
const UNTIL_ENDED: Duration = Duration::from_mins(30);

/// A place in the history from which someone is told of what happens.
#[derive(Clone, Debug)]
pub struct Watch {
    kind: &'static ResourceKind,
    namespace: String,
    selector: Selector,
    version: u64,
    wants_bookmarks: bool,
    timeout: Duration,
    /// What there was when the watch began, for those who do not say what they know.
    found: Vec<Bytes>,
}

/// The history that a watch needs is forgotten.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the resource version is too old: {0}")]
pub struct Gone(u64);

impl Gone {
    /// The event that says so; the watch ends with it.
    pub fn line(&self) -> Bytes {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 410,
            "reason": "Expired", "message": format!("too old resource version: {}", self.0),
        });
        line("ERROR", &bytes(&status))
    }
}

impl Watch {
    /// The kind that is watched.
    pub fn kind(&self) -> &'static ResourceKind {
        self.kind
    }

    /// How long the watch lasts.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The version up to which everything was told.
    pub fn version(&self) -> u64 {
        self.version
    }

    fn concerns(&self, object: &Value) -> bool {
        self.selector.matches(object)
    }

    /// A change as those see it who see only some objects: what comes to match is new, and what matches no more is gone.
    fn event(&self, commit: &Commit) -> Option<Bytes> {
        if !self.namespace.is_empty() && commit.object.namespace() != self.namespace {
            return None;
        }
        let knew = commit.before.as_ref().filter(|before| self.concerns(before.value()));
        let sees = commit.change != Change::Deleted && self.concerns(commit.object.value());
        match (knew, sees) {
            (None, false) => None,
            (None, true) => Some(line("ADDED", commit.object.bytes())),
            (Some(_), true) => Some(line("MODIFIED", commit.object.bytes())),
            (Some(_), false) if commit.change == Change::Deleted => {
                Some(line("DELETED", commit.object.bytes()))
            }
            (Some(before), false) => {
                let mut last = before.value().clone();
                entry(&mut last, "metadata")["resourceVersion"] = json!(commit.version.to_string());
                Some(line("DELETED", &bytes(&last)))
            }
        }
    }
}

fn line(kind: &str, object: &[u8]) -> Bytes {
    let mut line = BytesMut::with_capacity(object.len() + kind.len() + 24);
    line.put_slice(br#"{"type":""#);
    line.put_slice(kind.as_bytes());
    line.put_slice(br#"","object":"#);
    line.put_slice(object);
    line.put_slice(b"}\n");
    line.freeze()
}

impl Server {
    pub(super) fn watch(&self, target: &Target<'_>, query: &Query<'_>) -> Result<Watch, StatusError> {
        let selector = Selector::read(target.kind, query.get("labelSelector"), query.get("fieldSelector"))?;
        let seconds = query.get("timeoutSeconds").and_then(|seconds| seconds.parse().ok());
        let mut watch = Watch {
            kind: target.kind,
            namespace: target.namespace.to_owned(),
            selector,
            version: self.version(),
            wants_bookmarks: query.is_set("allowWatchBookmarks"),
            timeout: seconds.filter(|seconds| *seconds > 0).map_or(UNTIL_ENDED, Duration::from_secs),
            found: Vec::new(),
        };
        match query.get("resourceVersion") {
            None | Some("0") => {
                let all = self.all(target.kind).values();
                let here = all.filter(|object| {
                    (watch.namespace.is_empty() || object.namespace() == watch.namespace)
                        && watch.concerns(object.value())
                });
                watch.found = here.map(|object| line("ADDED", object.bytes())).collect();
            }
            Some(version) => {
                watch.version = version
                    .parse()
                    .map_err(|_| StatusError::bad_request(format!("invalid resource version: {version}")))?;
            }
        }
        Ok(watch)
    }

    /// The events that a watch has not told of yet, up to the version that its watcher can see, each a line.
    pub fn next_events(&self, watch: &mut Watch, visible: u64) -> Result<Vec<Bytes>, Gone> {
        if watch.version < self.history.compacted() {
            return Err(Gone(watch.version));
        }
        let mut events = std::mem::take(&mut watch.found);
        if visible <= watch.version {
            return Ok(events);
        }
        let news = self.history.of_kind_after(watch.kind, watch.version);
        let news = news.take_while(|commit| commit.version <= visible);
        events.extend(news.filter_map(|commit| watch.event(commit)));
        watch.version = visible.min(self.version()).max(watch.version);
        Ok(events)
    }

    /// A bookmark of the version that a watch has come to, if its watcher asked for such.
    pub fn bookmark(&self, watch: &Watch) -> Option<Bytes> {
        let (kind, api_version) = (watch.kind.kind, watch.kind.api_version);
        let metadata = json!({"resourceVersion": watch.version.to_string()});
        let object = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
        watch.wants_bookmarks.then(|| line("BOOKMARK", &bytes(&object)))
    }
}
