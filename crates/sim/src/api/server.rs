use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;
use windlass_testkit::invariants::{Change, Writer};

use super::delete::Deletion;
use super::history::{Commit, History};
use super::kind::{KINDS, ResourceKind};
use super::owners::{Manager, Owners};
use super::proposal::Proposal;
use super::refusal::StatusError;
use super::stored::{Stored, entry};
use super::write::Part;

/// A kube-apiserver without a network: requests are answered at once and in order, and what others see of a write, and
/// when, is left to whoever carries requests and events.
///
/// It keeps to what the real server does wherever Windlass, its providers or those who play the rest of a cluster could
/// tell the difference; `tests/honesty` compares the two. It does not keep managed fields, except for who nominated a
/// pod; it knows no other admission than that of pods, nodes and namespaces; and of the rules in our custom resources it
/// knows their schemas and that a claim's spec is final, but no other expressions.
#[derive(Debug)]
pub struct Server {
    objects: Vec<BTreeMap<String, Arc<Stored>>>,
    pub(super) history: History,
    pub(super) random: Rng,
    pub(super) shuffles_lists: bool,
}

/// Who writes, and when.
#[derive(Clone, Debug)]
pub(super) struct Author {
    pub writer: Writer,
    pub manager: String,
    pub now: Timestamp,
}

impl Author {
    /// Whoever plays a part of the cluster.
    fn other(now: Timestamp) -> Self {
        Self { writer: Writer::Other, manager: "simulation".to_owned(), now }
    }

    pub fn as_manager(&self, part: Part, applies: bool) -> Manager {
        Manager { name: self.manager.clone(), applies, status: part == Part::Status }
    }
}

/// An object's kind and name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub kind: &'static ResourceKind,
    /// Empty for what lives in no namespace.
    pub namespace: &'a str,
    pub name: &'a str,
}

impl Place<'_> {
    pub fn key(&self) -> String {
        key(self.namespace, self.name)
    }

    pub fn not_found(&self) -> StatusError {
        StatusError::not_found(self.kind, self.name)
    }
}

/// What an object is sorted by, as in etcd.
pub(super) fn key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

