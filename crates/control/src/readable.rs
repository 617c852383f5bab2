//! Objects that may turn out not to be readable, so that one of them does not keep all others from being read.
//!
//! kube has a guard for this too, which decodes every object into a tree first and copies that. Here the text is kept, and
//! decoded a second time only where the first fails. That takes JSON in which an event's type comes before its object, as the
//! API server writes it.

use std::borrow::Cow;

use kube::Resource;
use kube::api::ObjectMeta;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// An object, or why it cannot be read.
#[derive(Clone, Debug)]
pub(crate) struct Readable<K>(pub(crate) Result<K, Unreadable>);

/// What is known of an object that cannot be read.
#[derive(Clone, Debug)]
pub(crate) struct Unreadable {
    pub(crate) metadata: ObjectMeta,
    /// Why it cannot be read.
    pub(crate) why: String,
}

/// The part of an object that all kinds share.
#[derive(Deserialize)]
struct Named {
    metadata: ObjectMeta,
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for Readable<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        serde_json::from_str(text.get())
            .map(Ok)
            .or_else(|error| {
                let Named { metadata } = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
                Ok(Err(Unreadable { metadata, why: error.to_string() }))
            })
            .map(Self)
    }
}

impl<K: Resource> Resource for Readable<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(of: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(of)
    }

    fn group(of: &Self::DynamicType) -> Cow<'_, str> {
        K::group(of)
    }

    fn version(of: &Self::DynamicType) -> Cow<'_, str> {
        K::version(of)
    }

    fn plural(of: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(of)
    }

    fn meta(&self) -> &ObjectMeta {
        self.0.as_ref().map_or_else(|unreadable| &unreadable.metadata, K::meta)
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.as_mut().map_or_else(|unreadable| &mut unreadable.metadata, K::meta_mut)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use kube::ResourceExt;
    use kube::core::{ObjectList, WatchEvent};

    use super::Readable;

    #[test]
    fn one_object_that_cannot_be_read_leaves_the_others_of_a_list_readable() {
        let list = r#"{"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": [
            {"metadata": {"name": "odd"}, "spec": {"containers": "none"}},
            {"metadata": {"name": "fine"}, "spec": {"containers": []}}
        ]}"#;
        let list: ObjectList<Readable<Pod>> = serde_json::from_str(list).unwrap();
        let [odd, fine] = &list.items[..] else { panic!("{list:?}") };
        assert_eq!((odd.name_any(), fine.name_any()), ("odd".to_owned(), "fine".to_owned()));
        assert!(odd.0.as_ref().unwrap_err().why.contains("none"), "{odd:?}");
        fine.0.as_ref().unwrap();
    }

    #[test]
    fn an_event_about_an_object_that_cannot_be_read_says_which() {
        let event = r#"{"type": "ADDED", "object": {"metadata": {"name": "odd"}, "spec": 7}}"#;
        match serde_json::from_str::<WatchEvent<Readable<Pod>>>(event).unwrap() {
            WatchEvent::Added(pod) => assert_eq!(pod.0.unwrap_err().metadata.name.as_deref(), Some("odd")),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_no_object_is_an_error() {
        serde_json::from_str::<Readable<Pod>>("[]").unwrap_err();
        serde_json::from_str::<Readable<Pod>>(r#"{"metadata": {"name": 7}}"#).unwrap_err();
    }
}
