use std::collections::BTreeMap;

use kube::ResourceExt as _;
use kube::core::DynamicObject;
use kube::runtime::watcher::Event;

use super::super::event::{ApiEvent, Change, Kind, qualified_name};

/// What a watch has seen. A watch that is cut starts over with a list, which says what exists but not what has become of
/// the rest: that follows from what was known before.
#[derive(Debug)]
pub(super) struct Known {
    kind: Kind,
    objects: BTreeMap<String, DynamicObject>,
    listing: BTreeMap<String, DynamicObject>,
    complete: bool,
    /// What the watch complained of last.
    pub(super) problem: Option<String>,
}

impl Known {
    pub(super) fn new(kind: Kind) -> Self {
        Self { kind, objects: BTreeMap::new(), listing: BTreeMap::new(), complete: false, problem: None }
    }

    /// Whether all that existed at the start has been seen.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether everything listed here has been seen, and the end of everything that is not. `version` is the list's.
    pub(super) fn covers(&self, listed: &BTreeMap<String, u64>, version: u64) -> bool {
        let seen = |name: &String| self.objects.get(name).map(object_version);
        let all_seen = listed.iter().all(|(name, version)| seen(name).is_some_and(|seen| seen >= *version));
        // What is known and not listed is either gone, which the watch has yet to say, or newer than the list.
        let mut unlisted = self.objects.iter().filter(|(name, _)| !listed.contains_key(*name));
        let none_gone = unlisted.all(|(_, object)| object_version(object) > version);
        self.complete && all_seen && none_gone
    }

    /// Takes in what the watch says, and says what it means.
    pub(super) fn take_in(&mut self, event: Event<DynamicObject>) -> Vec<ApiEvent> {
        match event {
            Event::Apply(object) => self.apply(object).into_iter().collect(),
            Event::Delete(object) => {
                let known = self.objects.remove(&qualified_name(&object));
                known.map(|_| self.news(Change::Deleted, object)).into_iter().collect()
            }
            Event::Init => {
                self.listing.clear();
                Vec::new()
            }
            Event::InitApply(object) => {
                self.listing.insert(qualified_name(&object), object);
                Vec::new()
            }
            Event::InitDone => self.start_over(),
        }
    }

    fn start_over(&mut self) -> Vec<ApiEvent> {
        let listing = std::mem::take(&mut self.listing);
        let mut news = Vec::new();
        let same = |known: &DynamicObject| {
            let listed = listing.get(&qualified_name(known));
            listed.is_some_and(|listed| listed.uid() == known.uid())
        };
        let (kept, gone) = std::mem::take(&mut self.objects).into_iter().partition(|(_, known)| same(known));
        self.objects = kept;
        let gone: BTreeMap<String, DynamicObject> = gone;
        news.extend(gone.into_values().map(|object| self.news(Change::Deleted, object)));
        for object in listing.into_values() {
            news.extend(self.apply(object));
        }
        self.complete = true;
        news
    }

    fn apply(&mut self, object: DynamicObject) -> Option<ApiEvent> {
        let known = self.objects.insert(qualified_name(&object), object.clone());
        let change = match known {
            Some(known) if known.resource_version() == object.resource_version() => return None,
            Some(_) => Change::Modified,
            None if self.complete => Change::Added,
            None => Change::Found,
        };
        Some(self.news(change, object))
    }

    fn news(&self, change: Change, object: DynamicObject) -> ApiEvent {
        ApiEvent::new(self.kind, change, object)
    }
}

fn object_version(object: &DynamicObject) -> u64 {
    object.resource_version().and_then(|version| version.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str, uid: &str, version: u64) -> DynamicObject {
        let metadata = json!({"name": name, "uid": uid, "resourceVersion": version.to_string()});
        serde_json::from_value(json!({"metadata": metadata})).unwrap()
    }

    fn listed(known: &mut Known, objects: Vec<DynamicObject>) -> Vec<(String, Change)> {
        known.take_in(Event::Init);
        for object in objects {
            assert!(known.take_in(Event::InitApply(object)).is_empty());
        }
        let news = known.take_in(Event::InitDone);
        news.into_iter().map(|news| (news.object.name_any(), news.change)).collect()
    }

    fn news(name: &str, change: Change) -> (String, Change) {
        (name.to_owned(), change)
    }

    #[test]
    fn nobody_is_blamed_for_what_was_there_before() {
        let mut known = Known::new(Kind::Node);
        assert_eq!(listed(&mut known, vec![object("a", "1", 5)]), [news("a", Change::Found)]);
        assert_eq!(known.take_in(Event::Apply(object("b", "2", 6)))[0].change, Change::Added);
    }

    #[test]
    fn what_happened_while_the_watch_was_cut_follows_from_the_next_list() {
        let mut known = Known::new(Kind::Node);
        let before = ["gone", "changed", "same", "replaced"].map(|name| object(name, name, 1));
        listed(&mut known, before.into());
        let after = vec![
            object("changed", "changed", 7),
            object("same", "same", 1),
            object("replaced", "another", 8),
            object("new", "new", 9),
        ];
        let changes = listed(&mut known, after);
        let expected = [
            news("gone", Change::Deleted),
            news("replaced", Change::Deleted),
            news("changed", Change::Modified),
            news("new", Change::Added),
            news("replaced", Change::Added),
        ];
        assert_eq!(changes, expected);
    }

    #[test]
    fn a_watch_is_caught_up_when_it_has_seen_what_a_list_shows() {
        let mut known = Known::new(Kind::Node);
        listed(&mut known, vec![object("a", "1", 5), object("b", "2", 6)]);
        let list = |entries: &[(&str, u64)]| {
            entries.iter().map(|(name, version)| ((*name).to_owned(), *version)).collect()
        };
        assert!(known.covers(&list(&[("a", 5), ("b", 6)]), 10));
        assert!(!known.covers(&list(&[("a", 7), ("b", 6)]), 10), "a newer version is still to come");
        assert!(!known.covers(&list(&[("a", 5)]), 10), "a deletion is still to come");
        assert!(!known.covers(&list(&[("a", 5), ("b", 6), ("c", 9)]), 10), "a creation is still to come");
        known.take_in(Event::Apply(object("d", "4", 11)));
        assert!(known.covers(&list(&[("a", 5), ("b", 6)]), 10), "d is newer than the list");
    }
}
