//! From texts to objects.

mod documents;
mod kinds;
mod quantities;
mod schema;
mod typed;
mod unknown;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::fault::Flaw;
use crate::{Fault, Object, Place};
use documents::documents;

/// A text with manifests, and where it is from.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name by which people know it.
    pub name: String,
    /// The text: YAML or JSON, one or several documents.
    pub text: String,
}

/// What a text says is one object, whatever its kind: lists are taken apart.
#[derive(Clone, Debug)]
pub struct Document {
    /// Where it is written.
    pub place: Place,
    /// Its `apiVersion`.
    pub version: String,
    /// Its `kind`.
    pub kind: String,
    /// The whole of it.
    pub value: Value,
}

impl Document {
    /// Reads texts. The first thing in them that is no object is an error.
    pub fn read<'s>(sources: impl IntoIterator<Item = &'s Source>) -> Result<Vec<Self>, Fault> {
        let mut found = Vec::new();
        for source in sources {
            for (place, value) in documents(source)? {
                Self::take(place, value, &mut found)?;
            }
        }
        Ok(found)
    }

    /// Takes in a document, which may be a list of others.
    fn take(place: Place, value: Value, found: &mut Vec<Self>) -> Result<(), Fault> {
        let fault = |flaw: Flaw| Fault { place: place.clone(), object: None, flaw };
        let version = text(&value, "apiVersion").map_err(fault)?.to_owned();
        let kind = text(&value, "kind").map_err(fault)?.to_owned();
        if let (Some(Value::Array(items)), true) = (value.get("items"), kind.ends_with("List")) {
            for (number, item) in items.iter().enumerate() {
                let place = Place { item: Some(number + 1), ..place.clone() };
                Self::take(place, with_type(item, &version, kind.trim_end_matches("List")), found)?;
            }
            return Ok(());
        }
        found.push(Self { place, version, kind, value });
        Ok(())
    }

    /// The object as people know it: `Deployment default/web`, `NodePool general`.
    pub fn object(&self) -> String {
        named(&self.kind, &self.value)
    }

    /// Something wrong with the object.
    pub fn fault(&self, flaw: Flaw) -> Fault {
        Fault { place: self.place.clone(), object: Some(self.object()), flaw }
    }
}

/// What manifests hold.
#[derive(Debug, Default)]
pub struct Manifests {
    objects: Vec<(Place, Object)>,
    skipped: BTreeMap<String, usize>,
}

impl Manifests {
    /// Reads texts; the first thing in them that the API server would refuse is an error.
    pub fn read<'s>(sources: impl IntoIterator<Item = &'s Source>) -> Result<Self, Fault> {
        let mut manifests = Self::default();
        for source in sources {
            for document in Document::read([source])? {
                manifests.take(document)?;
            }
        }
        Ok(manifests)
    }

    /// The objects and where each is written.
    pub fn into_objects(self) -> Vec<(Place, Object)> {
        self.objects
    }

    /// The kinds that planning does not look at, with how many objects there are of each.
    pub fn skipped(&self) -> impl Iterator<Item = (&str, usize)> {
        self.skipped.iter().map(|(kind, count)| (kind.as_str(), *count))
    }

    fn take(&mut self, document: Document) -> Result<(), Fault> {
        let Document { place, version, kind, value } = &document;
        match kinds::read(version, kind, value.clone()) {
            Ok(kinds::Reading::Object(object)) => self.objects.push((place.clone(), *object)),
            Ok(kinds::Reading::Irrelevant) => {}
            Ok(kinds::Reading::Unknown) => {
                *self.skipped.entry(format!("{kind} ({version})")).or_default() += 1;
            }
            Err(flaw) => return Err(document.fault(flaw)),
        }
        Ok(())
    }
}

fn text<'v>(value: &'v Value, field: &str) -> Result<&'v str, Flaw> {
    if !value.is_object() {
        return Err(Flaw::new("", "this is no Kubernetes object: write apiVersion, kind and metadata"));
    }
    let text = value.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    text.ok_or_else(|| Flaw::new(field, "is missing: every object says what it is"))
}

/// The items of a `PodList` do not say that they are pods.
fn with_type(item: &Value, version: &str, kind: &str) -> Value {
    let mut item = item.clone();
    if let (Value::Object(fields), false) = (&mut item, kind.is_empty()) {
        fields.entry("apiVersion").or_insert_with(|| version.into());
        fields.entry("kind").or_insert_with(|| kind.into());
    }
    item
}

/// `Deployment default/web`, `NodePool general`.
fn named(kind: &str, value: &Value) -> String {
    let metadata = |field: &str| value.get("metadata").and_then(|all| all.get(field)).and_then(Value::as_str);
    let name = metadata("name").or_else(|| metadata("generateName")).unwrap_or("without a name");
    match metadata("namespace") {
        _ if !kinds::is_namespaced(kind) => format!("{kind} {name}"),
        namespace => format!("{kind} {}/{name}", namespace.unwrap_or("default")),
    }
}
