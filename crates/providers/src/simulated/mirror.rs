//! What a watch has shown so far.

use std::collections::BTreeMap;

use kube::ResourceExt;
use kube::runtime::watcher::Event;

/// The objects of a watch by name, in a form that the watcher's user chose. While the watch starts again, what it showed
/// before stays until the new list is complete.
#[derive(Debug)]
pub(super) struct Mirror<T> {
    seen: Option<BTreeMap<String, T>>,
    arriving: BTreeMap<String, T>,
}

impl<T> Mirror<T> {
    pub fn new() -> Self {
        Self { seen: None, arriving: BTreeMap::new() }
    }

    /// All objects, once a list was complete.
    pub fn seen(&self) -> Option<&BTreeMap<String, T>> {
        self.seen.as_ref()
    }

    /// Takes in what happened.
    pub fn apply<K: ResourceExt>(&mut self, event: Event<K>, keep: impl FnOnce(&K) -> T) {
        match event {
            Event::Init => self.arriving.clear(),
            Event::InitApply(object) => {
                self.arriving.insert(object.name_any(), keep(&object));
            }
            Event::InitDone => self.seen = Some(std::mem::take(&mut self.arriving)),
            Event::Apply(object) => {
                self.seen.get_or_insert_default().insert(object.name_any(), keep(&object));
            }
            Event::Delete(object) => {
                self.seen.get_or_insert_default().remove(&object.name_any());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::runtime::watcher::Event;

    use super::Mirror;

    fn object(name: &str) -> ConfigMap {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(name.to_owned());
        object
    }

    fn names(mirror: &Mirror<()>) -> Vec<&str> {
        mirror.seen().map(|seen| seen.keys().map(String::as_str).collect()).unwrap_or_default()
    }

    #[test]
    fn nothing_is_known_before_the_first_list_is_complete() {
        let mut mirror = Mirror::new();
        mirror.apply(Event::<ConfigMap>::Init, |_| ());
        mirror.apply(Event::InitApply(object("a")), |_| ());
        assert!(mirror.seen().is_none());
        mirror.apply(Event::<ConfigMap>::InitDone, |_| ());
        assert_eq!(names(&mirror), ["a"]);
    }

    #[test]
    fn a_new_list_replaces_the_old_when_it_is_complete() {
        let mut mirror = Mirror::new();
        for event in [Event::Init, Event::InitApply(object("a")), Event::InitDone, Event::Apply(object("b"))]
        {
            mirror.apply(event, |_| ());
        }
        for event in [Event::Init, Event::InitApply(object("c"))] {
            mirror.apply(event, |_| ());
        }
        assert_eq!(names(&mirror), ["a", "b"]);
        mirror.apply(Event::<ConfigMap>::InitDone, |_| ());
        assert_eq!(names(&mirror), ["c"]);
        mirror.apply(Event::Delete(object("c")), |_| ());
        assert!(names(&mirror).is_empty());
    }
}