impl Server {
    /// A server with the namespaces that every cluster has.
    pub fn new(seed: u64) -> Self {
        let mut server = Self {
            objects: vec![BTreeMap::new(); KINDS.len()],
            history: History::new(),
            random: Rng::with_seed(seed),
            shuffles_lists: false,
        };
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            // There is nothing that it could collide with.
            let _ = server.create(namespace, Timestamp::UNIX_EPOCH);
        }
        server
    }

    /// The newest resource version.
    pub fn version(&self) -> u64 {
        self.history.version()
    }

    /// The writes after a version, as far as they are remembered.
    pub fn commits_after(&self, version: u64) -> &[Commit] {
        self.history.after(version)
    }

    /// Forgets the history up to a version: who watches or reads page by page from there has to begin anew.
    pub fn compact(&mut self, version: u64) {
        self.history.compact(version);
    }

    /// Whether lists come in no order that one could rely on. Real servers sort them.
    pub fn shuffle_lists(&mut self, yes: bool) {
        self.shuffles_lists = yes;
    }

    /// An object, if there is one.
    pub fn get(&self, kind: &str, namespace: Option<&str>, name: &str) -> Option<Arc<Stored>> {
        let place =
            Place { kind: ResourceKind::named(kind)?, namespace: namespace.unwrap_or_default(), name };
        self.find(&place).cloned()
    }

    /// All objects of a kind, in the order of their names.
    pub fn iter(&self, kind: &str) -> impl Iterator<Item = &Arc<Stored>> {
        ResourceKind::named(kind).into_iter().flat_map(|kind| self.all(kind).values())
    }

    /// Creates an object as its kind, namespace and name say.
    pub fn create(&mut self, object: Value, now: Timestamp) -> Result<Arc<Stored>, StatusError> {
        let kind = known(object["kind"].as_str().unwrap_or_default())?;
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        self.post(kind, &namespace, object, &Author::other(now))
    }

    /// Changes an object, except for its status where that is written apart.
    pub fn edit(
        &mut self,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
        now: Timestamp,
        change: impl FnOnce(&mut Value),
    ) -> Result<Arc<Stored>, StatusError> {
        self.edit_part(kind, namespace, name, Part::Whole, now, change)
    }

    /// Changes an object's status.
    pub fn edit_status(
        &mut self,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
        now: Timestamp,
        change: impl FnOnce(&mut Value),
    ) -> Result<Arc<Stored>, StatusError> {
        self.edit_part(kind, namespace, name, Part::Status, now, change)
    }

    fn edit_part(
        &mut self,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
        part: Part,
        now: Timestamp,
        change: impl FnOnce(&mut Value),
    ) -> Result<Arc<Stored>, StatusError> {
        let place = Place { kind: known(kind)?, namespace: namespace.unwrap_or_default(), name };
        self.update(&place, part, &Author::other(now), |stored| {
            let mut value = stored.value().clone();
            change(&mut value);
            Proposal::patched(place.kind, value)
        })
    }

    /// Deletes an object, and returns it as it was last. Pods that run are given some grace unless told otherwise.
    pub fn delete(
        &mut self,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
        grace: Option<i64>,
        now: Timestamp,
    ) -> Result<Arc<Stored>, StatusError> {
        let place = Place { kind: known(kind)?, namespace: namespace.unwrap_or_default(), name };
        let options = Deletion { grace, ..Deletion::default() };
        self.remove(&place, &options, &Author::other(now)).map(|(object, _)| object)
    }

    /// Puts a pod on a node.
    pub fn bind(
        &mut self,
        namespace: &str,
        pod: &str,
        node: &str,
        now: Timestamp,
    ) -> Result<(), StatusError> {
        let binding = json!({"metadata": {"name": pod}, "target": {"kind": "Node", "name": node}});
        self.bind_pod(&Place { kind: &KINDS[0], namespace, name: pod }, &binding, &Author::other(now))
    }

    pub(super) fn all(&self, kind: &ResourceKind) -> &BTreeMap<String, Arc<Stored>> {
        &self.objects[kind.place]
    }

    pub(super) fn find(&self, place: &Place<'_>) -> Option<&Arc<Stored>> {
        self.all(place.kind).get(&place.key())
    }

    /// Writes an object down under the next resource version.
    pub(super) fn commit(
        &mut self,
        place: &Place<'_>,
        mut value: Value,
        owners: Owners,
        author: &Author,
    ) -> Arc<Stored> {
        let version = self.version() + 1;
        entry(&mut value, "metadata")["resourceVersion"] = json!(version.to_string());
        let object = Arc::new(Stored::new(value, version, owners));
        let before = self.objects[place.kind.place].insert(place.key(), object.clone());
        let change = if before.is_some() { Change::Modified } else { Change::Added };
        self.note(place.kind, change, object.clone(), before, author);
        object
    }

    /// Takes an object out, and returns it as it was last, with the version of its going.
    pub(super) fn commit_removal(&mut self, place: &Place<'_>, author: &Author) -> Option<Arc<Stored>> {
        let before = self.objects[place.kind.place].remove(&place.key())?;
        let version = self.version() + 1;
        let mut value = before.value().clone();
        entry(&mut value, "metadata")["resourceVersion"] = json!(version.to_string());
        let object = Arc::new(Stored::new(value, version, Owners::default()));
        self.note(place.kind, Change::Deleted, object.clone(), Some(before), author);
        Some(object)
    }

    fn note(
        &mut self,
        kind: &'static ResourceKind,
        change: Change,
        object: Arc<Stored>,
        before: Option<Arc<Stored>>,
        author: &Author,
    ) {
        self.history.add(Commit {
            version: object.version(),
            seen_from: Instant::now(),
            kind,
            change,
            object,
            before,
            writer: author.writer,
        });
    }
}

fn known(kind: &str) -> Result<&'static ResourceKind, StatusError> {
    ResourceKind::named(kind)
        .ok_or_else(|| StatusError::new(404, "NotFound", format!("there is no kind {kind}")))
}
